#include "cantilever/train/checkpoint_folders.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "checkpoint-";

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

bool has_content(const fs::path& folder) {
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  return !error && entries != fs::directory_iterator();
}

void remove_folder(const fs::path& folder, const char* why) {
  std::error_code error;
  // The marker first, so that a kill half-way leaves no folder that looks complete.
  fs::remove(folder / kCompleteMarker, error);
  fs::remove_all(folder, error);
  if (error) {
    log_warning(concat(folder.string(), " (", why, ") could not be removed: ", error.message()));
  }
}

fs::path asked_for(const TrainOptions& options) {
  const std::string& asked = options.resume_from_checkpoint;
  if (asked == "True" || asked == "true") {
    const auto last = last_complete_checkpoint(options.output_dir);
    CANTILEVER_CHECK(last, "--resume_from_checkpoint: there is no complete checkpoint in ",
                     quoted(options.output_dir));
    return *last;
  }
  const fs::path path = asked;
  CANTILEVER_CHECK(fs::is_directory(path), "--resume_from_checkpoint ", quoted(asked),
                   ": there is no such folder");
  const std::string reason = why_incomplete(path);
  CANTILEVER_CHECK(reason.empty(), "--resume_from_checkpoint ", quoted(asked), ": ", reason);
  return path;
}

}  // namespace

std::vector<CheckpointFolder> list_checkpoints(const fs::path& output_dir) {
  std::vector<CheckpointFolder> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(output_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !entry.is_directory(error)) continue;
    const auto step = parse_number(std::string_view(name).substr(kPrefix.size()));
    if (step) found.push_back({*step, entry.path()});
  }
  std::sort(found.begin(), found.end(), [](const CheckpointFolder& a, const CheckpointFolder& b) {
    return a.step != b.step ? a.step < b.step : a.path < b.path;
  });
  return found;
}

std::string why_incomplete(const fs::path& checkpoint) {
  const fs::path marker = checkpoint / kCompleteMarker;
  std::error_code error;
  if (!fs::exists(marker, error)) {
    if (fs::exists(checkpoint / "optimizer.pt", error)) {
      return concat("it was written by another program (optimizer.pt and no ", kCompleteMarker,
                    "); only Cantilever's own checkpoints can be continued. Its weights can be the "
                    "start of a new run: --model_name_or_path ",
                    checkpoint.string());
    }
    return concat("it is not complete: ", kCompleteMarker, ", which is written last, is missing");
  }
  try {
    const Json json = read_json(marker);
    const Json files = json_value<Json>(json, "files", Json::object(), marker.string());
    if (!files.is_object() || files.empty()) {
      return concat(kCompleteMarker, " does not list the files");
    }
    for (const auto& [name, size] : files.items()) {
      const auto actual = fs::file_size(checkpoint / name, error);
      if (error) return concat("it is not complete: ", name, " is missing");
      if (!size.is_number_unsigned() || actual != size.get<uint64_t>()) {
        return concat("it is damaged: ", name, " has ", actual, " bytes, not ", size.dump());
      }
    }
  } catch (const Error& problem) {
    return problem.what();
  }
  return "";
}

std::optional<fs::path> last_complete_checkpoint(const fs::path& output_dir) {
  auto found = list_checkpoints(output_dir);
  for (auto folder = found.rbegin(); folder != found.rend(); ++folder) {
    const std::string reason = why_incomplete(folder->path);
    if (reason.empty()) return folder->path;
    log_warning(concat(folder->path.string(), " is passed over: ", reason));
  }
  return std::nullopt;
}

fs::path find_checkpoint(const TrainOptions& options) {
  CANTILEVER_CHECK(!options.output_dir.empty(), "--output_dir is missing");
  const std::string& asked = options.resume_from_checkpoint;
  if (!options.do_train) {
    if (!asked.empty()) log_warning("--resume_from_checkpoint has no effect without --do_train");
    return {};
  }
  if (!asked.empty() && asked != "False" && asked != "false") return asked_for(options);
  if (options.overwrite_output_dir || !fs::is_directory(options.output_dir)) return {};
  const auto last = last_complete_checkpoint(options.output_dir);
  if (last) {
    log_info(concat("continuing from ", last->string(), " (--overwrite_output_dir starts afresh)"));
    return *last;
  }
  CANTILEVER_CHECK(!has_content(options.output_dir), quoted(options.output_dir),
                   " is not empty and holds no complete checkpoint; give --overwrite_output_dir or "
                   "another --output_dir");
  return {};
}

void rotate_checkpoints(const fs::path& output_dir, std::optional<int64_t> limit,
                        const fs::path& newest, const std::set<int64_t>& foreign) {
  if (!limit || *limit <= 0) return;
  auto found = list_checkpoints(output_dir);
  const auto last = std::find_if(found.begin(), found.end(), [&](const CheckpointFolder& folder) {
    return folder.path.filename() == newest.filename();
  });
  const auto is_own = [&, step = last == found.end() ? -1
                                                     : last->step](const CheckpointFolder& folder) {
    return !foreign.contains(folder.step) && (step < 0 || folder.step <= step);
  };
  std::stable_partition(found.begin(), found.end(),
                        [&](const CheckpointFolder& folder) { return !is_own(folder); });
  auto remaining = static_cast<int64_t>(found.size());
  for (const CheckpointFolder& folder : found) {
    if (remaining <= *limit) return;
    if (folder.path.filename() == newest.filename()) continue;
    remove_folder(folder.path, "an older checkpoint, beyond --save_total_limit");
    --remaining;
  }
}

void remove_leftovers(const fs::path& output_dir) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(output_dir, error)) {
    const std::string name = entry.path().filename().string();
    const size_t mark = name.rfind(".tmp-");
    if (!name.starts_with(kPrefix) || mark == std::string::npos) continue;
    const auto pid = parse_number(std::string_view(name).substr(mark + 5));
    if (!pid) continue;
    const bool alive = *pid != ::getpid() && ::kill(static_cast<pid_t>(*pid), 0) == 0;
    if (!alive) leftovers.push_back(entry.path());
  }
  for (const auto& path : leftovers) remove_folder(path, "left by a run that was killed");
}

}  // namespace cantilever
