// Golden files with random bytes changed and with every possible end cut off: each must either load
// or give an Error, never anything else. Run under ASan and UBSan this finds reads outside the
// file.

#include <sys/mman.h>

#include <random>

#include "cantilever/io/json.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/io/torch_zip.h"
#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;

struct Tally {
  int loaded = 0;
  int refused = 0;
};

using Opener = std::function<void(const fs::path&)>;

void touch_all(const WeightFile& file) {
  for (const TensorView& tensor : file.tensors()) touch(tensor);
}

void touch_tree(const TorchValue& value) {
  if (value.kind == TorchValue::Kind::kTensor) touch(value.tensor);
  for (const TorchValue& item : value.items) touch_tree(item);
}

const Opener kSafetensors = [](const fs::path& path) { touch_all(*open_safetensors(path)); };
const Opener kTorchZip = [](const fs::path& path) { touch_all(*open_torch_zip(path)); };
const Opener kTorchValue = [](const fs::path& path) { touch_tree(open_torch_value(path)->root()); };

// A file in memory: thousands of small files on disk would take minutes.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : descriptor_(::memfd_create("fuzzed", 0)) {
    EXPECT_GE(descriptor_, 0);
    EXPECT_EQ(::write(descriptor_, content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  fs::path path() const { return concat("/proc/self/fd/", descriptor_); }

 private:
  int descriptor_;
};

class IoFuzz : public ::testing::Test {
 protected:
  void attempt(const std::string& content, const Opener& open, Tally& tally) {
    const MemoryFile file(content);
    try {
      open(file.path());
      ++tally.loaded;
    } catch (const Error&) {
      ++tally.refused;
    }
  }

  // One to four bytes anywhere become others: random, a neighbour by one bit, or a telling value.
  Tally flip(const std::string& original, const Opener& open, int rounds) {
    std::mt19937_64 random(20240611);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    Tally tally;
    for (int round = 0; round < rounds; ++round) {
      std::string content = original;
      const size_t changes = 1 + below(4);
      for (size_t i = 0; i < changes; ++i) {
        char& byte = content[below(content.size())];
        constexpr char kTelling[] = {'\0', '\xff', '\x7f', '\x80', '\1', '[', '{', '(', 'R', '.'};
        const size_t kind = below(3);
        if (kind == 0) byte = static_cast<char>(below(256));
        if (kind == 1) byte = static_cast<char>(byte ^ (1 << below(8)));
        if (kind == 2) byte = kTelling[below(sizeof kTelling)];
      }
      attempt(content, open, tally);
    }
    return tally;
  }

  Tally cut(const std::string& original, const Opener& open) {
    Tally tally;
    for (size_t size = 0; size < original.size(); ++size) {
      attempt(original.substr(0, size), open, tally);
    }
    return tally;
  }
};

TEST_F(IoFuzz, SafetensorsFlipped) {
  const Tally tally = flip(slurp(golden("state_dict.safetensors")), kSafetensors, 4000);
  EXPECT_GT(tally.refused, 1000);
  EXPECT_GT(tally.loaded, 100);
}

TEST_F(IoFuzz, TorchZipFlipped) {
  const Tally tally = flip(slurp(golden("state_dict.bin")), kTorchZip, 4000);
  EXPECT_GT(tally.refused, 500);
  EXPECT_GT(tally.loaded, 100);
  flip(slurp(golden("protocol4.bin")), kTorchZip, 2000);
}

TEST_F(IoFuzz, TorchValueFlipped) {
  const Tally tally = flip(slurp(golden("optimizer.pt")), kTorchValue, 4000);
  EXPECT_GT(tally.refused, 500);
  EXPECT_GT(tally.loaded, 100);
  flip(slurp(golden("module.pt")), kTorchValue, 1000);
  flip(slurp(golden("script.pt")), kTorchValue, 1000);
}

// The pickle alone, where most of the changes meet an opcode and not padding.
TEST_F(IoFuzz, PicklesFlipped) {
  const std::string file = slurp(golden("optimizer.pt"));
  const size_t begin = file.find("\x80\x02");
  const size_t end = file.find("PK\x07\x08", begin);
  ASSERT_NE(end, file.npos);
  const std::string pickle = file.substr(begin, end - begin);
  const Opener open = [&](const fs::path& path) {
    const MemoryFile archive(
        zip_bytes({{"a/data.pkl", slurp(path)}, {"a/data/0", std::string(4, '\1')}}));
    kTorchValue(archive.path());
  };
  const Tally tally = flip(pickle, open, 4000);
  EXPECT_GT(tally.refused, 1000);
}

// A file cut anywhere is never whole.
TEST_F(IoFuzz, EveryCutIsRefused) {
  EXPECT_EQ(cut(slurp(golden("state_dict.safetensors")), kSafetensors).loaded, 0);
  EXPECT_EQ(cut(slurp(golden("protocol4.bin")), kTorchZip).loaded, 0);
  EXPECT_EQ(cut(slurp(golden("optimizer.pt")), kTorchValue).loaded, 0);
}

TEST_F(IoFuzz, JsonFlippedAndCut) {
  const std::string text =
      "{\"a\": [1, -2.5e-3, NaN, -Infinity, true, null, \"x\\u00e9\\ud83d\\ude00\\n\"], "
      "\"b\": {\"c\": {}, \"d\": []}, \"e\": 18446744073709551616, \"\xc3\xa9\": "
      "\"\xf0\x9f\x98\x80\"}";
  const Opener open = [](const fs::path& path) {
    const Json value = read_json(path);
    // What was read can be written, and reads back as what was written.
    const std::string written = dump_json(value, 2, false, true);
    EXPECT_EQ(dump_json(parse_json(written, "again"), 2, false, true), written);
  };
  const Tally tally = flip(text, open, 10000);
  EXPECT_GT(tally.refused, 1000);
  EXPECT_GT(tally.loaded, 100);
  cut(text, open);
}

}  // namespace
}  // namespace cantilever
