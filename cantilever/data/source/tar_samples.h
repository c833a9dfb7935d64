#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cantilever/data/source/columns.h"

namespace cantilever {

// Where a sample's parts stand in its archive.
struct TarSample {
  enum class Part : uint8_t { kNone, kPlain, kJson, kGzip, kGzipJson, kLink };

  uint64_t header = 0;  // of the picture's member, else of the first one
  uint64_t picture_begin = 0;
  uint64_t picture_size = 0;
  uint64_t caption_begin = 0;
  uint32_t caption_size = 0;
  Part picture = Part::kNone;  // or kPlain, kLink
  Part caption = Part::kNone;
};

struct TarSamples {
  std::vector<TarSample> list;                // in the order of their first members
  std::map<std::string, int64_t> extensions;  // of all members of samples, how often
  int64_t without_picture = 0;
  int64_t without_caption = 0;
  int64_t links = 0;
  bool lacks_end_mark = false;
};

// The samples of a tar archive. The key is a member's name up to the first dot behind the last
// slash, what follows is the extension, in lower case; members without a dot or key are left out.
TarSamples find_tar_samples(std::string_view archive, const std::string& file,
                            const TableOptions& options);

// Whether an extension ("jpg", "seg.png") is that of a picture.
bool is_picture_extension(std::string_view extension);

}  // namespace cantilever
