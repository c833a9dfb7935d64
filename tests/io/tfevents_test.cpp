#include "cantilever/io/tfevents.h"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <map>
#include <optional>

#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using namespace std::string_literals;
using ::testing::HasSubstr;

// A second implementation, bit by bit, so that the writer's table is not checked against itself.
uint32_t crc32c(const std::string& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

uint32_t masked(const std::string& bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

template <class T>
T number(const std::string& bytes, size_t at = 0) {
  T value;
  EXPECT_LE(at + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::vector<std::string> read_records(const fs::path& path) {
  const std::string bytes = slurp(path);
  std::vector<std::string> records;
  size_t at = 0;
  while (at < bytes.size()) {
    const auto length = static_cast<size_t>(number<uint64_t>(bytes, at));
    EXPECT_EQ(number<uint32_t>(bytes, at + 8), masked(bytes.substr(at, 8)));
    records.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(records.back().size(), length);
    EXPECT_EQ(number<uint32_t>(bytes, at + 12 + length), masked(records.back()));
    at += 12 + length + 4;
  }
  EXPECT_EQ(at, bytes.size());
  return records;
}

// Field number -> raw value (varints as 8 bytes) of a protocol buffer; every field once.
std::map<int, std::string> read_message(const std::string& bytes) {
  std::map<int, std::string> fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.size()) {
    const uint64_t key = varint();
    std::string value;
    switch (key & 7) {
      case 0:
        value = raw(varint());
        break;
      case 1:
        value = bytes.substr(at, 8);
        at += 8;
        break;
      case 2: {
        const auto length = static_cast<size_t>(varint());
        value = bytes.substr(at, length);
        at += length;
        break;
      }
      case 5:
        value = bytes.substr(at, 4);
        at += 4;
        break;
      default:
        ADD_FAILURE() << "wire type " << (key & 7);
        return fields;
    }
    EXPECT_TRUE(fields.emplace(static_cast<int>(key >> 3), value).second) << key;
  }
  EXPECT_EQ(at, bytes.size());
  return fields;
}

// Summary.Value of an event record.
std::map<int, std::string> read_value(const std::string& record, int64_t step) {
  auto event = read_message(record);
  EXPECT_EQ(number<int64_t>(event[2]), step);
  return read_message(read_message(event[5])[1]);
}

TEST(Crc32c, KnownVectors) {
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string counting;
  for (int i = 0; i < 32; ++i) counting += static_cast<char>(i);
  EXPECT_EQ(crc32c(counting), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST(EventFile, StartsWithTheFileVersion) {
  const TemporaryFolder folder;
  const double before =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const EventFileWriter writer(folder.path() / "runs" / "a");
  EXPECT_EQ(writer.path().parent_path(), folder.path() / "runs" / "a");
  EXPECT_TRUE(writer.path().filename().string().starts_with("events.out.tfevents."));
  const std::vector<std::string> records = read_records(writer.path());
  ASSERT_EQ(records.size(), 1u);
  auto event = read_message(records[0]);
  EXPECT_EQ(event[3], "brain.Event:2");
  EXPECT_NEAR(number<double>(event[1]), before, 60);
}

TEST(EventFile, ScalarsAreOnDiskAtOnce) {
  const TemporaryFolder folder;
  EventFileWriter writer(folder.path());
  const std::pair<double, int64_t> points[] = {
      {0.1, 0}, {-2.5e30, 1}, {1e300, 300}, {std::nan(""), int64_t{1} << 40}};
  for (const auto& [value, step] : points) writer.add_scalar("train/loss", value, step);
  const std::vector<std::string> records = read_records(writer.path());
  ASSERT_EQ(records.size(), 5u);
  for (size_t i = 0; i < 4; ++i) {
    auto value = read_value(records[i + 1], points[i].second);
    EXPECT_EQ(value[1], "train/loss");
    EXPECT_EQ(value[2], raw(static_cast<float>(points[i].first)));
    EXPECT_EQ(value.size(), 2u);
  }
}

TEST(EventFile, TextAsTorchWritesIt) {
  const TemporaryFolder folder;
  EventFileWriter writer(folder.path());
  writer.add_text("args", "{\"lr\": 1e-05}\n\xc3\xa9\xff", 7);
  auto value = read_value(read_records(writer.path()).at(1), 7);
  EXPECT_EQ(value[1], "args/text_summary");
  auto tensor = read_message(value[8]);
  EXPECT_EQ(number<uint64_t>(tensor[1]), 7u);  // DT_STRING
  EXPECT_EQ(tensor[2], "\x12\x02\x08\x01");    // one dimension of size 1
  EXPECT_EQ(tensor[8], "{\"lr\": 1e-05}\n\xc3\xa9\xef\xbf\xbd");
  EXPECT_EQ(read_message(read_message(value[9])[1])[1], "text");
}

TEST(EventFile, Images) {
  const TemporaryFolder folder;
  EventFileWriter writer(folder.path());
  // The beginning of a PNG: 3 x 2, eight bits, colour with alpha.
  const std::string png = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\3\0\0\0\2\x08\6\0\0\0"s;
  writer.add_image("sheet", std::as_bytes(std::span(png)), 3, 2, 5);
  auto value = read_value(read_records(writer.path()).at(1), 5);
  EXPECT_EQ(value[1], "sheet");
  auto image = read_message(value[4]);
  EXPECT_EQ(number<uint64_t>(image[1]), 2u);
  EXPECT_EQ(number<uint64_t>(image[2]), 3u);
  EXPECT_EQ(number<uint64_t>(image[3]), 4u);
  EXPECT_EQ(image[4], png);
  EXPECT_THROW(writer.add_image("x", std::as_bytes(std::span("GIF89a", 6)), 1, 1, 0),
               InternalError);
}

TEST(EventFile, TwoWritersInOneSecondHaveTwoFiles) {
  const TemporaryFolder folder;
  EventFileWriter first(folder.path());
  EventFileWriter second(folder.path());
  EXPECT_NE(first.path(), second.path());
  first.add_scalar("a", 1, 1);
  second.add_scalar("b", 2, 1);
  EXPECT_EQ(read_records(first.path()).size(), 2u);
  EXPECT_EQ(read_records(second.path()).size(), 2u);
}

// A limit on the size of files stands in for a full disk: the write that crosses it ends half-way.
TEST(EventFile, AFullDiskLeavesNoHalfRecord) {
  const TemporaryFolder folder;
  EventFileWriter writer(folder.path());
  const std::string long_text(500, 'x');
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limited = before;
  limited.rlim_cur = 2000;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  int written = 0;
  std::string message;
  try {
    for (; written < 10; ++written) writer.add_text("t", long_text, written);
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr(writer.path().string()));
  EXPECT_GE(written, 2);
  EXPECT_LT(written, 4);
  EXPECT_EQ(read_records(writer.path()).size(), 1u + static_cast<size_t>(written));
  writer.add_scalar("after", 1, 99);
  EXPECT_EQ(read_records(writer.path()).size(), 2u + static_cast<size_t>(written));
}

TEST(EventFile, FoldersThatCannotBe) {
  const TemporaryFolder folder;
  const fs::path file = folder.file("taken", "x");
  EXPECT_THAT(error_of([&] { EventFileWriter writer(file); }), HasSubstr("taken"));
}

}  // namespace
}  // namespace cantilever
