#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "cantilever/base/error.h"
#include "cantilever/data/image/transform.h"

namespace cantilever {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Round to nearest, halves to even; pixels are finite.
uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

float level_of(float value, float mean, float std) {
  return std::clamp(std::nearbyint((value * std + mean) * 255.0F), 0.0F, 255.0F);
}

}  // namespace

PixelType parse_pixel_type(const std::string& name) {
  for (const PixelType type : {PixelType::kFloat32, PixelType::kBfloat16, PixelType::kUint8}) {
    if (name == pixel_type_name(type)) return type;
  }
  throw_error(concat("pixel type ", quoted(name), " is unknown; f32, bf16 and u8 are known"));
}

const char* pixel_type_name(PixelType type) {
  return type == PixelType::kFloat32 ? "f32" : type == PixelType::kBfloat16 ? "bf16" : "u8";
}

size_t pixel_bytes(PixelType type) {
  return type == PixelType::kFloat32 ? 4 : type == PixelType::kBfloat16 ? 2 : 1;
}

void expand_pixels(PixelType type, const void* stored, const TransformOptions& options,
                   std::span<float> out) {
  const size_t plane = out.size() / 3;
  for (size_t i = 0; i < out.size(); ++i) {
    if (type == PixelType::kFloat32) {
      out[i] = static_cast<const float*>(stored)[i];
    } else if (type == PixelType::kBfloat16) {
      out[i] = std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(stored)[i]} << 16U);
    } else {
      const float level = static_cast<const uint8_t*>(stored)[i];
      out[i] = (level / 255.0F - options.mean[i / plane]) / options.std[i / plane];
    }
  }
}

void prepare_picture(std::span<const std::byte> encoded, const DecodeOptions& decode,
                     const TransformOptions& options, const AugmentationDraw* augmentation,
                     TransformScratch& scratch, const PixelPlace& out, PictureTimes* times) {
  CANTILEVER_CHECK(augmentation == nullptr, "augmentation is not built in");
  const Clock::time_point begin = Clock::now();
  const DecodedImage image = decode_image(encoded, decode);
  const Clock::time_point decoded = Clock::now();
  const size_t plane = static_cast<size_t>(options.side) * static_cast<size_t>(options.side);
  std::vector<float> values;
  std::span<float> pixels(static_cast<float*>(out.data), 3 * plane);
  if (out.type != PixelType::kFloat32) {
    values.resize(3 * plane);
    pixels = values;
  }
  transform_image(image.view(), options, scratch, pixels);
  for (size_t i = 0; i < values.size(); ++i) {
    if (out.type == PixelType::kBfloat16) {
      static_cast<uint16_t*>(out.data)[i] = to_bfloat16(values[i]);
    } else {
      static_cast<uint8_t*>(out.data)[i] = static_cast<uint8_t>(
          level_of(values[i], options.mean[i / plane], options.std[i / plane]));
    }
  }
  if (times != nullptr) {
    times->decode += std::chrono::duration<double>(decoded - begin).count();
    times->transform += seconds_since(decoded);
  }
}

}  // namespace cantilever
