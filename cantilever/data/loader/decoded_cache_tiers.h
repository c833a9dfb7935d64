#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "cantilever/data/loader/decoded_cache.h"

namespace cantilever {

// What a tier is opened with: numbers checked, row_bytes > 0.
struct CachePlan {
  PixelType type = PixelType::kFloat32;
  int64_t rows = 0;
  int64_t values = 0;
  int64_t row_bytes = 0;
  int64_t limit_bytes = 0;
};

std::unique_ptr<DecodedCache> open_ram_cache(const CachePlan& plan);
std::unique_ptr<DecodedCache> open_disk_cache(const CachePlan& plan,
                                              const std::filesystem::path& folder,
                                              const std::string& key, PictureStamp stamp);

// Bytes on the disk of the cache files in `folder`, except `other_than`, and their number.
struct CacheFiles {
  int64_t count = 0;
  int64_t bytes = 0;
};
CacheFiles cache_files_in(const std::filesystem::path& folder,
                          const std::filesystem::path& other_than = {});

// "in memory, u8, 12 of 64 rows, 3.0 MB"
std::string describe_cache(const std::string& where, const CachePlan& plan, int64_t kept_rows);

}  // namespace cantilever
