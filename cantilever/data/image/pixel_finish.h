#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cantilever {

// What becomes of a resampled float32 value.
enum class FloatForm {
  kRaw,       // float32, as it is
  kFloat32,   // (value - mean) / std
  kBfloat16,  // the same, rounded to nearest, halves to even
  kLevels,    // value * scale cut to 0..255, rounded to nearest, halves to even: uint8
};

struct FloatFinish {
  FloatForm form = FloatForm::kRaw;
  float mean = 0;
  float std = 1;
  float scale = 255;  // kLevels: 255 for values of 0..1, 1 for levels
};

// The normalised value of each level of one channel, and how to compute it without a table.
struct LevelTable {
  std::array<float, 256> values;
  std::array<uint16_t, 256> halves;  // bfloat16
  // value = ((level * scale) - mean) * inverse, both products with factors of two floats (high and
  // low part), which rounds to the same bits as the division; checked for all 256 levels, else
  // `computes` is false and the table is used.
  bool computes = false;
  float scale_high = 1;
  float scale_low = 0;
  float mean = 0;
  float inverse_high = 1;
  float inverse_low = 0;
};

// (level / 255 - mean) / std, or (level - 255 mean) / (255 std) when `fused`, which is what
// Transformers' image processors compute.
LevelTable make_level_table(float mean, float std, bool fused);

// Round to nearest, halves to even; the value is not a NaN.
uint16_t to_bfloat16(float value);

// `count` levels, or bfloat16 values, to what they stand for.
void expand_levels(const LevelTable& table, const uint8_t* levels, int64_t count, float* out);
void expand_levels(const LevelTable& table, const uint8_t* levels, int64_t count, uint16_t* out);
void expand_bfloat16(const uint16_t* values, int64_t count, float* out);
// Without vector instructions: the same bits.
void expand_levels_portable(const LevelTable& table, const uint8_t* levels, int64_t count,
                            float* out);

// finish() of `count` float32 values; `out` of the form's type.
void finish_floats(const FloatFinish& finish, const float* values, int64_t count, void* out);

}  // namespace cantilever
