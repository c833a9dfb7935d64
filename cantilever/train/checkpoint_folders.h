#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cantilever/train/options.h"

namespace cantilever {

inline constexpr const char* kCompleteMarker = "complete.json";

struct CheckpointFolder {
  int64_t step = 0;
  std::filesystem::path path;
};

// checkpoint-<step> folders, lowest step first.
std::vector<CheckpointFolder> list_checkpoints(const std::filesystem::path& output_dir);

// Empty when complete: the marker is there and every file it lists has its size. Else the reason.
std::string why_incomplete(const std::filesystem::path& checkpoint);

// The complete checkpoint with the highest step; incomplete ones above it are named in the log.
std::optional<std::filesystem::path> last_complete_checkpoint(
    const std::filesystem::path& output_dir);

// Where to continue; empty: from the start. The reference's rule: what --resume_from_checkpoint
// names
// ("True": the last complete one in output_dir); without it, a training run in a folder that has
// content continues from its last complete checkpoint unless --overwrite_output_dir. Throws Error:
// a path that is no complete checkpoint, none found, content but no checkpoint. Writes nothing.
std::filesystem::path find_checkpoint(const TrainOptions& options);

// Keeps `limit` checkpoints, `newest` always among them. Those that another run left go first: the
// steps in `foreign` and all above that of `newest`; then the lowest steps.
void rotate_checkpoints(const std::filesystem::path& output_dir, std::optional<int64_t> limit,
                        const std::filesystem::path& newest, const std::set<int64_t>& foreign = {});

// Removes what a killed run left half-written (checkpoint-*.tmp-PID of a process that is gone).
void remove_leftovers(const std::filesystem::path& output_dir);

}  // namespace cantilever
