// What a few bytes may claim: gigabytes, billions of rows. None of it may be allocated for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/schema.h>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/parquet_decode.h"
#include "tests/data/source/mapped_files.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"
#include "tests/data/source/tar_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::source_options;
using test::write_text;

// Thrift's compact protocol: a field of type i32 behind the one before.
std::string i32_field(int64_t value) {
  std::string bytes(1, '\x15');
  uint64_t zigzag = static_cast<uint64_t>(value) << 1;
  for (; zigzag >= 0x80; zigzag >>= 7) bytes += static_cast<char>((zigzag & 0x7F) | 0x80);
  return bytes + static_cast<char>(zigzag);
}

// A V1 data page of `body` that claims other sizes.
std::string page(int64_t uncompressed, int64_t values, const std::string& body) {
  return i32_field(0) + i32_field(uncompressed) + i32_field(static_cast<int64_t>(body.size())) +
         "\x2c" + i32_field(values) + i32_field(0) + i32_field(3) + i32_field(3) +
         std::string(2, '\0') + body;
}

// What decoding adds to the memory of the process; the message is left in `error`.
int64_t memory_of(const ParquetPageBytes& bytes, std::string& error) {
  const int64_t before = test::anonymous_bytes();
  int64_t during = before;
  try {
    const auto decoded = decode_data_page(bytes, [] { return nullptr; });
    during = test::anonymous_bytes();
  } catch (const std::exception& failure) {
    during = test::anonymous_bytes();
    error = failure.what();
  }
  return during - before;
}

TEST(HostileClaims, PagesOfTwoGigabytesInAHundredBytes) {
  parquet::SchemaDescriptor schema;
  schema.Init(parquet::schema::GroupNode::Make(
      "schema", parquet::Repetition::REQUIRED,
      {parquet::schema::PrimitiveNode::Make("caption", parquet::Repetition::OPTIONAL,
                                            parquet::Type::BYTE_ARRAY)}));
  const std::string snappy = "\xff\xff\xff\xff\x07" + std::string(90, 'x');  // claims it as well
  for (const auto codec : {parquet::Compression::UNCOMPRESSED, parquet::Compression::SNAPPY,
                           parquet::Compression::GZIP, parquet::Compression::ZSTD,
                           parquet::Compression::LZ4, parquet::Compression::BROTLI}) {
    for (const int64_t values : {int64_t{3}, int64_t{INT32_MAX}}) {
      const std::string bytes = page(INT32_MAX, values, snappy);
      ParquetPageBytes coded;
      coded.bytes = std::as_bytes(std::span(bytes));
      coded.column = schema.Column(0);
      coded.codec = static_cast<int16_t>(codec);
      coded.most_entries = INT32_MAX;
      std::string error;
      EXPECT_LT(memory_of(coded, error), int64_t{64} << 20) << codec;
      EXPECT_NE(error, "") << codec;
    }
  }
}

TEST(HostileClaims, NumbersOfTarHeaders) {
  test::TemporaryFolder folder;
  set_log_level(LogLevel::kError);
  const std::string head = test::tar_member("0.jpg", "p") + test::tar_member("0.txt", "t");
  for (const uint64_t size :
       {uint64_t{1} << 33, uint64_t{INT64_MAX}, uint64_t{INT64_MAX} - 511, UINT64_MAX}) {
    for (const char type : {'0', 'L', 'K', 'x', 'g', '7'}) {
      const auto path = write_text(folder / "x.tar", head + test::tar_header("1.jpg", size, type));
      EXPECT_NE(error_of([&] { open_source(path, source_options()); }), "") << size << type;
    }
    const auto pax = write_text(
        folder / "y.tar", head + test::pax_header(test::pax_record("size", std::to_string(size))) +
                              test::tar_header("1.jpg", 0));
    EXPECT_NE(error_of([&] { open_source(pax, source_options()); }), "") << size;
  }
  // A pax header of many megabytes that is there is no better.
  const auto large = write_text(
      folder / "z.tar",
      head + test::pax_header(test::pax_record("comment", std::string(size_t{2} << 20, 'c'))));
  EXPECT_THAT(error_of([&] { open_source(large, source_options()); }),
              testing::HasSubstr("pax header"));
  set_log_level(LogLevel::kInfo);
}

TEST(HostileClaims, JsonNestedWithoutEnd) {
  test::TemporaryFolder folder;
  const std::string deep(200000, '[');
  for (const std::string& text :
       {deep, "{\"data\": " + deep, "{\"caption\": " + deep + "}\n", std::string(200000, '{'),
        "{\"images\": [" + deep + std::string(200000, ']') + "], \"annotations\": [" + deep +
            std::string(200000, ']') + "]}"}) {
    const auto path = write_text(folder / "x.json", text);
    EXPECT_NE(error_of([&] { open_source(path, source_options()); }), "");
  }
}

}  // namespace
}  // namespace cantilever
