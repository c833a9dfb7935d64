// The wider corpus: RoBERTa's own vocabulary.

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/data/text/support.h"

namespace cantilever::test {
namespace {

namespace fs = std::filesystem;

class TokenizerCorpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* corpus = std::getenv("CANTILEVER_CORPUS");
    if (corpus == nullptr) GTEST_SKIP() << "CANTILEVER_CORPUS is not set";
    folder_ = fs::path(corpus) / "roberta";
    tokenizer_ = Tokenizer::from_folder(folder_);
  }

  static std::vector<int32_t> expected(const Json& row) {
    return row.at("input_ids").get<std::vector<int32_t>>();
  }

  fs::path folder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

TEST_F(TokenizerCorpusTest, StoredGoldens) {
  std::istringstream lines(read_file(folder_ / "golden_token_ids.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json row = parse_json(line, "golden_token_ids.jsonl");
    EXPECT_EQ(tokenizer_->encode(row.at("text").get<std::string>()), expected(row)) << line;
    ++count;
  }
  EXPECT_EQ(count, 156);
}

TEST_F(TokenizerCorpusTest, SpecialTokensInTheText) {
  const Json rows = read_json(folder_ / "special_token_text.json");
  for (const Json& row : rows) {
    EXPECT_EQ(tokenizer_->encode(row.at("text").get<std::string>()), expected(row)) << row;
  }
  EXPECT_EQ(rows.size(), 3U);
}

TEST_F(TokenizerCorpusTest, SavedFolderHasTheSameFilesAndIds) {
  const TemporaryFolder saved;
  tokenizer_->save(saved.path(), 128);
  EXPECT_EQ(read_file(saved / "merges.txt"), read_file(folder_ / "merges.txt"));
  EXPECT_EQ(read_json(saved / "vocab.json"), read_json(folder_ / "vocab.json"));
  const auto again = Tokenizer::from_folder(saved.path());
  EXPECT_EQ(again->vocab_size(), 50265);
  const std::string text = "Two cats' naps \U0001F63A  on <mask> mat, 1999.";
  EXPECT_EQ(again->encode(text), tokenizer_->encode(text));
}

}  // namespace
}  // namespace cantilever::test
