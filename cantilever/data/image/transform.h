#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "cantilever/data/image/augment.h"
#include "cantilever/data/image/decode.h"

namespace cantilever {

// What "resize and centre crop" means in numbers; saved with a checkpoint. kReference is what the
// reference script does: kTvU8 for pictures given as paths, kTvFloatAa for all others.
//
//   kTvFloatAa    torchvision's Resize (bicubic, antialias) and CenterCrop of the float tensor, not
//                 clamped; bit-equal to torchvision 0.26
//   kTvFloatNoaa  the same without antialias (a = -0.75, four taps); within 0.05 of a level
//   kTvU8         of the uint8 tensor (v1 transforms): float32, then clamped and rounded; bit-equal
//   kPilU8        of the PIL picture, Pillow 13: both passes rounded and clamped; bit-equal
//   kHfProcessor  BridgeTowerImageProcessor of Transformers 5.24 (torchvision backend), size and
//                 crop_size S: shorter side S, longer at most int(1333/800 S), both cut down to
//                 multiples of 32, then centre crop; missing pixels are level 0. Bit-equal. Refuses
//                 what would be resized to nothing, as the processor does.
enum class PixelSemantics { kReference, kTvFloatAa, kTvFloatNoaa, kTvU8, kPilU8, kHfProcessor };
// "reference", "tv-float-aa", "tv-float-noaa", "tv-u8", "pil-u8", "hf-processor"
PixelSemantics parse_pixel_semantics(const std::string& name);
// Whether pixels are whole levels before they are normalised, so that uint8 holds them exactly.
bool has_whole_levels(PixelSemantics semantics);
const char* pixel_semantics_name(PixelSemantics semantics);

struct TransformOptions {
  int side = 288;  // S
  std::array<float, 3> mean = {0.48145466F, 0.4578275F, 0.40821073F};
  std::array<float, 3> std = {0.26862954F, 0.26130258F, 0.27577711F};
  PixelSemantics semantics = PixelSemantics::kTvFloatAa;  // here never kReference: see resolve()
};

// kReference made concrete.
PixelSemantics resolve(PixelSemantics semantics, bool image_given_as_path);

// Buffers and weight tables kept between pictures; one a thread.
class TransformScratch {
 public:
  TransformScratch();
  ~TransformScratch();
  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// Under all but kHfProcessor: shorter side to S, long side int(S * long / short), centre crop S x S
// with offsets rounded half to even. Then (x / 255 - mean) / std. `out`: float32 [3, S, S].
void transform_image(const ImageView& image, const TransformOptions& options,
                     TransformScratch& scratch, std::span<float> out);

// How a finished picture is stored: kFloat32 and kBfloat16 normalised, kUint8 as levels 0..255
// before normalisation (rounded and clamped where the semantics has fractions).
enum class PixelType { kFloat32, kBfloat16, kUint8 };
PixelType parse_pixel_type(const std::string& name);  // "f32", "bf16", "u8"
const char* pixel_type_name(PixelType type);
size_t pixel_bytes(PixelType type);

// Where a finished picture goes: [3, S, S] values of `type`.
struct PixelPlace {
  PixelType type = PixelType::kFloat32;
  void* data = nullptr;
};

// Finished picture of any type to float32 [3, S, S], as prepare_picture would have written it (of
// kBfloat16 the rounded values).
void expand_pixels(PixelType type, const void* stored, const TransformOptions& options,
                   std::span<float> out);

// Seconds that prepare_picture spent, added up.
struct PictureTimes {
  double decode = 0;
  double transform = 0;
};

// Encoded bytes to the finished picture in one pass, row by row: what decode_image, transform_image
// and rounding to out.type give. `augmentation`: null for none. Allocates nothing once scratch has
// seen pictures as large. Throws Error as decode_image and transform_image.
void prepare_picture(std::span<const std::byte> encoded, const DecodeOptions& decode,
                     const TransformOptions& options, const AugmentationDraw* augmentation,
                     TransformScratch& scratch, const PixelPlace& out,
                     PictureTimes* times = nullptr);

}  // namespace cantilever
