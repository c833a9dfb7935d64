#include "cantilever/data/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "cantilever/base/error.h"
#include "tests/data/text/support.h"

namespace cantilever::test {
namespace {

using Ids = std::vector<int32_t>;

TEST(TokenizerTest, MergesWordsAndKeepsBlanks) {
  const auto tokenizer = load_document(hand_document());
  EXPECT_EQ(pieces(*tokenizer, "cat on mat"), "cat|\u0120on|\u0120mat");
  EXPECT_EQ(pieces(*tokenizer, " cat"), "\u0120|cat");
  EXPECT_EQ(pieces(*tokenizer, "mat  mat"), "m|at|\u0120|\u0120mat");
  EXPECT_EQ(pieces(*tokenizer, ""), "");
  EXPECT_EQ(pieces(*tokenizer, std::string("\0cat", 4)), "\u0100|cat");
  EXPECT_EQ(tokenizer->encode(""), (Ids{0, 2}));
  EXPECT_EQ(tokenizer->vocab_size(), 4 + 256 + 9 + 1);
  EXPECT_EQ(tokenizer->bos_id(), 0);
  EXPECT_EQ(tokenizer->pad_id(), 1);
  EXPECT_EQ(tokenizer->eos_id(), 2);
  EXPECT_EQ(tokenizer->piece(269), "<mask>");
  EXPECT_EQ(tokenizer->piece(270), "");
  EXPECT_EQ(tokenizer->piece(-1), "");
}

TEST(TokenizerTest, FindsSpecialTokensInTheText) {
  const auto tokenizer = load_document(hand_document());
  EXPECT_EQ(pieces(*tokenizer, "cat <mask> on"), "cat|<mask>|\u0120on");
  EXPECT_EQ(pieces(*tokenizer, "cat\u00a0\u3000 <mask><mask>"), "cat|<mask>|<mask>");
  EXPECT_EQ(pieces(*tokenizer, "<mask>  <mask>"), "<mask>|<mask>");
  EXPECT_EQ(pieces(*tokenizer, "cat <s> </s>"), "cat|\u0120|<s>|\u0120|</s>");
  EXPECT_EQ(pieces(*tokenizer, "<<pad>>"), "<|<pad>|>");
  EXPECT_EQ(pieces(*tokenizer, "</s"), "<|/|s");
  EXPECT_EQ(pieces(*tokenizer, "<mask"), "<|m|a|s|k");
}

TEST(TokenizerTest, AddedTokensLongestFirstThenTheNormalizedOnes) {
  Json document = hand_document();
  Json& added = document["added_tokens"];
  const auto add = [&](const char* content, bool lstrip, bool rstrip, bool normalized) {
    added.push_back({{"id", 265 + static_cast<int>(added.size())},
                     {"content", content},
                     {"lstrip", lstrip},
                     {"rstrip", rstrip},
                     {"normalized", normalized},
                     {"single_word", false},
                     {"special", false}});
  };
  add("d0g", false, false, true);
  add("<x>", false, true, false);
  add("<x>d0g", false, false, false);
  const auto tokenizer = load_document(document);
  EXPECT_EQ(tokenizer->vocab_size(), 273);
  EXPECT_EQ(pieces(*tokenizer, "<x>d0g <x>  d0g"), "<x>d0g|\u0120|<x>|d0g");
  EXPECT_EQ(pieces(*tokenizer, "a d0g"), "a|\u0120|d0g");
}

TEST(TokenizerTest, BrokenUtf8BecomesTheReplacementCharacter) {
  const auto tokenizer = load_document(hand_document());
  EXPECT_EQ(tokenizer->encode("cat\xff on"), tokenizer->encode("cat\uFFFD on"));
  EXPECT_EQ(tokenizer->encode("\xed\xa0\x80<mask>\xc3"),
            tokenizer->encode("\uFFFD\uFFFD\uFFFD<mask>\uFFFD"));
}

TEST(TokenizerTest, CutsToMaxLengthAndSaysSo) {
  const auto tokenizer = load_document(hand_document());
  const Ids whole = tokenizer->encode("cat on mat");
  ASSERT_EQ(whole.size(), 5U);
  bool truncated = true;
  EXPECT_EQ(tokenizer->encode("cat on mat", 5, &truncated), whole);
  EXPECT_FALSE(truncated);
  EXPECT_EQ(tokenizer->encode("cat on mat", 4, &truncated), (Ids{0, whole[1], whole[2], 2}));
  EXPECT_TRUE(truncated);
  EXPECT_EQ(tokenizer->encode("cat on mat", 2, &truncated), (Ids{0, 2}));
  EXPECT_TRUE(truncated);
  EXPECT_EQ(tokenizer->encode("<mask><mask>", 3, &truncated), (Ids{0, 269, 2}));
  EXPECT_TRUE(truncated);
  EXPECT_EQ(tokenizer->encode("", 2, &truncated), (Ids{0, 2}));
  EXPECT_FALSE(truncated);
  EXPECT_THROW(tokenizer->encode("cat", 1), Error);
  EXPECT_THROW(tokenizer->encode("cat", -1), Error);
}

TEST(TokenizerTest, PadsIdsAndMask) {
  const auto tokenizer = load_document(hand_document());
  const Ids whole = tokenizer->encode("cat on mat");
  std::vector<int64_t> ids(7, -9);
  std::vector<int64_t> mask(7, -9);
  EXPECT_EQ(tokenizer->encode_into("cat on mat", ids, mask), 5);
  EXPECT_EQ(ids, (std::vector<int64_t>{0, whole[1], whole[2], whole[3], 2, 1, 1}));
  EXPECT_EQ(mask, (std::vector<int64_t>{1, 1, 1, 1, 1, 0, 0}));
  ids.resize(3);
  mask.resize(3);
  EXPECT_EQ(tokenizer->encode_into("cat on mat", ids, mask), 3);
  EXPECT_EQ(ids, (std::vector<int64_t>{0, whole[1], 2}));
  EXPECT_EQ(mask, (std::vector<int64_t>{1, 1, 1}));
  ids.resize(1);
  mask.resize(1);
  EXPECT_THROW(tokenizer->encode_into("cat", ids, mask), Error);
}

TEST(TokenizerTest, PrefixBlankStandsBeforeEveryStretch) {
  Json document = hand_document();
  document["pre_tokenizer"]["add_prefix_space"] = true;
  const auto tokenizer = load_document(document);
  EXPECT_EQ(pieces(*tokenizer, "mat"), "\u0120mat");
  EXPECT_EQ(pieces(*tokenizer, " mat"), "\u0120mat");
  EXPECT_EQ(pieces(*tokenizer, "mat<s>mat"), "\u0120mat|<s>|\u0120mat");
  EXPECT_EQ(pieces(*tokenizer, ""), "");
}

TEST(TokenizerTest, IgnoreMergesTakesWholeWordsFirst) {
  Json document = hand_document({{"c", "a"}, {"a", "t"}, {"c", "at"}});
  EXPECT_EQ(pieces(*load_document(document), "cat"), "ca|t");
  document["model"]["ignore_merges"] = true;
  EXPECT_EQ(pieces(*load_document(document), "cat"), "cat");
}

// The cache of one thread serves several tokenizers; words of every length around its limits.
TEST(TokenizerTest, TwoTokenizersOnOneThreadDoNotMixUp) {
  const auto first = load_document(hand_document());
  const auto second = load_document(hand_document({}));
  std::string word;
  for (int length = 1; length < 40; ++length) {
    word += "cat"[length % 3];
    for (int i = 0; i < 3; ++i) {
      const std::string text = word + " " + word;
      EXPECT_EQ(second->encode(text).size(), 2U + 2U * word.size() + 1U);
      EXPECT_LT(first->encode("cat" + text).size(), second->encode("cat" + text).size());
    }
  }
}

TEST(TokenizerTest, WordsThatDifferInTrailingZerosAreDifferent) {
  const auto tokenizer = load_document(hand_document());
  for (size_t zeros = 0; zeros < 30; ++zeros) {
    const std::string text = "!" + std::string(zeros, '\0');
    EXPECT_EQ(tokenizer->encode(text).size(), 3 + zeros);
  }
}

TEST(TokenizerTest, ThreadsGetWhatOneThreadGets) {
  const auto tokenizer = load_document(hand_document());
  std::mt19937 draw(3);
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (size_t n = draw() % 40; n > 0; --n) text += "caton mt'<>\xc3"[draw() % 12];
    texts.push_back(text);
  }
  std::vector<Ids> expected;
  for (const std::string& text : texts) expected.push_back(tokenizer->encode(text));
  std::vector<std::vector<Ids>> got(4);
  std::vector<std::thread> threads;
  for (auto& ids : got) {
    threads.emplace_back([&] {
      for (const std::string& text : texts) ids.push_back(tokenizer->encode(text));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& ids : got) EXPECT_EQ(ids, expected);
}

TEST(TokenizerTest, AHundredThousandLettersAreQuick) {
  const auto tokenizer = load_document(hand_document());
  std::mt19937 draw(4);
  std::string mixed;
  while (mixed.size() < 1000000) mixed += "catonm"[draw() % 6];
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GT(tokenizer->encode(mixed.substr(0, 100000)).size(), 30000U);
  EXPECT_EQ(tokenizer->encode(std::string(100000, 'a')).size(), 100002U);
  EXPECT_GT(tokenizer->encode(mixed).size(), 300000U);
  EXPECT_EQ(tokenizer->encode(std::string(1000000, '<')).size(), 1000002U);
  EXPECT_EQ(tokenizer->encode(std::string(100000, ' ')).size(), 100002U);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(),
            20.0);  // with sanitizers on a busy machine; a quadratic loop needs hours
}

}  // namespace
}  // namespace cantilever::test
