#include "cantilever/io/safetensors.h"

#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SafetensorsTest : public ::testing::Test {
 protected:
  std::unique_ptr<WeightFile> open(const std::string& content) {
    return open_safetensors(folder_.file("model.safetensors", content));
  }
  std::unique_ptr<WeightFile> open_header(const std::string& header, size_t data_bytes) {
    return open(safetensors_bytes(header, std::string(data_bytes, '\1')));
  }
  std::string error(const std::string& content) {
    const std::string message = error_of([&] { open(content); });
    EXPECT_THAT(message, HasSubstr("model.safetensors"));
    return message;
  }
  std::string header_error(const std::string& header, size_t data_bytes = 4) {
    return error(safetensors_bytes(header, std::string(data_bytes, '\1')));
  }
  // One tensor "a" with the given fields, as JSON text.
  static std::string entry(const std::string& dtype, const std::string& shape,
                           const std::string& offsets) {
    return "{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
           "}}";
  }

  TemporaryFolder folder_;
};

// Written by the Python library (safetensors 0.8.0): save_file of w = [[1, 2], [3, 4]] float32,
// a = [1, 2] int64, z = [True], h = [1] float16, 'é"' = 0.5 float32, metadata format=pt.
const std::string kGolden =
    "8\x01\0\0\0\0\0\0"
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"a\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[16,32]},"
    "\"\xc3\xa9\\\"\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[32,36]},"
    "\"h\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[36,38]},"
    "\"z\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[38,39]}} "
    "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
    "\0\0\x80?\0\0\0@\0\0@@\0\0\x80@"
    "\0\0\0?"
    "\0<\x01"s;

TEST_F(SafetensorsTest, ReadsWhatPythonWrote) {
  const auto file = open(kGolden);
  ASSERT_EQ(file->tensors().size(), 5u);
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  EXPECT_THAT(file->description(), HasSubstr("model.safetensors"));
  const TensorView* w = file->find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->dtype, DType::kF32);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(values_of<float>(*w), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values_of<int64_t>(*file->find("a")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(values_of<float>(*file->find("\xc3\xa9\"")), (std::vector<float>{0.5f}));
  EXPECT_TRUE(file->find("\xc3\xa9\"")->shape.empty());
  EXPECT_EQ(file->find("b"), nullptr);
  std::vector<std::string> names;
  for (const TensorView& tensor : file->tensors()) names.push_back(tensor.name);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST_F(SafetensorsTest, WritesTheBytesThatPythonWrites) {
  const std::vector<float> w = {1, 2, 3, 4};
  const std::vector<float> half_value = {0.5f};
  const std::vector<int64_t> a = {1, 2};
  const std::string h = "\0<"s;
  const std::string z = "\1"s;
  const fs::path path = folder_.path() / "out.safetensors";
  write_safetensors(path, {{"z", DType::kBool, {1}, std::as_bytes(std::span(z))},
                           {"w", DType::kF32, {2, 2}, std::as_bytes(std::span(w))},
                           {"\xc3\xa9\"", DType::kF32, {}, std::as_bytes(std::span(half_value))},
                           {"a", DType::kI64, {2}, std::as_bytes(std::span(a))},
                           {"h", DType::kF16, {1}, std::as_bytes(std::span(h))}});
  EXPECT_EQ(slurp(path), kGolden);
}

// state_dict.safetensors was written by the Python library with every type we have.
TEST_F(SafetensorsTest, RewritingAPythonFileChangesNoByte) {
  const auto file = open_safetensors(golden("state_dict.safetensors"));
  EXPECT_EQ(file->tensors().size(), 24u);
  const fs::path path = folder_.path() / "again.safetensors";
  write_safetensors(path, file->tensors(), file->metadata());
  EXPECT_EQ(slurp(path), slurp(golden("state_dict.safetensors")));
}

TEST_F(SafetensorsTest, WritesAnEmptyModelAndEmptyTensors) {
  const fs::path path = folder_.path() / "empty.safetensors";
  write_safetensors(path, {}, {});
  EXPECT_EQ(slurp(path), safetensors_bytes("{}      "));
  EXPECT_TRUE(open_safetensors(path)->tensors().empty());
  write_safetensors(path, {{"e", DType::kF32, {0, 7}, {}}, {"f", DType::kF32, {3, 0}, {}}});
  const auto file = open_safetensors(path);
  EXPECT_EQ(file->find("e")->shape, (std::vector<int64_t>{0, 7}));
  EXPECT_TRUE(file->find("f")->data.empty());
}

TEST_F(SafetensorsTest, WriterRefusesWhatCannotBeRead) {
  const fs::path path = folder_.path() / "out.safetensors";
  const std::vector<float> one = {1};
  const TensorView tensor{"same", DType::kF32, {1}, std::as_bytes(std::span(one))};
  EXPECT_THAT(error_of([&] { write_safetensors(path, {tensor, tensor}); }),
              AllOf(HasSubstr("out.safetensors"), HasSubstr("'same'")));
  TensorView metadata = tensor;
  metadata.name = "__metadata__";
  EXPECT_THAT(error_of([&] { write_safetensors(path, {metadata}); }), HasSubstr("__metadata__"));
  TensorView wrong = tensor;
  wrong.shape = {2};
  EXPECT_THROW(write_safetensors(path, {wrong}), InternalError);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_THAT(error_of([&] { write_safetensors(folder_.path() / "no" / "x", {tensor}); }),
              HasSubstr("No such file"));
}

TEST_F(SafetensorsTest, AFailedWriteLeavesTheOldFile) {
  const fs::path path = folder_.path() / "model.safetensors";
  const std::vector<float> one = {1};
  const TensorView tensor{"t", DType::kF32, {1}, std::as_bytes(std::span(one))};
  write_safetensors(path, {tensor});
  const std::string before = slurp(path);
  TensorView twice = tensor;
  EXPECT_THROW(write_safetensors(path, {tensor, twice}), Error);
  EXPECT_EQ(slurp(path), before);
  size_t files = 0;
  for ([[maybe_unused]] const auto& item : fs::directory_iterator(folder_.path())) ++files;
  EXPECT_EQ(files, 1u);
}

TEST_F(SafetensorsTest, OddButValidFiles) {
  EXPECT_TRUE(open(safetensors_bytes("{}"))->tensors().empty());
  EXPECT_TRUE(open(safetensors_bytes("{\"__metadata__\":null}"))->metadata().empty());
  // The format's own reader also takes blanks before the header and fields it does not know.
  EXPECT_EQ(open_header(" \n" + entry("\"F32\"", "[1]", "[0,4]") + "\t ", 4)->tensors().size(), 1u);
  EXPECT_EQ(
      open_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":{}}}", 1)
          ->tensors()
          .size(),
      1u);
  EXPECT_EQ(open_header("{\"\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1)
                ->tensors()[0]
                .name,
            "");
  // Zero elements between two tensors, and a size that no memory could hold beside a zero.
  const auto file = open_header(
      "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
      "\"z\":{\"dtype\":\"F32\",\"shape\":[0,4611686018427387904],\"data_offsets\":[4,4]},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
      8);
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->find("z")->numel(), 0);
}

TEST_F(SafetensorsTest, Lengths) {
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error("1234567"), HasSubstr("7 bytes"));
  EXPECT_THAT(error(raw(~uint64_t{0}) + "{}"), HasSubstr("header too large"));
  EXPECT_THAT(error(raw(uint64_t{100'000'001}) + "{}"), HasSubstr("header too large"));
  EXPECT_THAT(error(raw(uint64_t{3}) + "{}"),
              AllOf(HasSubstr("incomplete"), HasSubstr("11 bytes"), HasSubstr("found 10")));
  EXPECT_THAT(error(raw(uint64_t{0})), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error(entry("\"F32\"", "[1]", "[0,4]"), 3),
              AllOf(HasSubstr("incomplete"), HasSubstr("expected 66"), HasSubstr("found 65")));
  EXPECT_THAT(header_error(entry("\"F32\"", "[1]", "[0,4]"), 5),
              AllOf(HasSubstr("1 bytes after"), HasSubstr("expected 66"), HasSubstr("found 67")));
}

TEST_F(SafetensorsTest, Headers) {
  EXPECT_THAT(header_error("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(header_error("null"), HasSubstr("not a JSON object"));
  EXPECT_THAT(header_error("{\"a\":"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error("{}{}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error("{\"\xff\":1}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error("{/* */}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error("{}\0"s), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error(std::string(100000, '[')), HasSubstr("nesting"));
  EXPECT_THAT(header_error("{\"a\":" + std::string(1000000, '[')), HasSubstr("nesting"));
  const std::string one = "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";
  EXPECT_THAT(header_error("{" + one + "," + one + "}"),
              AllOf(HasSubstr("'a'"), HasSubstr("twice")));
  EXPECT_THAT(header_error("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}"), HasSubstr("twice"));
  EXPECT_THAT(header_error("{\"a\":7}"), HasSubstr("tensor 'a'"));
  EXPECT_THAT(header_error("{\"__metadata__\":{\"step\":5}}", 0),
              AllOf(HasSubstr("__metadata__"), HasSubstr("'step'"), HasSubstr("number")));
  EXPECT_THAT(header_error("{\"__metadata__\":[]}", 0), HasSubstr("__metadata__"));
}

TEST_F(SafetensorsTest, Entries) {
  EXPECT_THAT(header_error("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}"), HasSubstr("'dtype'"));
  EXPECT_THAT(header_error("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}"),
              HasSubstr("'shape'"));
  EXPECT_THAT(header_error("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}"),
              HasSubstr("'data_offsets'"));
  EXPECT_THAT(header_error(entry("\"F37\"", "[1]", "[0,4]")),
              AllOf(HasSubstr("tensor 'a'"), HasSubstr("'F37'"), HasSubstr("does not know")));
  EXPECT_THAT(header_error(entry("\"F8_E4M3\"", "[4]", "[0,4]")),
              AllOf(HasSubstr("'F8_E4M3'"), HasSubstr("does not read")));
  EXPECT_THAT(header_error(entry("7", "[1]", "[0,4]")), HasSubstr("dtype '7'"));
  for (const char* shape : {"[-1]", "[1.0]", "[1e0]", "[NaN]", "[\"1\"]", "[true]", "[null]", "{}",
                            "1", "[18446744073709551616]", "[9223372036854775808]", "[[1]]"}) {
    EXPECT_THAT(header_error(entry("\"F32\"", shape, "[0,4]")),
                AllOf(HasSubstr("tensor 'a'"), HasSubstr("shape")))
        << shape;
    EXPECT_THAT(header_error(entry("\"F32\"", "[1]", shape)),
                AllOf(HasSubstr("tensor 'a'"), HasSubstr("data_offsets")))
        << shape;
  }
}

TEST_F(SafetensorsTest, Overflows) {
  EXPECT_THAT(header_error(entry("\"F32\"", "[4294967296,4294967296]", "[0,4]")),
              HasSubstr("overflows"));
  EXPECT_THAT(header_error(entry("\"F32\"", "[4611686018427387904,1]", "[0,4]")),
              HasSubstr("overflows"));
  EXPECT_THAT(header_error(entry("\"F32\"", "[4611686018427387904,4,0]", "[0,0]"), 0),
              HasSubstr("overflows"));
  EXPECT_THAT(header_error(entry("\"U8\"", "[9223372036854775807]", "[0,9223372036854775807]")),
              AllOf(HasSubstr("incomplete"), HasSubstr("found")));
}

TEST_F(SafetensorsTest, Offsets) {
  EXPECT_THAT(header_error(entry("\"F32\"", "[1]", "[4,0]")), HasSubstr("end before they begin"));
  EXPECT_THAT(header_error(entry("\"F32\"", "[1]", "[0,4,8]")), HasSubstr("3 numbers"));
  EXPECT_THAT(header_error(entry("\"F32\"", "[1]", "[]")), HasSubstr("0 numbers"));
  EXPECT_THAT(header_error(entry("\"F32\"", "[2]", "[0,4]")),
              AllOf(HasSubstr("[2] of F32 needs 8 bytes"), HasSubstr("give 4")));
  EXPECT_THAT(header_error(entry("\"F32\"", "[1]", "[4,8]"), 8), HasSubstr("gap"));
  const auto two = [](const char* first, const char* second) {
    return concat("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":", first,
                  "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":", second, "}}");
  };
  EXPECT_THAT(header_error(two("[0,4]", "[3,7]"), 7),
              AllOf(HasSubstr("overlap"), HasSubstr("'a'"), HasSubstr("'b'")));
  EXPECT_THAT(header_error(two("[0,4]", "[0,4]"), 4), HasSubstr("overlap"));
  EXPECT_THAT(header_error(two("[0,4]", "[5,9]"), 9), HasSubstr("gap"));
}

TEST_F(SafetensorsTest, OtherFilesAreNamed) {
  EXPECT_THAT(error("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123456\n"),
              AllOf(HasSubstr("Git LFS pointer"), HasSubstr("123456 bytes")));
  EXPECT_THAT(error("PK\x03\x04" + std::string(60, '\0')), HasSubstr("PyTorch .bin/.pt"));
  EXPECT_THAT(error(slurp(golden("state_dict.bin"))), HasSubstr("PyTorch .bin/.pt"));
  EXPECT_THAT(error(slurp(golden("legacy.bin"))), HasSubstr("before PyTorch 1.6"));
  EXPECT_THAT(error("<!DOCTYPE html><html></html>"),
              AllOf(HasSubstr("HTML"), HasSubstr("28 bytes")));
  EXPECT_THAT(error("\n <HTML>\n<body>Sign in</body>"), HasSubstr("HTML"));
  EXPECT_THAT(error("{\"error\":\"Repository not found\"}"), HasSubstr("JSON text"));
  EXPECT_THAT(error("\x1f\x8b\x08" + std::string(20, '\0')), HasSubstr("gzip"));
  EXPECT_THAT(error("\x89HDF\r\n\x1a\n" + std::string(20, '\0')), HasSubstr("HDF5"));
  EXPECT_THAT(error("GGUF" + std::string(20, '\3')), HasSubstr("GGUF"));
  EXPECT_THAT(error_of([&] { open_safetensors(folder_.path()); }), HasSubstr("directory"));
  EXPECT_THAT(error_of([&] { open_safetensors(folder_.path() / "none"); }),
              HasSubstr("No such file"));
}

// A header of 200,000 names takes a moment, not the hours that a walk of all names for each would.
TEST_F(SafetensorsTest, ManyTensors) {
  std::string header = "{";
  for (int i = 0; i < 200000; ++i) {
    header += concat(i > 0 ? "," : "", "\"t", i, "\":{\"dtype\":\"U8\",\"shape\":[1],",
                     "\"data_offsets\":[", i, ",", i + 1, "]}");
  }
  EXPECT_EQ(open_header(header + "}", 200000)->tensors().size(), 200000u);
}

}  // namespace
}  // namespace cantilever
