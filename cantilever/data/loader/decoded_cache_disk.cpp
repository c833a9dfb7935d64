#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/base/rng.h"
#include "cantilever/data/loader/decoded_cache_file.h"
#include "cantilever/data/loader/decoded_cache_limit.h"
#include "cantilever/data/loader/decoded_cache_rows.h"
#include "cantilever/data/loader/decoded_cache_tiers.h"

namespace cantilever {
namespace {

constexpr uint64_t kHasStamp = 1;  // in CacheEntry::sum

// The file grows by so much at once: few system calls, long runs of blocks on the disk.
constexpr int64_t kGrowBytes = int64_t{64} << 20U;

using SharedWord = std::atomic_ref<uint64_t>;

class DiskCache final : public DecodedCache {
 public:
  DiskCache(const CachePlan& plan, const std::filesystem::path& folder, const std::string& key,
            PictureStamp stamp)
      : plan_(plan),
        stamp_(std::move(stamp)),
        layout_(plan, key),
        rows_(plan.rows),
        file_(folder, layout_),
        slots_(0) {
    if (file_.writable()) {
      start_writing();
    } else {
      map(plan.rows);
    }
  }

  const void* find(int64_t row) const override {
    if (const std::optional<int64_t> slot = rows_.kept(row)) return picture(*slot);
    // Stored by an earlier run or by the one that shares the file.
    if (stored_slot(row) == 0) return nullptr;
    return adopt(row);
  }

  void* reserve(int64_t row) override {
    if (!file_.writable() || !rows_.claim(row)) return nullptr;
    std::optional<int64_t> slot;
    if (stored_slot(row) == 0) slot = slots_.take();
    if (!slot || !make_room(*slot)) {
      rows_.release(row);
      return nullptr;
    }
    rows_.set_slot(row, *slot);
    return picture(*slot);
  }

  void keep(int64_t row, uint64_t stamp) override {
    const int64_t slot = rows_.made(row);
    CacheEntry& entry = entry_of(row);
    SharedWord(entry.sum).store(sum_of(row, slot, stamp), std::memory_order_relaxed);
    SharedWord(entry.slot_plus_one)
        .store(static_cast<uint64_t>(slot + 1), std::memory_order_release);
    rows_.publish(row);
    kept_rows_.fetch_add(1, std::memory_order_relaxed);
  }

  void drop(int64_t row) override {
    const int64_t slot = rows_.made(row);
    rows_.release(row);
    slots_.give(slot);
  }

  int64_t kept_rows() const override {
    if (file_.writable()) return kept_rows_.load(std::memory_order_relaxed);
    int64_t count = 0;
    for (int64_t row = 0; row < plan_.rows; ++row) count += stored_slot(row) != 0 ? 1 : 0;
    return count;
  }

  std::string description() const override {
    return describe_cache(concat("in ", file_.path().string(),
                                 file_.writable() ? "" : " (of another run, for reading)"),
                          plan_, kept_rows());
  }

 private:
  CacheEntry& entry_of(int64_t row) const {
    CANTILEVER_ASSERT(row >= 0 && row < plan_.rows, "row ", row, " of ", plan_.rows);
    return reinterpret_cast<CacheEntry*>(mapped_ + layout_.entries_begin)[row];
  }
  uint64_t stored_slot(int64_t row) const {
    return SharedWord(entry_of(row).slot_plus_one).load(std::memory_order_acquire);
  }
  std::byte* picture(int64_t slot) const { return mapped_ + layout_.slot_offset(slot); }
  // Its last bit says whether there is a stamp to be looked at.
  uint64_t sum_of(int64_t row, int64_t slot, uint64_t stamp) const {
    const auto number = static_cast<uint64_t>(row);
    const uint64_t sum = pixel_sum(picture(slot), static_cast<size_t>(plan_.row_bytes),
                                   stamp == 0 ? number : mix_key(number, stamp));
    return (sum & ~kHasStamp) | (stamp == 0 ? 0 : kHasStamp);
  }
  // Whether the stored picture is whole and its file the one that it was made from.
  bool is_sound(int64_t row, int64_t slot) const {
    const uint64_t sum = SharedWord(entry_of(row).sum).load(std::memory_order_relaxed);
    const uint64_t stamp = (sum & kHasStamp) != 0 && stamp_ ? stamp_(row) : 0;
    return sum == sum_of(row, slot, stamp);
  }

  void map(int64_t slots) {
    mapped_slots_ = slots;
    mapped_ = file_.map(layout_.slot_offset(slots));
  }

  // Takes over what the file holds and learns which slots are free.
  void start_writing() {
    const int64_t wanted = std::min(plan_.rows, plan_.limit_bytes / plan_.row_bytes);
    file_slots_ = layout_.slots_in(file_.bytes());
    // What is there is used, also by a run with a smaller limit.
    slot_limit_ = std::max(wanted, file_slots_);
    check_disk((slot_limit_ - file_slots_) * plan_.row_bytes);
    map(slot_limit_);
    std::vector<bool> used;
    if (!read_entries(used)) {
      mapped_ = nullptr;
      file_.replace(layout_, "two rows share a place in it");
      file_slots_ = 0;
      slot_limit_ = wanted;
      kept_rows_ = 0;
      map(slot_limit_);
      used.clear();
    }
    const auto last = std::find(used.rbegin(), used.rend(), true);
    const int64_t next = used.rend() - last;
    std::vector<int64_t> unused;
    for (int64_t slot = next - 1; slot >= 0; --slot) {
      if (!used[static_cast<size_t>(slot)]) unused.push_back(slot);
    }
    // A copy of the file may have holes; writing into one on a full disk would end the process.
    const int error = file_.allocate(0, layout_.slot_offset(file_slots_));
    if (error == 0) {
      slots_.resume(slot_limit_, next, std::move(unused));
    } else {
      stop_growing(error);
    }
  }

  // False when the table cannot be right.
  bool read_entries(std::vector<bool>& used) {
    used.assign(static_cast<size_t>(file_slots_), false);
    for (int64_t row = 0; row < plan_.rows; ++row) {
      CacheEntry& entry = entry_of(row);
      if (entry.slot_plus_one == 0) continue;
      const uint64_t slot = entry.slot_plus_one - 1;
      if (slot >= static_cast<uint64_t>(file_slots_)) {
        entry = {};  // the file was cut
        continue;
      }
      if (used[slot]) return false;
      used[slot] = true;
      ++kept_rows_;
    }
    return true;
  }

  void check_disk(int64_t more) const {
    const int64_t free = free_disk(file_.path().parent_path());
    CANTILEVER_CHECK(more <= free, "decoded cache: ", file_.path().string(), " may grow by ",
                     format_bytes(static_cast<double>(more)), ", and the disk has ",
                     format_bytes(static_cast<double>(free)),
                     " free; give it a smaller limit, a smaller type (u8) or another folder");
  }

  // A stored picture becomes a kept one once its sum was found right. One thread looks, others go
  // without for that moment.
  const void* adopt(int64_t row) const {
    if (!rows_.claim(row)) return nullptr;
    const uint64_t stored = stored_slot(row);
    const auto slot = static_cast<int64_t>(stored - 1);
    const bool inside = slot >= 0 && slot < mapped_slots_ && slot < layout_.slots_in(file_.bytes());
    if (inside) {
      prefetch(slot);
      if (is_sound(row, slot)) {
        rows_.set_slot(row, slot);
        rows_.publish(row);
        return picture(slot);
      }
    }
    warn_once(concat("decoded cache damage ", file_.path().string()),
              concat("decoded cache: ", file_.path().string(), ": the picture of row ", row,
                     " is damaged (a power cut?), or its file has changed; it and others like it "
                     "are made anew"));
    // A reader stays away from the row for good: the claim is not given back. The writer's slot is
    // not used again in this run, since a reader may look at it.
    if (file_.writable()) {
      SharedWord(entry_of(row).slot_plus_one).store(0, std::memory_order_release);
      kept_rows_.fetch_sub(1, std::memory_order_relaxed);
      rows_.release(row);
    }
    return nullptr;
  }

  void prefetch(int64_t slot) const {
    constexpr int64_t kPage = 4096;
    const int64_t begin = layout_.slot_offset(slot) / kPage * kPage;
    ::madvise(mapped_ + begin, static_cast<size_t>(layout_.slot_offset(slot + 1) - begin),
              MADV_WILLNEED);
  }

  // Whether the slot lies on the disk. One that does not is lost: the disk is full.
  bool make_room(int64_t slot) {
    const std::lock_guard lock(mutex_);
    while (slot >= file_slots_) {
      if (full_) return false;
      int64_t more =
          std::min(slot_limit_ - file_slots_, std::max<int64_t>(1, kGrowBytes / plan_.row_bytes));
      int error = grow(more);
      while (error != 0 && more > 1) {
        more /= 2;
        error = grow(more);
      }
      if (error != 0) {
        stop_growing(error);
        return false;
      }
      file_slots_ += more;
    }
    return true;
  }

  int grow(int64_t slots) {
    return file_.allocate(layout_.slot_offset(file_slots_),
                          layout_.slot_offset(file_slots_ + slots));
  }

  void stop_growing(int error) {
    full_ = true;
    slots_.close();
    log_warning(concat("decoded cache: ", file_.path().string(),
                       " cannot grow: ", std::strerror(error), "; ", kept_rows(), " of ",
                       plan_.rows, " rows stay in it, other pictures are made anew each time"));
  }

  const CachePlan plan_;
  const PictureStamp stamp_;
  const CacheLayout layout_;
  mutable CacheRows rows_;  // find() takes over rows of earlier runs
  CacheFile file_;
  CacheSlots slots_;
  std::byte* mapped_ = nullptr;
  int64_t mapped_slots_ = 0;
  int64_t slot_limit_ = 0;
  mutable std::atomic<int64_t> kept_rows_{0};
  std::mutex mutex_;  // guards the growth of the file
  int64_t file_slots_ = 0;
  bool full_ = false;
};

}  // namespace

std::unique_ptr<DecodedCache> open_disk_cache(const CachePlan& plan,
                                              const std::filesystem::path& folder,
                                              const std::string& key, PictureStamp stamp) {
  return std::make_unique<DiskCache>(plan, folder, key, std::move(stamp));
}

}  // namespace cantilever
