// Encoded bytes to finished pictures: prepare_picture against decode_image and transform_image.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

#include "cantilever/data/image/color_jitter.h"
#include "cantilever/data/image/pixel_finish.h"
#include "cantilever/data/image/png_writer.h"
#include "cantilever/data/image/transform.h"
#include "cantilever/data/image/upright.h"
#include "tests/data/image/encoders.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CANTILEVER_COUNTS_ALLOCATIONS 1

namespace {
thread_local int64_t allocations = 0;

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, std::max(rounded, alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// Not inlined: GCC would see free() for what it takes for the memory of another operator new.
#define CANTILEVER_NOINLINE __attribute__((noinline))
// NOLINTBEGIN(misc-new-delete-overloads)
void* operator new(std::size_t size) {
  return counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
CANTILEVER_NOINLINE void operator delete(void* memory) noexcept {
  std::free(memory);
}
CANTILEVER_NOINLINE void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
CANTILEVER_NOINLINE void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
CANTILEVER_NOINLINE void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads)
#endif

namespace cantilever::test {
namespace {

struct Encoded {
  std::string name;
  Bytes bytes;
};

std::vector<Encoded> encoded_pictures() {
  std::vector<Encoded> pictures;
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(17, 3), std::pair(1, 1000), std::pair(1000, 1),
        std::pair(64, 64), std::pair(97, 140), std::pair(150, 83), std::pair(320, 200)}) {
    const DecodedImage image = synthetic_picture(width, height);
    const std::string size = concat(width, " x ", height);
    pictures.push_back({concat("PNG ", size), encode_png(image.view())});
    pictures.push_back({concat("JPEG ", size), encode_jpeg(image.pixels, width, height)});
    JpegOptions progressive;
    progressive.progressive = true;
    pictures.push_back(
        {concat("progressive ", size), encode_jpeg(image.pixels, width, height, progressive)});
  }
  return pictures;
}

size_t value_count(const TransformOptions& options) {
  return 3 * static_cast<size_t>(options.side) * static_cast<size_t>(options.side);
}

std::vector<std::byte> prepared(std::span<const std::byte> encoded, const TransformOptions& options,
                                PixelType type, TransformScratch& scratch,
                                const AugmentationDraw* draw = nullptr,
                                const DecodeOptions& decode = {}) {
  std::vector<std::byte> out(value_count(options) * pixel_bytes(type));
  prepare_picture(encoded, decode, options, draw, scratch, {type, out.data()});
  return out;
}

std::vector<float> as_floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> expanded(PixelType type, const std::vector<std::byte>& stored,
                            const TransformOptions& options) {
  std::vector<float> values(value_count(options));
  expand_pixels(type, stored.data(), options, values);
  return values;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PreparePicture, EqualsDecodeThenTransform) {
  TransformScratch scratch;
  for (const Encoded& picture : encoded_pictures()) {
    const DecodedImage image = decode_image(picture.bytes);
    for (const PixelSemantics semantics : kConcreteSemantics) {
      for (const int side : {32, 50, 96}) {
        SCOPED_TRACE(concat(picture.name, " to ", side, ", ", pixel_semantics_name(semantics)));
        TransformOptions options;
        options.side = side;
        options.semantics = semantics;
        std::vector<float> expected(value_count(options));
        const std::string refusal =
            error_of([&] { transform_image(image.view(), options, scratch, expected); });
        std::vector<std::byte> found;
        EXPECT_EQ(refusal, error_of([&] {
                    found = prepared(picture.bytes, options, PixelType::kFloat32, scratch);
                  }));
        if (!refusal.empty()) continue;
        EXPECT_EQ(expected, as_floats(found));
      }
    }
  }
}

// float32, bfloat16 and uint8 of the same picture.
TEST(PreparePicture, TypesAgree) {
  TransformScratch scratch;
  const DecodedImage image = synthetic_picture(150, 83);
  const Bytes encoded = encode_png(image.view());
  for (const PixelSemantics semantics : kConcreteSemantics) {
    SCOPED_TRACE(pixel_semantics_name(semantics));
    TransformOptions options;
    options.side = 50;
    options.semantics = semantics;
    const auto floats = as_floats(prepared(encoded, options, PixelType::kFloat32, scratch));
    const auto halves = expanded(
        PixelType::kBfloat16, prepared(encoded, options, PixelType::kBfloat16, scratch), options);
    const auto levels = prepared(encoded, options, PixelType::kUint8, scratch);
    const auto from_levels = expanded(PixelType::kUint8, levels, options);
    for (size_t i = 0; i < floats.size(); ++i) {
      const uint32_t bits = uint32_t{to_bfloat16(floats[i])} << 16U;
      ASSERT_EQ(std::bit_cast<uint32_t>(halves[i]), bits);
      if (has_whole_levels(semantics)) {
        ASSERT_EQ(std::bit_cast<uint32_t>(from_levels[i]), std::bit_cast<uint32_t>(floats[i]));
        continue;
      }
      const size_t c = i / (floats.size() / 3);
      const float exact = (floats[i] * options.std[c] + options.mean[c]) * 255.0F;
      ASSERT_NEAR(static_cast<float>(levels[i]), std::clamp(exact, 0.0F, 255.0F), 0.501F);
    }
    EXPECT_EQ(floats, expanded(PixelType::kFloat32,
                               prepared(encoded, options, PixelType::kFloat32, scratch), options));
  }
}

TEST(PreparePicture, OrientationIsAppliedWhenAsked) {
  TransformScratch scratch;
  const DecodedImage image = synthetic_picture(90, 47);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    JpegOptions jpeg;
    jpeg.app1 = exif_block(orientation);
    const Bytes encoded = encode_jpeg(image.pixels, 90, 47, jpeg);
    TransformOptions options;
    options.side = 32;
    for (const bool applies : {false, true}) {
      DecodeOptions decode;
      decode.apply_exif_orientation = applies;
      std::vector<float> expected(value_count(options));
      transform_image(decode_image(encoded, decode).view(), options, scratch, expected);
      EXPECT_EQ(expected, as_floats(prepared(encoded, options, PixelType::kFloat32, scratch,
                                             nullptr, decode)));
    }
  }
}

TEST(PreparePicture, BrokenPicturesAreRefusedAsByDecodeImage) {
  TransformScratch scratch;
  TransformOptions options;
  options.side = 32;
  const DecodedImage image = synthetic_picture(150, 83);
  for (Bytes bytes :
       {encode_png(image.view()), encode_jpeg(image.pixels, 150, 83), to_bytes("<html>")}) {
    bytes.resize(bytes.size() * 2 / 3);
    const std::string refusal = decode_error(bytes);
    EXPECT_EQ(refusal, error_of([&] { prepared(bytes, options, PixelType::kFloat32, scratch); }));
  }
  // The scratch serves the next picture all the same.
  const Bytes sound = encode_png(image.view());
  std::vector<float> expected(value_count(options));
  transform_image(image.view(), options, scratch, expected);
  EXPECT_EQ(expected, as_floats(prepared(sound, options, PixelType::kFloat32, scratch)));
}

TEST(PreparePicture, TimesAddUp) {
  TransformScratch scratch;
  TransformOptions options;
  std::vector<float> out(value_count(options));
  const DecodedImage image = synthetic_picture(320, 200);
  const Bytes encoded = encode_jpeg(image.pixels, 320, 200);
  PictureTimes times;
  const PixelPlace place = {PixelType::kFloat32, out.data()};
  prepare_picture(encoded, {}, options, nullptr, scratch, place, &times);
  const PictureTimes once = times;
  EXPECT_GT(once.decode, 0);
  EXPECT_GT(once.transform, 0);
  prepare_picture(encoded, {}, options, nullptr, scratch, place, &times);
  EXPECT_GT(times.decode, once.decode);
  EXPECT_GT(times.transform, once.transform);
}

#if defined(CANTILEVER_COUNTS_ALLOCATIONS)
// Several sizes, semantics and types, augmented or turned or neither; from the second round on
// nothing is allocated.
TEST(PreparePicture, AllocatesNothingOnceItIsWarm) {
  std::vector<Bytes> pictures;
  for (const auto& [width, height] : {std::pair(320, 200), std::pair(97, 140), std::pair(150, 150),
                                      std::pair(200, 320), std::pair(64, 48)}) {
    const DecodedImage image = synthetic_picture(width, height);
    JpegOptions jpeg;
    jpeg.app1 = exif_block(width % 8 + 1);
    pictures.push_back(encode_jpeg(image.pixels, width, height, jpeg));
  }
  AugmentationDraw draw;
  draw.options.random_resized_crop = true;
  draw.options.horizontal_flip = 0.5;
  draw.options.color_jitter = {0.4, 0.4, 0.4, 0.1};
  DecodeOptions upright;
  upright.apply_exif_orientation = true;
  TransformScratch scratch;
  TransformOptions options;
  options.side = 64;
  std::vector<float> out(value_count(options));
  const auto round = [&] {
    for (const PixelSemantics semantics : kConcreteSemantics) {
      options.semantics = semantics;
      for (const PixelType type : {PixelType::kFloat32, PixelType::kBfloat16, PixelType::kUint8}) {
        for (const Bytes& picture : pictures) {
          const PixelPlace place = {type, out.data()};
          prepare_picture(picture, {}, options, nullptr, scratch, place);
          prepare_picture(picture, upright, options, nullptr, scratch, place);
          draw.key = picture.size();
          prepare_picture(picture, {}, options, &draw, scratch, place);
        }
      }
    }
  };
  const int64_t before_first = allocations;
  round();
  EXPECT_GT(allocations, before_first);  // that it counts at all
  // Tables of a few sizes are made anew when there are more sizes than the cache holds, in memory
  // that has to be large enough once.
  round();
  const int64_t before = allocations;
  round();
  EXPECT_EQ(allocations, before);
}
#endif

AugmentationDraw draw_with(uint64_t key) {
  AugmentationDraw draw;
  draw.key = key;
  return draw;
}

TEST(Augmentation, OffChangesNothing) {
  TransformScratch scratch;
  TransformOptions options;
  options.side = 40;
  const Bytes encoded = encode_png(synthetic_picture(90, 70).view());
  const AugmentationDraw draw = draw_with(5);
  EXPECT_FALSE(draw.options.any());
  EXPECT_EQ(prepared(encoded, options, PixelType::kFloat32, scratch),
            prepared(encoded, options, PixelType::kFloat32, scratch, &draw));
}

// The crop is the picture cut out and resized to a square; the flip mirrors it.
TEST(Augmentation, CropAndFlipAreThoseOfAPictureCutOut) {
  TransformScratch scratch;
  const DecodedImage image = synthetic_picture(120, 90);
  const Bytes encoded = encode_png(image.view());
  for (const PixelSemantics semantics : kConcreteSemantics) {
    for (uint64_t key = 0; key < 6; ++key) {
      TransformOptions options;
      options.side = 32;
      options.semantics = semantics;
      AugmentationDraw draw = draw_with(key);
      draw.options.random_resized_crop = true;
      draw.options.crop_scale = {0.2, 0.8};
      draw.options.crop_ratio = {1, 1};  // so that transform_image resizes to a square, too
      const auto cropped =
          as_floats(prepared(encoded, options, PixelType::kFloat32, scratch, &draw));
      const AugmentationChoice choice = draw_augmentation(draw, 120, 90);
      ASSERT_TRUE(choice.crops);
      ASSERT_EQ(choice.width, choice.height);
      DecodedImage cut;
      cut.width = choice.width;
      cut.height = choice.height;
      for (int y = 0; y < cut.height; ++y) {
        const uint8_t* row =
            image.pixels.data() + (ptrdiff_t{choice.top + y} * 120 + choice.left) * 3;
        cut.pixels.insert(cut.pixels.end(), row, row + ptrdiff_t{3} * cut.width);
      }
      std::vector<float> expected(value_count(options));
      transform_image(cut.view(), options, scratch, expected);
      EXPECT_EQ(expected, cropped) << pixel_semantics_name(semantics) << ", key " << key;
      draw.options.horizontal_flip = 1;
      const auto flipped =
          as_floats(prepared(encoded, options, PixelType::kFloat32, scratch, &draw));
      for (size_t row = 0; row < 3 * 32; ++row) {
        std::reverse(expected.begin() + static_cast<ptrdiff_t>(row * 32),
                     expected.begin() + static_cast<ptrdiff_t>((row + 1) * 32));
      }
      EXPECT_EQ(expected, flipped);
    }
  }
}

// Colours are changed before pixels are normalised, on levels or on fractions.
TEST(Augmentation, ColoursAreChangedBeforeNormalising) {
  TransformScratch scratch;
  const Bytes encoded = encode_png(synthetic_picture(120, 90).view());
  for (const PixelSemantics semantics : kConcreteSemantics) {
    SCOPED_TRACE(pixel_semantics_name(semantics));
    TransformOptions options;
    options.side = 32;
    options.semantics = semantics;
    AugmentationDraw draw = draw_with(11);
    draw.options.color_jitter = {0.5, 0.5, 0.5, 0.2};
    const AugmentationChoice choice = draw_augmentation(draw, 120, 90);
    ASSERT_TRUE(choice.jitters);
    constexpr int64_t kPlane = 32 * 32;
    std::vector<float> expected(3 * kPlane);
    if (has_whole_levels(semantics)) {
      auto levels = prepared(encoded, options, PixelType::kUint8, scratch);
      apply_colour_changes(choice, reinterpret_cast<uint8_t*>(levels.data()), kPlane);
      expected = expanded(PixelType::kUint8, levels, options);
      EXPECT_EQ(levels, prepared(encoded, options, PixelType::kUint8, scratch, &draw));
    } else {
      TransformOptions plain = options;
      plain.mean = {0, 0, 0};
      plain.std = {1, 1, 1};
      expected = as_floats(prepared(encoded, plain, PixelType::kFloat32, scratch));
      apply_colour_changes(choice, expected.data(), kPlane);
      for (size_t i = 0; i < expected.size(); ++i) {
        const size_t c = i / kPlane;
        expected[i] = (expected[i] - options.mean[c]) / options.std[c];
      }
    }
    EXPECT_EQ(expected, as_floats(prepared(encoded, options, PixelType::kFloat32, scratch, &draw)));
  }
}

TEST(LevelTable, ComputedAndLookedUpValuesAreTheSame) {
  const TransformOptions clip;
  struct Case {
    float mean;
    float std;
    bool computes;
  };
  for (const Case& c :
       {Case{clip.mean[0], clip.std[0], true}, Case{clip.mean[1], clip.std[1], true},
        Case{clip.mean[2], clip.std[2], true}, Case{0.5F, 0.5F, true}, Case{0, 1, true},
        // The reciprocal has lost its last bits: only the table will do.
        Case{0.25F, 1.2e36F, false}}) {
    for (const bool fused : {false, true}) {
      const LevelTable table = make_level_table(c.mean, c.std, fused);
      EXPECT_EQ(table.computes, c.computes) << c.mean << ' ' << c.std;
      std::vector<uint8_t> levels(256 + 77);
      for (size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<uint8_t>(i);
      std::vector<float> portable(levels.size());
      std::vector<float> fast(levels.size());
      expand_levels_portable(table, levels.data(), std::ssize(levels), portable.data());
      expand_levels(table, levels.data(), std::ssize(levels), fast.data());
      EXPECT_EQ(0, std::memcmp(portable.data(), fast.data(), portable.size() * sizeof(float)));
      const float exact = fused ? (200.0F - c.mean * 255.0F) / (c.std * 255.0F)
                                : (200.0F / 255.0F - c.mean) / c.std;
      EXPECT_EQ(portable[200], exact);
    }
  }
}

TEST(Bfloat16, RoundsHalvesToEven) {
  const auto rounded = [](uint32_t bits) { return to_bfloat16(std::bit_cast<float>(bits)); };
  EXPECT_EQ(rounded(0x3f800000U), 0x3f80);
  EXPECT_EQ(rounded(0x3f808000U), 0x3f80);
  EXPECT_EQ(rounded(0x3f808001U), 0x3f81);
  EXPECT_EQ(rounded(0x3f818000U), 0x3f82);
  EXPECT_EQ(rounded(0xbf818000U), 0xbf82);
  EXPECT_EQ(rounded(0x3fffffffU), 0x4000);
}

TEST(UprightRows, PartsAreThoseOfTheWhole) {
  const DecodedImage image = synthetic_picture(7, 5);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const UprightRows upright(image.view(), orientation);
    const auto bytes = static_cast<size_t>(3 * upright.width());
    std::vector<uint8_t> whole(bytes * static_cast<size_t>(upright.height()));
    upright.copy(0, upright.height(), 0, upright.width(), whole.data());
    std::vector<uint8_t> part(2 * bytes, 0xAA);
    upright.copy(2, 2, 1, 4, part.data());
    for (size_t i = 0; i < part.size(); ++i) {
      const size_t column = i % bytes / 3;
      EXPECT_EQ(part[i], column >= 1 && column < 4 ? whole[2 * bytes + i] : 0xAA);
    }
  }
}

}  // namespace
}  // namespace cantilever::test
