#include <cmath>
#include <limits>

#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using ::testing::HasSubstr;

template <class T>
TensorView view(const std::vector<T>& values, DType dtype) {
  return {"t", dtype, {static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

std::vector<float> as_float32(const TensorView& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.numel()));
  copy_as_float32(tensor, out);
  return out;
}

TEST(TensorView, NamesAndSizesOfTypes) {
  for (const char* name : {"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16",
                           "BF16", "F32", "F64"}) {
    const auto dtype = dtype_from_name(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_STREQ(dtype_name(*dtype), name);
  }
  EXPECT_EQ(byte_size(DType::kBool), 1u);
  EXPECT_EQ(byte_size(DType::kBF16), 2u);
  EXPECT_EQ(byte_size(DType::kF32), 4u);
  EXPECT_EQ(byte_size(DType::kU64), 8u);
  EXPECT_FALSE(dtype_from_name("f32").has_value());
  EXPECT_FALSE(dtype_from_name("").has_value());
}

TEST(TensorView, ShapesInWords) {
  EXPECT_EQ(format_shape({}), "[]");
  EXPECT_EQ(format_shape({2, 3}), "[2, 3]");
  EXPECT_EQ(format_shape(std::vector<int64_t>(1000, 1)),
            "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...]");
}

// IEEE 754 binary16: value = sign * 2^(exponent - 15) * (1 + fraction / 1024), subnormals
// 2^-14 * fraction / 1024. Every one of the 65,536 halves against that formula.
TEST(TensorView, EveryHalfWidensExactly) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const std::vector<float> floats = as_float32(view(halves, DType::kF16));
  for (size_t i = 0; i < halves.size(); ++i) {
    const double sign = (i & 0x8000) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(i >> 10 & 31);
    const auto fraction = static_cast<double>(i & 1023);
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(floats[i])) << i;
    } else if (exponent == 31) {
      EXPECT_EQ(floats[i], sign * std::numeric_limits<double>::infinity()) << i;
    } else {
      const double expected = exponent == 0 ? sign * std::ldexp(fraction, -24)
                                            : sign * std::ldexp(1024 + fraction, exponent - 25);
      EXPECT_EQ(static_cast<double>(floats[i]), expected) << i;
      EXPECT_EQ(std::signbit(floats[i]), sign < 0) << i;
    }
  }
}

TEST(TensorView, OtherFloatingTypes) {
  const std::vector<uint16_t> brain = {0x3f80, 0xc040, 0x7f80, 0x0001};
  EXPECT_EQ(as_float32(view(brain, DType::kBF16)),
            (std::vector<float>{1.0f, -3.0f, std::numeric_limits<float>::infinity(), 0x1p-133f}));
  const std::vector<double> doubles = {0.1, -2.0, 0x1.000001p0};
  EXPECT_EQ(as_float32(view(doubles, DType::kF64)), (std::vector<float>{0.1f, -2.0f, 1.0f}));
  const std::vector<float> floats = {0.1f, -0.0f};
  EXPECT_EQ(as_float32(view(floats, DType::kF32)), floats);
}

TEST(TensorView, UnalignedDataIsRead) {
  std::string bytes = "x" + raw(1.5f) + raw(-2.5f);
  const TensorView tensor{
      "t", DType::kF32, {2}, std::as_bytes(std::span(bytes.data() + 1, bytes.size() - 1))};
  EXPECT_EQ(as_float32(tensor), (std::vector<float>{1.5f, -2.5f}));
}

TEST(TensorView, EmptyAndScalar) {
  const std::vector<float> one = {4.0f};
  EXPECT_EQ(as_float32({"s", DType::kF32, {}, std::as_bytes(std::span(one))}), one);
  EXPECT_TRUE(as_float32({"e", DType::kF16, {0, 5}, {}}).empty());
}

TEST(TensorView, IntegersAreRefusedByName) {
  const std::vector<int64_t> ids = {1, 2};
  const TensorView tensor{"position_ids", DType::kI64, {2}, std::as_bytes(std::span(ids))};
  const std::string message = error_of([&] { as_float32(tensor); });
  EXPECT_THAT(message, HasSubstr("position_ids"));
  EXPECT_THAT(message, HasSubstr("I64"));
}

}  // namespace
}  // namespace cantilever
