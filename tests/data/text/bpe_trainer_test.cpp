#include "cantilever/data/text/bpe_trainer.h"

#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "tests/data/text/support.h"

namespace cantilever::test {
namespace {

const std::vector<std::string> kCaptions = {"a cat on a mat",      "the cat's mat",
                                            "aaaa aaa aa",         "mat mat mat 12 121",
                                            "caf\u00e9 caf\u00e9", "\U0001F44D\U0001F44D"};

// tokenizers 0.23.3: BpeTrainer with vocab_size 284 and the four leading special tokens.
const Merges kLearned = {{"a", "t"},
                         {"a", "a"},
                         {"m", "at"},
                         {"\u0120", "mat"},
                         {"\u0120", "c"},
                         {"1", "2"},
                         {"a", "f"},
                         {"\u00c3", "\u00a9"},
                         {"\u00f0", "\u0141"},
                         {"\u0120", "aa"},
                         {"\u0120", "12"},
                         {"\u0133", "\u012f"},
                         {"\u0120c", "at"},
                         {"af", "\u00c3\u00a9"},
                         {"\u00f0\u0141", "\u0133\u012f"},
                         {"'", "s"},
                         {"c", "af\u00c3\u00a9"},
                         {"h", "e"},
                         {"o", "n"},
                         {"t", "he"},
                         {"\u0120", "a"},
                         {"\u0120", "on"},
                         {"aa", "aa"},
                         {"\u0120c", "af\u00c3\u00a9"}};

TEST(BpeTrainerTest, LearnsTheMergesOfTheLibrary) {
  const auto tokenizer = train_on(kCaptions, 285);
  EXPECT_EQ(tokenizer->vocab_size(), 285);
  EXPECT_EQ(tokenizer->piece(0), "<s>");
  EXPECT_EQ(tokenizer->piece(1), "<pad>");
  EXPECT_EQ(tokenizer->piece(2), "</s>");
  EXPECT_EQ(tokenizer->piece(3), "<unk>");
  EXPECT_EQ(tokenizer->piece(4), "!");
  EXPECT_EQ(tokenizer->piece(192), "\u0100");
  EXPECT_EQ(tokenizer->piece(224), "\u0120");
  EXPECT_EQ(tokenizer->piece(284), "<mask>");
  for (size_t i = 0; i < kLearned.size(); ++i) {
    EXPECT_EQ(tokenizer->piece(260 + static_cast<int32_t>(i)),
              kLearned[i].first + kLearned[i].second);
  }
  const TemporaryFolder folder;
  tokenizer->save(folder.path());
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : kLearned) merges += left + " " + right + "\n";
  EXPECT_EQ(read_file(folder / "merges.txt"), merges);
}

TEST(BpeTrainerTest, StopsWhenNothingIsLeftToMerge) {
  EXPECT_EQ(train_on({"ab"}, 5000)->vocab_size(), 4 + 256 + 1 + 1);
  EXPECT_EQ(train_on({}, 5000)->vocab_size(), 261);
}

TEST(BpeTrainerTest, SpecialTokensInCaptionsAreText) {
  const auto tokenizer = train_on({"<mask><mask><s>", "<pad> <pad>"}, 300);
  EXPECT_EQ(tokenizer->piece(0), "<s>");
  EXPECT_EQ(tokenizer->piece(static_cast<int32_t>(tokenizer->vocab_size()) - 1), "<mask>");
  EXPECT_EQ(pieces(*tokenizer, "a<mask>"), "a|<mask>");
}

TEST(BpeTrainerTest, TakesBrokenUtf8) {
  const auto tokenizer = train_on({"\xff\xff\xff\xff", "\xc3"}, 262);
  EXPECT_EQ(tokenizer->piece(260), "\u00bf\u00bd");  // the last two bytes of U+FFFD
}

TEST(BpeTrainerTest, AsksForRoomForTheBytes) {
  EXPECT_THROW(train_on(kCaptions, 260), Error);
  EXPECT_EQ(train_on(kCaptions, 261)->vocab_size(), 261);
}

}  // namespace
}  // namespace cantilever::test
