// Archives and pickles that nobody's torch.save wrote. None may crash, hang, or cost memory that
// the file does not have.

#include "cantilever/io/torch_zip.h"
#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Pieces of a pickle.
std::string text(const std::string& value) {
  return "X" + raw(static_cast<uint32_t>(value.size())) + value;
}
std::string integer(int64_t value) {
  return "\x8a\x08"s + raw(value);
}
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
std::string tuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
std::string integers(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (const int64_t value : values) items.push_back(integer(value));
  return tuple(items);
}
std::string storage(const std::string& key, int64_t elements,
                    const std::string& type = "FloatStorage") {
  return tuple(
             {text("storage"), global("torch", type), text(key), text("cpu"), integer(elements)}) +
         "Q";
}
std::string tensor(const std::string& data, int64_t offset, const std::vector<int64_t>& size,
                   const std::vector<int64_t>& stride) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({data, integer(offset), integers(size), integers(stride), "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}
std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += text(key) + value;
  return out + "u";
}
std::string pickle(const std::string& body) {
  return "\x80\x02"s + body + ".";
}

const std::string kFourFloats = raw(1.0f) + raw(2.0f) + raw(3.0f) + raw(4.0f);

std::vector<std::pair<std::string, std::string>> records(const std::string& data) {
  return {{"model/data.pkl", data},
          {"model/byteorder", "little"},
          {"model/data/0", kFourFloats},
          {"model/version", "3\n"}};
}

class TorchHostileTest : public ::testing::Test {
 protected:
  fs::path archive(const std::string& body) {
    return folder_.file("model.bin", zip_bytes(records(pickle(body))));
  }
  std::unique_ptr<WeightFile> open(const std::string& body) {
    return open_torch_zip(archive(body));
  }
  std::string error(const std::string& body) {
    const std::string message = error_of([&] { open(body); });
    EXPECT_THAT(message, HasSubstr("model.bin"));
    return message;
  }
  std::string tensor_error(const std::string& value) { return error(dict({{"w", value}})); }
  std::string bytes_error(const std::string& content) {
    const fs::path path = folder_.file("model.bin", content);
    const std::string message = error_of([&] { open_torch_zip(path); });
    EXPECT_THAT(message, HasSubstr("model.bin"));
    return message;
  }

  TemporaryFolder folder_;
};

const std::string kGood = dict({{"w", tensor(storage("0", 4), 0, {2, 2}, {2, 1})}});

TEST_F(TorchHostileTest, TheToolsOfThisTestMakeGoodFiles) {
  for (const bool zip64 : {false, true}) {
    const fs::path path = folder_.file(
        "model.bin", zip_bytes(records(pickle(kGood)), {.zip64 = zip64, .comment = "PK\5\6 hi"}));
    const auto file = open_torch_zip(path);
    EXPECT_EQ(values_of<float>(*file->find("w")), (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST_F(TorchHostileTest, NothingIsExecuted) {
  const fs::path marker = folder_.path() / "executed";
  const std::string call = text("touch " + marker.string());
  EXPECT_THAT(error(global("posix", "system") + "(" + call + "tR"), HasSubstr("'posix.system'"));
  EXPECT_THAT(error(global("os", "system") + "(" + call + "tR"), HasSubstr("'os.system'"));
  EXPECT_THAT(error(global("builtins", "eval") + "(" + text("1") + "tR"),
              HasSubstr("'builtins.eval'"));
  EXPECT_THAT(error(text("posix") + text("system") + "\x93" + "(" + call + "tR"),
              HasSubstr("'posix.system'"));
  EXPECT_THAT(error(global("torch.nn.modules.linear", "Linear") + ")\x81}b"),
              HasSubstr("'torch.nn.modules.linear.Linear'"));
  EXPECT_THAT(error(global("torch", "FloatStorage") + ")R"), HasSubstr("cannot be called"));
  EXPECT_THAT(error(global("collections", "OrderedDict") + ")\x81"), HasSubstr("operation"));
  // A name may hold anything; the message stays printable and short.
  const std::string odd = error(global("a\x1b[31m" + std::string(100000, 'x'), "y"));
  EXPECT_THAT(odd, HasSubstr("a\\x1b[31m"));
  EXPECT_LT(odd.size(), 1000u);
  EXPECT_FALSE(fs::exists(marker));
}

TEST_F(TorchHostileTest, MalformedPickles) {
  for (const std::string& body : {""s,          "0"s,
                                  "1"s,         "t"s,
                                  "u"s,         "e"s,
                                  "a"s,         "s"s,
                                  "}s"s,        "}Ns"s,
                                  "R"s,         "NR"s,
                                  "Q"s,         "b"s,
                                  "\x85"s,      "h\1"s,
                                  "j\1\0\0\0"s, "q\0"s,
                                  "\x94"s,      "}(Nu"s,
                                  "(}Ntu"s,     "N(s"s,
                                  "](a"s,       "Nb"s,
                                  "NNa"s,       "NN(u"s,
                                  "N)R"s,       "NQ"s,
                                  "(NtQ"s,      "\x93"s,
                                  "NN\x93"s,    "c"s,
                                  "ca\n"s,      "X"s,
                                  "G\0"s,       "X\xff\xff\xff\xffz"s,
                                  "\x8c\xffz"s, "\x8d\xff\xff\xff\xff\xff\xff\xff\xffz"s,
                                  "\x8a\xffz"s, "\x8a\x09\0\0\0\0\0\0\0\0\1"s,
                                  "\x95z"s,     "\x80\x06}"s,
                                  "I1\n"s,      "S'x'\n"s,
                                  "(lp0\n"s,    "\xff"s,
                                  "2"s,         "\x8f"s,
                                  "U\1x"s,      "i"s,
                                  "o"s,         "P1\n"s,
                                  "\x82\1"s}) {
    EXPECT_THAT(error(body), HasSubstr("pickle")) << body;
  }
  EXPECT_THAT(bytes_error(zip_bytes(records(""))), HasSubstr("pickle ends"));
  EXPECT_THAT(bytes_error(zip_bytes(records("\x80\x02}"))), HasSubstr("pickle ends"));
}

TEST_F(TorchHostileTest, OtherRootsAndValues) {
  EXPECT_THAT(error("N"), HasSubstr("holds a None"));
  EXPECT_THAT(error("]"), HasSubstr("holds a list"));
  EXPECT_THAT(error(tensor(storage("0", 4), 0, {4}, {1})), HasSubstr("holds a tensor"));
  EXPECT_THAT(error("}K\1Ns"), HasSubstr("a key is of type int"));
  EXPECT_THAT(error(dict({{"lr", "G" + raw(uint64_t{0})}})),
              AllOf(HasSubstr("'lr'"), HasSubstr("float")));
  EXPECT_THAT(error(dict({{"s", storage("0", 4)}})), HasSubstr("storage"));
  const std::string value = tensor(storage("0", 4), 0, {4}, {1});
  EXPECT_THAT(error(dict({{"w", value}, {"w", value}})),
              AllOf(HasSubstr("'w'"), HasSubstr("twice")));
  EXPECT_TRUE(open("}")->tensors().empty());
}

TEST_F(TorchHostileTest, TensorsOutsideTheirStorage) {
  const int64_t huge = int64_t{1} << 62;
  const std::string four = storage("0", 4);
  EXPECT_THAT(tensor_error(tensor(four, 0, {5}, {1})),
              AllOf(HasSubstr("'w'"), HasSubstr("beyond")));
  EXPECT_THAT(tensor_error(tensor(four, 1, {4}, {1})), HasSubstr("beyond"));
  EXPECT_THAT(tensor_error(tensor(four, 4, {}, {})), HasSubstr("beyond"));
  EXPECT_THAT(tensor_error(tensor(four, 0, {2}, {4})), HasSubstr("beyond"));
  EXPECT_THAT(tensor_error(tensor(four, 0, {huge, 4}, {0, 0})), HasSubstr("beyond"));
  EXPECT_THAT(tensor_error(tensor(four, 0, {3, 3}, {huge, huge})), HasSubstr("beyond"));
  EXPECT_THAT(tensor_error(tensor(four, huge, {2}, {huge})), HasSubstr("beyond"));
  EXPECT_THAT(tensor_error(tensor(four, -1, {1}, {1})), HasSubstr("offset -1"));
  EXPECT_THAT(tensor_error(tensor(four, 0, {-1}, {1})), HasSubstr("size -1"));
  EXPECT_THAT(tensor_error(tensor(four, 3, {2}, {-1})), HasSubstr("stride -1"));
  EXPECT_THAT(tensor_error(tensor(four, 0, {2, 2}, {1})), HasSubstr("2 sizes and 1 strides"));
  EXPECT_THAT(
      tensor_error(tensor(four, 0, std::vector<int64_t>(65, 1), std::vector<int64_t>(65, 1))),
      HasSubstr("65 sizes"));
  EXPECT_THAT(tensor_error(tensor(storage("0", 5), 0, {4}, {1})),
              AllOf(HasSubstr("5 elements"), HasSubstr("16 bytes")));
  EXPECT_THAT(tensor_error(tensor(storage("0", huge), 0, {4}, {1})), HasSubstr("16 bytes"));
  EXPECT_THAT(tensor_error(tensor(storage("0", -4), 0, {4}, {1})), HasSubstr("-4 elements"));
  EXPECT_THAT(tensor_error(tensor(storage("1", 4), 0, {4}, {1})), HasSubstr("'model/data/1'"));
  EXPECT_THAT(tensor_error(tensor(storage("../0", 4), 0, {4}, {1})), HasSubstr("no record"));
  EXPECT_THAT(tensor_error(tensor(storage(std::string(1000, 'k'), 4), 0, {4}, {1})),
              HasSubstr("1000 bytes"));
  EXPECT_THAT(tensor_error(tensor(storage("0", 4, "ComplexFloatStorage"), 0, {4}, {1})),
              HasSubstr("'torch.ComplexFloatStorage'"));
  // Nothing to read, so no bounds to break.
  EXPECT_TRUE(
      open(dict({{"w", tensor(four, 0, {0, huge, huge}, {1, 1, 1})}}))->find("w")->data.empty());
}

// 16 bytes of file that claim to be terabytes, once and a little at a time.
TEST_F(TorchHostileTest, ExpandedTensorsStayInProportion) {
  const std::string four = storage("0", 4);
  EXPECT_THAT(tensor_error(tensor(four, 0, {int64_t{1} << 40}, {0})),
              AllOf(HasSubstr("'w'"), HasSubstr("copy of 4398046511104 bytes")));
  EXPECT_THAT(tensor_error(tensor(four, 0, {int64_t{1} << 61}, {0})), HasSubstr("'w'"));
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 100; ++i)
    many.emplace_back(std::to_string(i), tensor(four, 0, {1 << 20}, {0}));
  EXPECT_THAT(error(dict(many)), HasSubstr("more than the whole file could justify"));
}

TEST_F(TorchHostileTest, DeepAndEndlessValues) {
  const std::string deep_tuples = "N" + std::string(900000, '\x85');
  EXPECT_THAT(error(dict({{"w", deep_tuples}})), HasSubstr("tuple"));
  EXPECT_THAT(error(std::string(100000, '(')), HasSubstr("nested"));
  // A list that holds itself, and thirty lists of ten times the one before.
  const std::string cycle = "]q\0h\0a"s;
  EXPECT_THAT(error(dict({{"w", cycle}})), HasSubstr("list"));
  std::string bomb = "]q\0"s;
  for (char i = 1; i < 31; ++i) {
    bomb += "]q"s + i + "(";
    for (int j = 0; j < 10; ++j) bomb += "h"s + static_cast<char>(i - 1);
    bomb += "e";
  }
  EXPECT_THAT(error(dict({{"w", bomb}})), HasSubstr("list"));
  for (const std::string& body : {deep_tuples, cycle, bomb}) {
    const fs::path path = archive(body);
    EXPECT_THAT(error_of([&] { open_torch_value(path); }),
                ::testing::AnyOf(HasSubstr("deep"), HasSubstr("more than 250000 values")));
  }
  EXPECT_THAT(error(std::string(1'000'001, 'N')), HasSubstr("more than 1000000 values"));
}

TEST_F(TorchHostileTest, LongNamesAreNotMultiplied) {
  const std::string value = tensor(storage("0", 4), 0, {4}, {1}) + "q\1";
  std::string body = "}" + text(std::string(1 << 20, 'n')) + "q\0"s + value + "s";
  for (int i = 0; i < 100000; ++i) body += "h\0h\1s"s;
  EXPECT_THAT(error(body), HasSubstr("twice"));
  // A megabyte of text, a hundred times in one list.
  std::string list = text(std::string(1 << 20, 'n')) + "q\0"s + "0](";
  for (int i = 0; i < 100; ++i) list += "h\0"s;
  const fs::path texts = archive(list + "e");
  EXPECT_THAT(error_of([&] { open_torch_value(texts); }), HasSubstr("bytes of text"));
}

TEST_F(TorchHostileTest, TreesRefuseWhatIsNoPlainValue) {
  const auto tree_error = [&](const std::string& body) {
    const fs::path path = archive(body);
    return error_of([&] { open_torch_value(path); });
  };
  EXPECT_THAT(tree_error(dict({{"a", global("torch", "FloatStorage")}})),
              AllOf(HasSubstr("'a'"), HasSubstr("FloatStorage")));
  EXPECT_THAT(tree_error("}NNs"), HasSubstr("a key of the dict"));
  EXPECT_THAT(tree_error(dict({{"a", "N"}, {"a", "N"}})), HasSubstr("twice"));
  EXPECT_THAT(tree_error(dict({{std::string(600, 'k'), "N"}})), HasSubstr("longer than"));
  const auto file = open_torch_value(archive("}K\1Ns" + text("1") + "Ns"));
  EXPECT_EQ(file->root().keys.size(), 2u);
}

TEST_F(TorchHostileTest, ByteOrderAndMissingRecords) {
  auto parts = records(pickle(kGood));
  parts[1].second = "big";
  EXPECT_THAT(bytes_error(zip_bytes(parts)), AllOf(HasSubstr("byte order"), HasSubstr("'big'")));
  parts.erase(parts.begin() + 1);  // files before PyTorch 2.1 have no such record
  EXPECT_EQ(open_torch_zip(folder_.file("old.bin", zip_bytes(parts)))->tensors().size(), 1u);
  EXPECT_THAT(bytes_error(zip_bytes({{"readme.txt", "hi"}})), HasSubstr("without data.pkl"));
  EXPECT_THAT(bytes_error(zip_bytes({{"data.pkl", pickle(kGood)}})), HasSubstr("without data.pkl"));
  parts.emplace_back("model/constants.pkl", "");
  EXPECT_THAT(bytes_error(zip_bytes(parts)), HasSubstr("TorchScript"));
}

TEST_F(TorchHostileTest, Archives) {
  const auto parts = records(pickle(kGood));
  const std::string good = zip_bytes(parts);
  EXPECT_THAT(bytes_error(""), HasSubstr("0 bytes"));
  EXPECT_THAT(bytes_error("PK"), HasSubstr("not a file of torch.save"));
  EXPECT_THAT(bytes_error("PK\3\4"), HasSubstr("incomplete file"));
  EXPECT_THAT(bytes_error(good.substr(0, good.size() - 1)),
              AllOf(HasSubstr("incomplete file"), HasSubstr(std::to_string(good.size() - 1))));
  EXPECT_THAT(bytes_error(good.substr(0, good.size() / 2)), HasSubstr("interrupted download"));
  EXPECT_THAT(bytes_error(zip_bytes(parts, {.method = 8})), HasSubstr("compressed (method 8)"));
  EXPECT_THAT(bytes_error(zip_bytes(parts, {.flags = 1})), HasSubstr("encrypted"));
  auto twice = parts;
  twice.push_back(parts[2]);
  EXPECT_THAT(bytes_error(zip_bytes(twice)), AllOf(HasSubstr("'model/data/0'"), HasSubstr("two")));
  EXPECT_THAT(bytes_error("version https://git-lfs.github.com/spec/v1\nsize 9\n"),
              HasSubstr("Git LFS"));
  EXPECT_THAT(bytes_error("<html>404</html>"), HasSubstr("HTML"));
  EXPECT_THAT(bytes_error("\x80\x02}q\0."s), HasSubstr("bare Python pickle"));
  EXPECT_THAT(bytes_error("hello world"), HasSubstr("'hello wo'"));
}

// The end of the archive points at places outside it.
TEST_F(TorchHostileTest, DirectoriesThatLie) {
  const auto parts = records(pickle(kGood));
  const auto patched = [](std::string bytes, size_t from_end, const std::string& patch) {
    return bytes.replace(bytes.size() - from_end, patch.size(), patch);
  };
  const std::string good = zip_bytes(parts);
  EXPECT_THAT(bytes_error(patched(good, 6, raw(uint32_t{0xfffffff0}))), HasSubstr("outside"));
  EXPECT_THAT(bytes_error(patched(good, 10, raw(uint32_t{0xfffffff0}))), HasSubstr("outside"));
  EXPECT_THAT(bytes_error(patched(good, 6, raw(uint32_t{1}))), HasSubstr("damaged"));
  EXPECT_THAT(bytes_error(patched(good, 12, raw(uint16_t{60000}))), HasSubstr("60000"));
  const std::string big = zip_bytes(parts, {.zip64 = true});
  EXPECT_THAT(bytes_error(patched(big, 22 + 12, raw(~uint64_t{0}))), HasSubstr("zip64"));
  EXPECT_THAT(bytes_error(patched(big, 22 + 12, raw(uint64_t{0}))), HasSubstr("zip64"));
  EXPECT_THAT(bytes_error(patched(big, 22 + 20 + 8, raw(~uint64_t{0} - 8))), HasSubstr("outside"));
  EXPECT_THAT(bytes_error(patched(big, 22 + 20 + 16, raw(~uint64_t{0}))), HasSubstr("outside"));
}

}  // namespace
}  // namespace cantilever
