#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// What "resize and centre crop" means in numbers; saved with a checkpoint. kReference is what the
// reference script does: kTvU8 for pictures given as paths, kTvFloatAa for all others.
enum class PixelSemantics { kReference, kTvFloatAa, kTvU8 };
PixelSemantics parse_pixel_semantics(
    const std::string& name);  // "reference", "tv-float-aa", "tv-u8"
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

// Shorter side to S by antialiased bicubic (a = -0.5), long side int(S * long / short), centre crop
// S x S with offsets rounded half to even, (x / 255 - mean) / std. `out`: float32 [3, S, S].
// Equal to torchvision 0.26: within 0.05 of a level (kTvFloatAa), one level (kTvU8).
void transform_image(const ImageView& image, const TransformOptions& options,
                     TransformScratch& scratch, std::span<float> out);

}  // namespace cantilever
