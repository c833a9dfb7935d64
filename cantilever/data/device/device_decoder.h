#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cantilever/data/image/transform.h"

namespace cantilever {

// The encoded pictures of a batch, one behind the other in one block of memory (pinned where the
// device wants it), kept from batch to batch.
class EncodedArena {
 public:
  void clear();
  // Copies the bytes in, padded for decoders that read ahead. Returns the picture's number.
  size_t add(std::span<const std::byte> encoded);
  std::span<const std::byte> picture(size_t i) const;
  size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    size_t begin = 0;
    size_t size = 0;
  };
  std::vector<std::byte> bytes_;
  std::vector<Range> ranges_;
};

// What became of a picture that was offered to a device.
enum class DevicePath {
  kDevice,       // decoded there
  kUnsupported,  // the device says it cannot: the host does it
  kFailed,       // the device tried and failed: the host decides
};

// Decodes and transforms pictures of a batch away from the host's decoder. One object serves one
// loader; decode() is called by one thread at a time.
class DeviceDecoder {
 public:
  virtual ~DeviceDecoder() = default;
  virtual std::string name() const = 0;  // for the log: "stand-in for nvJPEG (libjpeg-turbo)"
  // Whether the device takes this picture: a look at its header.
  virtual bool supports(std::span<const std::byte> encoded) const = 0;
  // Pictures `wanted` of the arena, decoded, resized, cropped, normalised into places[i]
  // (float32 [3, S, S] of picture i); paths[i] says what became of it, and only kDevice has pixels.
  virtual void decode(const EncodedArena& arena, std::span<const size_t> wanted,
                      const TransformOptions& options, std::span<const PixelPlace> places,
                      std::span<DevicePath> paths) = 0;
};

}  // namespace cantilever
