#include "cantilever/data/loader/decoded_cache.h"

#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/data/loader/decoded_cache_limit.h"
#include "cantilever/data/loader/decoded_cache_rows.h"
#include "cantilever/data/loader/decoded_cache_tiers.h"

namespace cantilever {
namespace {

constexpr int64_t kMaxValues = int64_t{1} << 40U;  // no picture is larger

}  // namespace

std::unique_ptr<DecodedCache> DecodedCache::open(const DecodedCacheOptions& options, int64_t rows,
                                                 int64_t values, const std::string& key,
                                                 PictureStamp stamp) {
  if (options.tier == CacheTier::kOff) return nullptr;
  CANTILEVER_CHECK(values >= 1 && values <= kMaxValues, "a cached picture has ", values, " values");
  CANTILEVER_CHECK(options.limit_bytes >= 0, "the limit of the decoded cache is ",
                   options.limit_bytes, " bytes");
  CANTILEVER_CHECK(cache_fits(rows, values, options.type, int64_t{1} << 62U),
                   "a decoded cache for ", rows, " pictures of ", values,
                   " values is not possible");
  const CachePlan plan = {options.type, rows, values,
                          values * static_cast<int64_t>(pixel_bytes(options.type)),
                          options.limit_bytes};
  if (options.tier == CacheTier::kRam) return open_ram_cache(plan);
  return open_disk_cache(plan, options.folder, key, std::move(stamp));
}

int64_t default_cache_limit(CacheTier tier, const std::filesystem::path& folder) {
  if (tier == CacheTier::kOff) return 0;
  if (tier == CacheTier::kRam) return available_memory() / 2;
  const int64_t free = free_disk(folder);
  const int64_t ours = cache_files_in(folder).bytes;
  return free / 2 + ours / 2;
}

bool cache_fits(int64_t rows, int64_t values, PixelType type, int64_t limit) {
  const auto bytes = static_cast<int64_t>(pixel_bytes(type));
  if (rows <= 0 || values <= 0) return true;
  return rows <= limit / bytes / values;
}

std::string describe_cache(const std::string& where, const CachePlan& plan, int64_t kept_rows) {
  return concat(where, ", ", pixel_type_name(plan.type), ", ", kept_rows, " of ", plan.rows,
                " rows, ",
                format_bytes(static_cast<double>(kept_rows) * static_cast<double>(plan.row_bytes)));
}

}  // namespace cantilever
