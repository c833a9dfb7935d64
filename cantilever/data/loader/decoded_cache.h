#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "cantilever/data/image/transform.h"

namespace cantilever {

enum class CacheTier { kOff, kRam, kDisk };

struct DecodedCacheOptions {
  CacheTier tier = CacheTier::kOff;
  PixelType type = PixelType::kFloat32;
  int64_t limit_bytes = 0;       // of pixels; samples beyond it are made anew each time
  std::filesystem::path folder;  // kDisk: where the file lies
};

// The state of the file of its own that a row's picture lies in now (path, size, time of change); 0
// when it lies in none. May be called by several threads at once; does not throw.
using PictureStamp = std::function<uint64_t(int64_t row)>;

// Finished pictures of a split by row, kept from the first time they are made and never given up.
// A disk cache is one mapped file that later runs find again; its name and header hold everything
// the pixels depend on (source fingerprint, side, semantics, type, mean and std, orientation). What
// the fingerprint does not cover, pictures in files of their own, is looked at when a row that an
// earlier run has stored is used first.
// All functions may be called by several threads at once, for different rows and for the same one.
class DecodedCache {
 public:
  // `rows` rows of `values` pixels each. `key`: everything that the content depends on. Null for
  // kOff. Throws Error: not as much memory or disk free as the limit may take, folder not writable.
  // A disk cache that another run is filling is shared for reading, with a warning: find() sees
  // the other run's rows, reserve() gives nothing. A disk or memory that fills up later is a
  // warning too, and no more rows are added.
  static std::unique_ptr<DecodedCache> open(const DecodedCacheOptions& options, int64_t rows,
                                            int64_t values, const std::string& key,
                                            PictureStamp stamp = {});
  virtual ~DecodedCache() = default;

  // The stored picture of `row`; null when it is not there. Valid while the cache lives.
  virtual const void* find(int64_t row) const = 0;
  // Memory to make the picture of `row` in, then keep(row) to publish or drop(row) to give it back.
  // `stamp`: of the file that the picture was made from, as PictureStamp says it.
  // Null when the row has no place (limit) or is there already or another thread has it.
  virtual void* reserve(int64_t row) = 0;
  virtual void keep(int64_t row, uint64_t stamp = 0) = 0;
  virtual void drop(int64_t row) = 0;

  virtual int64_t kept_rows() const = 0;
  virtual std::string description() const = 0;  // "in memory, u8, 12 of 64 rows, 3.0 MB"
};

// Bytes that a cache may take by default: half of what is free now (kRam: the lesser of the
// machine's memory and what the cgroup has left; kDisk: the disk of `folder`, cache files that lie
// there counted as free). 0 for kOff.
int64_t default_cache_limit(CacheTier tier, const std::filesystem::path& folder);

// Whether all rows of a split have a place within `limit` bytes.
bool cache_fits(int64_t rows, int64_t values, PixelType type, int64_t limit);

}  // namespace cantilever
