#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "cantilever/data/image/transform.h"

namespace cantilever {

// What a decoder needs of a device beside nvJPEG: memory, a stream of work, and the kernel that
// makes the model's picture. Used by one thread at a time. A CUDA version is one more class.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  virtual std::string name() const = 0;  // "host memory"
  // Null when there is no more.
  virtual unsigned char* allocate(size_t bytes) = 0;
  virtual void release(unsigned char* memory) = 0;
  // The stream that decoding is queued in.
  virtual void* stream() = 0;
  // Waits for the stream; false when work in it failed.
  virtual bool synchronize() = 0;
  // Queues: `image` lies in device memory, `out` (float32 [3, S, S]) in host memory and is complete
  // after synchronize().
  virtual void transform(const ImageView& image, const TransformOptions& options,
                         const PixelPlace& out) = 0;
};

// Device memory that is the host's; everything is done at once.
std::unique_ptr<DeviceRuntime> make_host_runtime();

}  // namespace cantilever
