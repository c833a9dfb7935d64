// The files of the wider corpus, each judged by the column right_behaviour of its MANIFEST.tsv.

#include <map>
#include <sstream>

#include "cantilever/io/safetensors.h"
#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using ::testing::HasSubstr;

struct Row {
  std::string file;
  uint64_t bytes;
  std::string right_behaviour;
};

fs::path corpus_folder() {
  const char* root = std::getenv("CANTILEVER_CORPUS");
  return root == nullptr || *root == '\0' ? fs::path() : fs::path(root) / "safetensors";
}

std::vector<Row> read_manifest(const fs::path& path) {
  std::istringstream lines(slurp(path));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "file\tbytes\twhat\tsource\tlicence\tright_behaviour");
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    EXPECT_EQ(cells.size(), 6u) << line;
    if (cells.size() == 6) rows.push_back({cells[0], std::stoull(cells[1]), cells[5]});
  }
  return rows;
}

// What the manifest asks for in words, as text that the message must hold; every bad file is here.
const std::map<std::string, std::vector<std::string>> kDemands = {
    {"error: incomplete file; names file, expected and found size",
     {"incomplete file", "expected 80 bytes", "found 72"}},
    {"error: header too large; no allocation", {"header too large", "4611686018427387904"}},
    {"error naming the file", {"0 bytes"}},
    {"error: overlapping offsets", {"overlapping offsets", "'a'", "'b'"}},
    {"error (format forbids) - or documented tolerance", {"after the last tensor", "forbids"}},
    {"error, no crash", {"overflows 64 bits", "'a'"}},
    {"error naming tensor and dtype", {"tensor 'a'", "'F37'"}},
    {"error or ignored, documented", {"__metadata__", "'step'", "strings only"}},
    {"error that says it looks like a PyTorch .bin/.pt file",
     {"looks like a PyTorch .bin/.pt file"}},
};

const std::map<std::string, std::vector<std::string>> kDemandsByFile = {
    {"bad_not_json.safetensors", {"not valid JSON"}},
    {"bad_reversed_offset.safetensors", {"[4, 0] end before they begin", "'a'"}},
};

void check_good(const Row& row, const WeightFile& file) {
  const auto floats = [&](const char* name) {
    const TensorView* tensor = file.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    return tensor == nullptr ? std::vector<float>() : values_of<float>(*tensor);
  };
  using Floats = std::vector<float>;
  if (row.right_behaviour == "loads: a.weight[1][2]=6, a.bias=[0.5,-0.5,0]") {
    EXPECT_EQ(file.find("a.weight")->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(floats("a.weight").at(1 * 3 + 2), 6.0f);
    EXPECT_EQ(floats("a.bias"), (Floats{0.5f, -0.5f, 0.0f}));
    EXPECT_EQ(file.metadata().at("format"), "pt");
  } else if (row.right_behaviour == "a=1, z=2") {
    EXPECT_EQ(floats("a"), (Floats{1.0f}));
    EXPECT_EQ(floats("z"), (Floats{2.0f}));
  } else if (row.right_behaviour == "t=9") {
    EXPECT_EQ(floats("t"), (Floats{9.0f}));
  } else if (row.right_behaviour == "extra buffer ignored with at most a note; not an error") {
    const TensorView* ids = file.find("text_model.embeddings.position_ids");
    ASSERT_NE(ids, nullptr);
    EXPECT_EQ(ids->dtype, DType::kI64);
    EXPECT_EQ(values_of<int64_t>(*ids), (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(floats("logit_scale").size(), 1u);
  } else {
    ADD_FAILURE() << row.file << ": no check for '" << row.right_behaviour << "'";
  }
}

void check_bad(const Row& row, const fs::path& path) {
  const std::string message = error_of([&] { open_safetensors(path); });
  EXPECT_THAT(message, HasSubstr(row.file));
  auto demands = kDemands.find(row.right_behaviour);
  if (demands == kDemands.end()) demands = kDemandsByFile.find(row.file);
  ASSERT_TRUE(demands != kDemands.end() && demands != kDemandsByFile.end())
      << row.file << ": no check for '" << row.right_behaviour << "'";
  for (const std::string& text : demands->second) EXPECT_THAT(message, HasSubstr(text)) << row.file;
}

TEST(SafetensorsCorpus, EveryFileAsTheManifestSays) {
  const fs::path folder = corpus_folder();
  if (folder.empty()) GTEST_SKIP() << "CANTILEVER_CORPUS is not set";
  const std::vector<Row> rows = read_manifest(folder / "MANIFEST.tsv");
  EXPECT_GE(rows.size(), 15u);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.file);
    ASSERT_EQ(fs::file_size(folder / row.file), row.bytes);
    if (row.file.starts_with("ok_")) {
      check_good(row, *open_safetensors(folder / row.file));
    } else {
      ASSERT_TRUE(row.file.starts_with("bad_"));
      check_bad(row, folder / row.file);
    }
  }
}

}  // namespace
}  // namespace cantilever
