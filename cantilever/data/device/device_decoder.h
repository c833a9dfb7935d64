#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "cantilever/data/device/encoded_arena.h"
#include "cantilever/data/image/transform.h"

namespace cantilever {

// What became of a picture that was offered to a device.
enum class DevicePath {
  kDevice,       // decoded there
  kUnsupported,  // of a kind that the device does not take: the host does it
  kFailed,       // the device tried and failed: the host decides
};

// One picture of a batch.
struct DeviceJob {
  size_t picture = 0;  // its number in the arena
  DecodeOptions decode;
  TransformOptions transform;                  // semantics not kReference: resolve() it
  PixelPlace place;                            // kFloat32 [3, S, S], host memory
  DevicePath path = DevicePath::kUnsupported;  // set by decode()
};

// Decodes and transforms pictures of a batch away from the host's decoder. One object serves one
// loader; decode() is called by one thread at a time, other threads may call supports() meanwhile.
class DeviceDecoder {
 public:
  virtual ~DeviceDecoder() = default;
  virtual std::string name() const = 0;  // for the log: "stand-in for nvJPEG (libjpeg-turbo)"
  // Whether the device takes this picture: a look at its header, no more. Never throws for what the
  // bytes hold. decode() asks the same question itself.
  virtual bool supports(std::span<const std::byte> encoded, const DecodeOptions& options) const = 0;
  // Decodes, resizes, crops and normalises into the jobs' places, and sets their paths; only
  // kDevice has pixels. Throws Error when the device itself is at an end (not for a picture).
  virtual void decode(const EncodedArena& arena, std::span<DeviceJob> jobs) = 0;
};

// "cpu": a stand-in with nvJPEG's entry points over libjpeg-turbo, whose pixels are the host's bit
// for bit. "cuda" and "cuda:N" throw Error with the reason: what is missing in this build or on
// this machine.
std::shared_ptr<DeviceDecoder> open_device_decoder(const std::string& device);

}  // namespace cantilever
