#include "cantilever/data/loader/device_batch.h"

#include <algorithm>

namespace cantilever {

void DeviceBatch::clear() {
  arena_.clear();
  offers_.clear();
}

bool DeviceBatch::offer(const DeviceDecoder& device, int64_t sample,
                        std::span<const std::byte> encoded, const DeviceJob& job) {
  if (!device.supports(encoded, job.decode)) return false;
  const std::lock_guard lock(mutex_);
  Offer& offer = offers_.emplace_back(Offer{sample, job});
  offer.job.picture = arena_.add(encoded);
  return true;
}

void DeviceBatch::decode(DeviceDecoder& device, std::vector<int64_t>& rest,
                         StageCounters& counters) {
  rest.clear();
  if (offers_.empty()) return;
  std::sort(offers_.begin(), offers_.end(),
            [](const Offer& a, const Offer& b) { return a.sample < b.sample; });
  jobs_.clear();
  for (const Offer& offer : offers_) jobs_.push_back(offer.job);
  const StageClock::time_point begin = StageClock::now();
  device.decode(arena_, jobs_);
  StageCounters::add(counters.device, seconds_between(begin, StageClock::now()));
  for (size_t i = 0; i < jobs_.size(); ++i) {
    switch (jobs_[i].path) {
      case DevicePath::kDevice:
        StageCounters::add(counters.device_images, int64_t{1});
        continue;
      case DevicePath::kUnsupported:
        StageCounters::add(counters.device_unsupported, int64_t{1});
        break;
      case DevicePath::kFailed:
        StageCounters::add(counters.device_failed, int64_t{1});
        break;
    }
    rest.push_back(offers_[i].sample);
  }
}

}  // namespace cantilever
