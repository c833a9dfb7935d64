#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "cantilever/data/device/device_decoder.h"
#include "cantilever/data/loader/stage_counters.h"

namespace cantilever {

// The pictures of one batch that go through a device: collected by all threads, decoded by one. Its
// memory is kept from batch to batch.
class DeviceBatch {
 public:
  void clear();
  // Copies the picture of sample `sample` in when the device takes it; job.picture is set here.
  // Any thread.
  bool offer(const DeviceDecoder& device, int64_t sample, std::span<const std::byte> encoded,
             const DeviceJob& job);
  // Decodes everything, in the order of the samples whatever the order they came in. `rest`: the
  // samples whose pictures the device left to the host, ascending. Throws what the device throws.
  void decode(DeviceDecoder& device, std::vector<int64_t>& rest, StageCounters& counters);

 private:
  struct Offer {
    int64_t sample = 0;
    DeviceJob job;
  };
  std::mutex mutex_;
  EncodedArena arena_;
  std::vector<Offer> offers_;
  std::vector<DeviceJob> jobs_;
};

}  // namespace cantilever
