#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/loader/decoded_cache_limit.h"
#include "cantilever/data/loader/decoded_cache_rows.h"
#include "cantilever/data/loader/decoded_cache_tiers.h"

namespace cantilever {
namespace {

// Large enough for huge pages and few system calls; the kernel gives memory only where it is
// touched.
constexpr int64_t kBlockBytes = int64_t{64} << 20U;

class RamCache final : public DecodedCache {
 public:
  explicit RamCache(const CachePlan& plan)
      : plan_(plan),
        rows_(plan.rows),
        slot_limit_(std::min(plan.rows, plan.limit_bytes / plan.row_bytes)),
        slots_(slot_limit_),
        block_rows_(std::max<int64_t>(1, kBlockBytes / plan.row_bytes)),
        block_count_((slot_limit_ + block_rows_ - 1) / block_rows_),
        blocks_(std::make_unique<std::atomic<std::byte*>[]>(static_cast<size_t>(block_count_))) {}

  ~RamCache() override {
    for (int64_t i = 0; i < block_count_; ++i) {
      std::byte* block = blocks_[static_cast<size_t>(i)].load();
      if (block != nullptr) ::munmap(block, block_bytes(i));
    }
  }

  const void* find(int64_t row) const override {
    const std::optional<int64_t> slot = rows_.kept(row);
    return slot ? address(*slot) : nullptr;
  }

  void* reserve(int64_t row) override {
    if (!rows_.claim(row)) return nullptr;
    const std::optional<int64_t> slot = slots_.take();
    if (!slot || !make_block(*slot / block_rows_)) {
      rows_.release(row);
      return nullptr;
    }
    rows_.set_slot(row, *slot);
    return address(*slot);
  }

  void keep(int64_t row, uint64_t /*stamp*/) override {
    rows_.publish(row);
    kept_rows_.fetch_add(1, std::memory_order_relaxed);
  }

  void drop(int64_t row) override {
    const int64_t slot = rows_.made(row);
    rows_.release(row);
    slots_.give(slot);
  }

  int64_t kept_rows() const override { return kept_rows_.load(std::memory_order_relaxed); }
  std::string description() const override {
    return describe_cache("in memory", plan_, kept_rows());
  }

 private:
  // The last block is as small as the limit asks.
  size_t block_bytes(int64_t block) const {
    const int64_t rows = std::min(block_rows_, slot_limit_ - block * block_rows_);
    return static_cast<size_t>(rows * plan_.row_bytes);
  }

  std::byte* address(int64_t slot) const {
    std::byte* block =
        blocks_[static_cast<size_t>(slot / block_rows_)].load(std::memory_order_acquire);
    return block + slot % block_rows_ * plan_.row_bytes;
  }

  bool make_block(int64_t block) {
    std::atomic<std::byte*>& place = blocks_[static_cast<size_t>(block)];
    if (place.load(std::memory_order_acquire) != nullptr) return true;
    const std::lock_guard lock(mutex_);
    if (place.load(std::memory_order_relaxed) != nullptr) return true;
    if (full_) return false;
    const size_t bytes = block_bytes(block);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      full_ = true;
      slots_.close();
      log_warning(concat("decoded cache: no more memory (", std::strerror(errno), "); ",
                         describe_cache("kept", plan_, kept_rows()),
                         ", other pictures are made anew each time"));
      return false;
    }
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish; small pages do too
    place.store(static_cast<std::byte*>(memory), std::memory_order_release);
    return true;
  }

  const CachePlan plan_;
  CacheRows rows_;
  const int64_t slot_limit_;
  CacheSlots slots_;
  const int64_t block_rows_;
  const int64_t block_count_;
  const std::unique_ptr<std::atomic<std::byte*>[]> blocks_;
  std::atomic<int64_t> kept_rows_{0};
  std::mutex mutex_;  // guards the making of blocks
  bool full_ = false;
};

}  // namespace

std::unique_ptr<DecodedCache> open_ram_cache(const CachePlan& plan) {
  const int64_t most = std::min(plan.rows, plan.limit_bytes / plan.row_bytes) * plan.row_bytes;
  const int64_t available = available_memory();
  CANTILEVER_CHECK(most <= available, "decoded cache: it may take ",
                   format_bytes(static_cast<double>(most)), " of memory, of which ",
                   format_bytes(static_cast<double>(available)),
                   " are free; give it a smaller limit, a smaller type (u8) or a disk");
  return std::make_unique<RamCache>(plan);
}

}  // namespace cantilever
