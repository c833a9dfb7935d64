#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cantilever/base/error.h"
#include "tests/data/text/support.h"

namespace cantilever::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kText = "cat on mat <mask> x <s>\u00e9 12";

void write(const TemporaryFolder& folder, const char* name, const Json& value) {
  write_plainly(folder / name, dump_json(value));
}

std::string error_of(const TemporaryFolder& folder) {
  try {
    Tokenizer::from_folder(folder.path());
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

std::string error_of(const Json& document) {
  const TemporaryFolder folder;
  write(folder, "tokenizer.json", document);
  return error_of(folder);
}

// vocab.json and merges.txt of a document.
void write_old_files(const TemporaryFolder& folder, const Json& document) {
  write(folder, "vocab.json", document["model"]["vocab"]);
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : document["model"]["merges"]) {
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  }
  write_plainly(folder / "merges.txt", merges);
}

TEST(TokenizerFilesTest, AllLayoutsGiveTheSameIds) {
  Json document = hand_document();
  const std::vector<int32_t> expected = load_document(document)->encode(kText);
  const TemporaryFolder old_files;
  write_old_files(old_files, document);
  EXPECT_EQ(Tokenizer::from_folder(old_files.path())->encode(kText), expected);
  for (Json& merge : document["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  EXPECT_EQ(load_document(document)->encode(kText), expected);
  document["post_processor"] = Json::parse(R"({"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
      {"SpecialToken": {"id": "</s>", "type_id": 0}}], "pair": [], "special_tokens": {}})");
  EXPECT_EQ(load_document(document)->encode(kText), expected);
  document["model"].erase("type");
  EXPECT_EQ(load_document(document)->encode(kText), expected);
}

TEST(TokenizerFilesTest, MergesFileMayHaveWindowsLineEnds) {
  const TemporaryFolder folder;
  write_old_files(folder, hand_document());
  std::string merges = read_file(folder / "merges.txt");
  for (size_t at = 0; (at = merges.find('\n', at)) != std::string::npos; at += 2) {
    merges.insert(at, 1, '\r');
  }
  write_plainly(folder / "merges.txt", merges + "\r\n");
  EXPECT_EQ(Tokenizer::from_folder(folder.path())->encode(kText),
            load_document(hand_document())->encode(kText));
}

TEST(TokenizerFilesTest, ConfigFilesNameTheSpecialTokens) {
  const TemporaryFolder folder;
  Json document = hand_document();
  document["added_tokens"].erase(4);  // <mask> is then added by its name
  write(folder, "tokenizer.json", document);
  write(folder, "tokenizer_config.json",
        {{"tokenizer_class", "RobertaTokenizer"},
         {"pad_token", "<unk>"},
         {"mask_token", {{"content", "<mask>"}, {"lstrip", true}}}});
  const auto tokenizer = Tokenizer::from_folder(folder.path());
  EXPECT_EQ(tokenizer->pad_id(), 3);
  EXPECT_EQ(tokenizer->encode("cat <mask>").size(), 4U);
  write(folder, "special_tokens_map.json", {{"pad_token", {{"content", "</s>"}}}});
  EXPECT_EQ(Tokenizer::from_folder(folder.path())->pad_id(), 2);  // as Transformers 5.24
}

TEST(TokenizerFilesTest, ConfigOfRobertasClassOverrulesTokenizerJson) {
  const TemporaryFolder folder;
  Json document = hand_document();
  document["pre_tokenizer"]["add_prefix_space"] = true;
  document["post_processor"] = nullptr;
  write(folder, "tokenizer.json", document);
  EXPECT_THAT(error_of(folder), HasSubstr("post_processor"));
  write(folder, "tokenizer_config.json", {{"tokenizer_class", "RobertaTokenizer"}});
  EXPECT_EQ(pieces(*Tokenizer::from_folder(folder.path()), "mat"), "m|at");
  write(folder, "tokenizer_config.json",
        {{"tokenizer_class", "RobertaTokenizerFast"}, {"add_prefix_space", true}});
  EXPECT_EQ(pieces(*Tokenizer::from_folder(folder.path()), "mat"), "\u0120mat");
}

TEST(TokenizerFilesTest, AddedTokensBehindTheVocabulary) {
  const TemporaryFolder folder;
  write_old_files(folder, hand_document());
  write(folder, "added_tokens.json", {{"<new>", 270}});
  EXPECT_EQ(pieces(*Tokenizer::from_folder(folder.path()), "a<new>"), "a|<new>");
  write(folder, "tokenizer_config.json",
        {{"added_tokens_decoder", {{"270", {{"content", "<newer>"}, {"rstrip", true}}}}}});
  const auto tokenizer = Tokenizer::from_folder(folder.path());
  EXPECT_EQ(pieces(*tokenizer, "<newer>  a<new>"), "<newer>|a|<|n|e|w|>");
  const TemporaryFolder saved;
  tokenizer->save(saved.path());
  EXPECT_EQ(read_json(saved / "added_tokens.json"), Json({{"<newer>", 270}}));
  EXPECT_EQ(Tokenizer::from_folder(saved.path())->encode("<newer>  a"),
            tokenizer->encode("<newer>  a"));
}

TEST(TokenizerFilesTest, SavedFolderReadsBackFromEitherLayout) {
  const auto tokenizer = train_on({"a cat on a mat", "the cat's mat caf\u00e9 <mask>"}, 300);
  const TemporaryFolder folder;
  tokenizer->save(folder.path());
  const auto again = Tokenizer::from_folder(folder.path());
  EXPECT_EQ(again->encode(kText), tokenizer->encode(kText));
  const std::string json = read_file(folder / "tokenizer.json");
  again->save(folder.path());
  EXPECT_EQ(read_file(folder / "tokenizer.json"), json);
  EXPECT_TRUE(read_json(folder / "tokenizer.json")["truncation"].is_null());
  std::filesystem::remove(folder / "tokenizer.json");
  EXPECT_EQ(Tokenizer::from_folder(folder.path())->encode(kText), tokenizer->encode(kText));
}

TEST(TokenizerFilesTest, SavingKeepsWhatItDoesNotKnow) {
  Json document = hand_document();
  document["x_new_setting"] = {{"a", 1}};
  document["model"]["y"] = "z";
  document["added_tokens"][4]["note"] = "kept";
  for (Json& merge : document["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  document["post_processor"]["add_prefix_space"] = false;
  const TemporaryFolder folder;
  write(folder, "tokenizer.json", document);
  write(folder, "tokenizer_config.json",
        {{"tokenizer_class", "RobertaTokenizer"}, {"model_max_length", 77}});
  const TemporaryFolder saved;
  Tokenizer::from_folder(folder.path())->save(saved.path());
  EXPECT_EQ(read_json(saved / "tokenizer.json"), document);
  EXPECT_EQ(read_file(saved / "tokenizer_config.json"),
            dump_json(read_json(folder / "tokenizer_config.json"), 2, true) + "\n");
  Tokenizer::from_folder(folder.path())->save(saved.path(), 32);
  const Json padded = read_json(saved / "tokenizer.json");
  EXPECT_EQ(padded["truncation"]["max_length"], 32);
  EXPECT_EQ(padded["padding"]["strategy"]["Fixed"], 32);
  EXPECT_EQ(padded["padding"]["pad_id"], 1);
  Tokenizer::from_folder(saved.path())->save(saved.path());
  EXPECT_EQ(read_json(saved / "tokenizer.json"), padded);
}

struct BadDocument {
  const char* pointer;
  const char* value;  // JSON
  const char* words;  // in the message
};

TEST(TokenizerFilesTest, BadDocumentsAreNamed) {
  const std::vector<BadDocument> cases = {
      {"/model/type", R"("WordPiece")", "WordPiece"},
      {"/model/type", R"("Unigram")", "Unigram"},
      {"/model", "7", "no model"},
      {"/model/vocab", "[]", "array"},
      {"/model/vocab", "{}", "empty"},
      {"/model/vocab/cat", "1.5", "'cat' is '1.5'"},
      {"/model/vocab/cat", R"("7")", "whole numbers"},
      {"/model/vocab/cat", "-1", "whole numbers"},
      {"/model/vocab/cat", "null", "whole numbers"},
      {"/model/vocab/cat", "4000000000", "whole numbers"},
      {"/model/vocab/cat", "2147483647", "gaps"},
      {"/model/vocab/cat", "300", "gaps"},
      {"/model/vocab/cat", "5", "same id 5"},
      {"/model/merges", "{}", "model.merges"},
      {"/model/merges/1", "7", "entry 2"},
      {"/model/merges/1", R"(["c"])", "entry 2"},
      {"/model/merges/1", R"("ca")", "entry 2"},
      {"/model/merges/1", R"("c a t")", "entry 2"},
      {"/model/merges/1", R"("q absent")", "'absent'"},
      {"/model/merges/1", R"(["q", "q"])", "'qq'"},
      {"/model/dropout", "0.1", "model.dropout"},
      {"/model/continuing_subword_prefix", R"("##")", "continuing_subword_prefix"},
      {"/model/end_of_word_suffix", R"("</w>")", "end_of_word_suffix"},
      {"/model/byte_fallback", "true", "byte_fallback"},
      {"/model/unk_token", R"("[UNK]")", "[UNK]"},
      {"/model/fuse_unk", "3", "fuse_unk"},
      {"/normalizer", R"({"type": "NFC"})", "NFC"},
      {"/pre_tokenizer", "null", "ByteLevel"},
      {"/pre_tokenizer/type", R"("Whitespace")", "Whitespace"},
      {"/pre_tokenizer/use_regex", "false", "use_regex"},
      {"/post_processor", "null", "post_processor"},
      {"/post_processor/type", R"("BertProcessing")", "BertProcessing"},
      {"/post_processor/cls", R"(["[CLS]", 0])", "[CLS]"},
      {"/added_tokens", "{}", "added_tokens"},
      {"/added_tokens/4/id", "17", "id 17"},
      {"/added_tokens/4/id", "null", "whole numbers"},
      {"/added_tokens/4/content", R"("")", "no content"},
      {"/added_tokens/4/content", R"("<s>")", "<s>"},
      {"/added_tokens/4/single_word", "true", "single word"},
      {"/added_tokens/4", "4", "added token"},
  };
  for (const BadDocument& bad : cases) {
    Json document = hand_document();
    document[Json::json_pointer(bad.pointer)] = Json::parse(bad.value);
    EXPECT_THAT(error_of(document), AllOf(HasSubstr("tokenizer.json"), HasSubstr(bad.words)))
        << bad.pointer << " = " << bad.value;
  }
}

TEST(TokenizerFilesTest, MissingSpecialTokensAreNamed) {
  for (const char* special : {"<s>", "<pad>", "</s>"}) {
    Json document = hand_document();
    const Json id = document["model"]["vocab"][special];
    document["model"]["vocab"].erase(special);
    document["model"]["vocab"]["[other]"] = id;
    for (Json& token : document["added_tokens"]) {
      if (token["content"] == special) token["content"] = "[other]";
    }
    EXPECT_THAT(error_of(document), AllOf(HasSubstr(special), HasSubstr("not in the vocabulary")));
  }
}

TEST(TokenizerFilesTest, BrokenAndMissingFilesAreNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of(folder), HasSubstr("neither tokenizer.json nor vocab.json"));
  write_plainly(folder / "tokenizer.json", "{\"model\": ");
  EXPECT_THAT(error_of(folder), HasSubstr("tokenizer.json"));
  write_plainly(folder / "tokenizer.json", std::string(100000, '['));
  EXPECT_THAT(error_of(folder), HasSubstr("tokenizer.json"));
  write_plainly(folder / "tokenizer.json", "[]");
  EXPECT_THAT(error_of(folder), HasSubstr("array"));
  write_plainly(folder / "tokenizer.json",
                "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') +
                    "\nsize 2108619\n");
  EXPECT_THAT(error_of(folder), HasSubstr("LFS"));
  write(folder, "tokenizer.json", hand_document());
  write_plainly(folder / "tokenizer_config.json", "[1]");
  EXPECT_THAT(error_of(folder), HasSubstr("tokenizer_config.json"));
  write(folder, "tokenizer_config.json", {{"pad_token", 5}});
  EXPECT_THAT(error_of(folder), HasSubstr("pad_token"));
  write(folder, "tokenizer_config.json", {{"mask_token", "[MASK]"}});
  EXPECT_THAT(error_of(folder), AllOf(HasSubstr("[MASK]"), HasSubstr("mask_token")));
  EXPECT_THROW(Tokenizer::from_folder(folder / "absent"), Error);
}

TEST(TokenizerFilesTest, BadOldFilesAreNamed) {
  const TemporaryFolder folder;
  write_old_files(folder, hand_document());
  write_plainly(folder / "merges.txt", "#version: 0.2\nc a\nca t x\n");
  EXPECT_THAT(error_of(folder), HasSubstr("merges.txt: line 3"));
  write_plainly(folder / "merges.txt", "#version: 0.2\nc a\nc absent\n");
  EXPECT_THAT(error_of(folder), HasSubstr("'absent'"));
  write_plainly(folder / "merges.txt", "");
  write_plainly(folder / "vocab.json", R"({"<s>": 0, "<s>": 1})");
  EXPECT_THAT(error_of(folder), HasSubstr("vocab.json"));
  write_plainly(folder / "vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2})");
  EXPECT_THAT(error_of(folder), HasSubstr("none of the 256 bytes"));
}

// Whatever happens to a byte: it loads and encodes, or it is an Error.
TEST(TokenizerFilesTest, SurvivesFlippedBytes) {
  const std::string good = dump_json(hand_document(), -1);
  std::mt19937 draw(11);
  const TemporaryFolder folder;
  int loaded = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string bad = good;
    for (int n = 0; n <= i % 3; ++n) {
      const size_t at = draw() % bad.size();
      switch (draw() % 4) {
        case 0:
          bad[at] = static_cast<char>(bad[at] ^ (1 << draw() % 8));
          break;
        case 1:
          bad[at] = static_cast<char>(draw());
          break;
        case 2:
          bad.erase(at, 1 + draw() % 20);
          break;
        default:
          bad.insert(at, bad.substr(draw() % bad.size(), 20));
      }
    }
    write_plainly(folder / "tokenizer.json", bad);
    try {
      const auto tokenizer = Tokenizer::from_folder(folder.path());
      for (const int32_t id : tokenizer->encode(kText)) EXPECT_NE(tokenizer->piece(id), "");
      ++loaded;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(loaded, 0);
  EXPECT_LT(loaded, 1500);
}

}  // namespace
}  // namespace cantilever::test
