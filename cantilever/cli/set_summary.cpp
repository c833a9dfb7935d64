#include "cantilever/cli/set_summary.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/cli/failure.h"

namespace cantilever {
namespace {

constexpr size_t kListedRows = 20;
constexpr size_t kMostReasons = 100;
constexpr size_t kMostHashes = size_t{1} << 25;  // 256 MiB

// Smallest, middle (the lower of two) and largest.
std::string spread(const std::map<int, int64_t>& histogram) {
  int64_t total = 0;
  for (const auto& [value, count] : histogram) total += count;
  int64_t before = 0;
  int middle = 0;
  for (const auto& [value, count] : histogram) {
    middle = value;
    before += count;
    if (2 * before >= total) break;
  }
  return concat(histogram.begin()->first, " to ", histogram.rbegin()->first, ", median ", middle);
}

std::vector<uint64_t> sorted(std::vector<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

// "12 rows more than there are different ones": rows that repeat an earlier one.
int64_t repeats(const std::vector<uint64_t>& hashes) {
  const std::vector<uint64_t> all = sorted(hashes);
  int64_t count = 0;
  for (size_t i = 1; i < all.size(); ++i) count += all[i] == all[i - 1] ? 1 : 0;
  return count;
}

void keep(uint64_t hash, std::vector<uint64_t>& hashes) {
  if (hash != 0 && hashes.size() < kMostHashes) hashes.push_back(hash);
}

}  // namespace

void SplitSummary::add(const RowReport& report, const std::string& place) {
  ++rows_;
  keep(report.picture_hash, picture_hashes_);
  keep(report.caption_hash, caption_hashes_);
  if (!report.format.empty()) {
    ++formats_[report.format];
    ++modes_[report.mode];
    ++widths_[report.width];
    ++heights_[report.height];
  }
  tagged_ += report.exif_orientation > 1 ? 1 : 0;
  turned_ += report.turned ? 1 : 0;
  truncated_ += report.truncated ? 1 : 0;
  if (!report.good()) add_bad(report, place);
}

void SplitSummary::add_bad(const RowReport& report, const std::string& place) {
  ++bad_;
  std::string reason = concat(report.kind, ": ", reason_class(report.reason, place));
  if (!reasons_.contains(reason) && reasons_.size() >= kMostReasons) reason = "other reasons";
  ++reasons_[reason];
  if (bad_rows_.size() == kListedRows) return;
  std::string where = concat("row ", report.row);
  if (!report.reason.starts_with(place)) {
    where += concat(" (", place);
    if (!report.file.empty()) where += concat(", picture ", quoted(report.file, 200));
    where += ")";
  }
  bad_rows_.push_back(one_line(concat(where, ": ", report.reason)));  // names may hold anything
}

Json SplitSummary::to_json(bool tokenised) const {
  Json out = Json::object();
  out["rows"] = rows_;
  out["good"] = rows_ - bad_;
  out["bad"] = bad_;
  if (!reasons_.empty()) out["reasons"] = Json(reasons_);
  if (!widths_.empty()) {
    out["width"] = spread(widths_);
    out["height"] = spread(heights_);
    out["formats"] = Json(formats_);
    out["modes"] = Json(modes_);
  }
  out["with_exif_orientation"] = tagged_;
  out["turned_by_exif"] = turned_;
  out["repeated_pictures"] = repeats(picture_hashes_);
  out["repeated_captions"] = repeats(caption_hashes_);
  if (static_cast<size_t>(rows_) > kMostHashes) {
    out["repeats_counted_among"] = concat("the first ", kMostHashes, " rows");
  }
  if (tokenised) out["captions_cut_at_max_seq_length"] = truncated_;
  if (!bad_rows_.empty()) {
    Json list = bad_rows_;
    const int64_t more = bad_ - static_cast<int64_t>(bad_rows_.size());
    if (more > 0) list.push_back(concat("and ", more, " more; --report FILE lists every row"));
    out["bad_rows"] = std::move(list);
  }
  return out;
}

int64_t SplitSummary::shared_pictures(const SplitSummary& a, const SplitSummary& b) {
  const auto different = [](const std::vector<uint64_t>& hashes) {
    std::vector<uint64_t> all = sorted(hashes);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  std::vector<uint64_t> both;
  const auto one = different(a.picture_hashes_), other = different(b.picture_hashes_);
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                        std::back_inserter(both));
  return static_cast<int64_t>(both.size());
}

}  // namespace cantilever
