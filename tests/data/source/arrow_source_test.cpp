#include "cantilever/data/source/arrow_source.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "tests/data/source/mapped_files.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::array_of;
using test::error_of;
using test::picture_structs;
using test::require;
using test::source_options;
using test::strings;
using test::Texts;
using testing::AllOf;
using testing::HasSubstr;

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

struct Format {
  bool stream = true;
  arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED;
  bool legacy = false;  // without the marker before each length
};

std::vector<Format> all_formats() {
  std::vector<Format> formats;
  for (const bool stream : {true, false}) {
    for (const auto codec : {arrow::Compression::UNCOMPRESSED, arrow::Compression::LZ4_FRAME,
                             arrow::Compression::ZSTD}) {
      formats.push_back({stream, codec, false});
    }
  }
  formats.push_back({true, arrow::Compression::UNCOMPRESSED, true});
  return formats;
}

// Writes the batches (each the arrays of its columns).
void write(const std::filesystem::path& path, const std::vector<std::string>& names,
           const std::vector<Arrays>& batches, const Format& format,
           const std::string& huggingface = "") {
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::remove(path);
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (size_t i = 0; i < names.size(); ++i) {
    fields.push_back(arrow::field(names[i], batches.front()[i]->type()));
  }
  std::shared_ptr<arrow::KeyValueMetadata> metadata;
  if (!huggingface.empty()) metadata = arrow::key_value_metadata({{"huggingface", huggingface}});
  const auto schema = arrow::schema(fields, metadata);
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;  // TSan does not see the locks of Arrow's own threads
  options.write_legacy_ipc_format = format.legacy;
  options.emit_dictionary_deltas = true;
  if (format.codec != arrow::Compression::UNCOMPRESSED) {
    options.codec = arrow::util::Codec::Create(format.codec).ValueOrDie();
  }
  const auto writer = format.stream
                          ? arrow::ipc::MakeStreamWriter(file, schema, options).ValueOrDie()
                          : arrow::ipc::MakeFileWriter(file, schema, options).ValueOrDie();
  for (const Arrays& arrays : batches) {
    require(writer->WriteRecordBatch(
        *arrow::RecordBatch::Make(schema, arrays.front()->length(), arrays)));
  }
  require(writer->Close());
  require(file->Close());
}

// The rows a file holds, as "picture|path|caption" or "error".
std::vector<std::string> rows_of(const ExampleSource& source) {
  std::vector<std::string> rows(static_cast<size_t>(source.size()));
  for (int64_t i = 0; i < source.size(); ++i) {
    const int64_t row = i * 7 % source.size() == 0 && i > 0 ? i : i * 7 % source.size();
    Example example;
    const std::string error = error_of([&] { source.read(row, 0, example); });
    rows[static_cast<size_t>(row)] =
        error.empty()
            ? concat(test::picture_of(example), "|", example.image_path, "|", example.caption)
            : "error";
  }
  return rows;
}

std::shared_ptr<arrow::Array> coded(const std::vector<int8_t>& codes, const Texts& values) {
  arrow::Int8Builder builder;
  require(builder.AppendValues(codes));
  return arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), arrow::utf8()),
                                            builder.Finish().ValueOrDie(), strings(values))
      .ValueOrDie();
}

class ArrowSource : public testing::Test {
 protected:
  std::shared_ptr<ExampleSource> open(const std::string& image_column = "image") {
    return open_source(path_, source_options(image_column));
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "rows.arrow";
};

TEST_F(ArrowSource, BatchesInEveryFormat) {
  const std::string large(5000, 'L');
  for (const Format& format : all_formats()) {
    SCOPED_TRACE(concat(format.stream, " ", static_cast<int>(format.codec), " ", format.legacy));
    write(path_, {"image", "other", "caption"},
          {{picture_structs({"a", std::nullopt, large}, {"pa", std::nullopt, std::nullopt}),
            strings({"o", "o", "o"}), strings({"ca", "cb", ""})},
           {picture_structs({}, {}), strings({}), strings({})},
           {picture_structs({"d"}, {"pd"}), strings({"o"}), strings({std::nullopt})},
           {picture_structs({"e"}, {"pe"}), strings({"o"}), strings({"ce"})}},
          format);
    const auto source = open();
    ASSERT_EQ(source->size(), 5);
    EXPECT_THAT(rows_of(*source),
                testing::ElementsAre("a|pa|ca", "error", concat(large, "||"), "error", "e|pe|ce"));
    EXPECT_THAT(error_of([&] { source->get(1); }),
                AllOf(HasSubstr("rows.arrow, row 1"), HasSubstr("neither bytes nor a path")));
    EXPECT_THAT(error_of([&] { source->get(3); }),
                AllOf(HasSubstr("rows.arrow, row 3"), HasSubstr("null, there is no caption")));
    EXPECT_EQ(source->get(0).image_kind, ImageKind::kBytes);
    EXPECT_THROW(source->get(5), Error);
    const bool plain = format.codec == arrow::Compression::UNCOMPRESSED;
    EXPECT_EQ(test::lies_in_mapped_file(source->get(2).encoded, path_), plain);
  }
}

// Feather since version 2 is Arrow IPC under another name.
TEST_F(ArrowSource, FeatherFilesAreRead) {
  const auto path = folder_ / "rows.feather";
  write(path, {"image", "caption"}, {{picture_structs({"a"}, {"pa"}), strings({"ca"})}},
        all_formats().front());
  for (const auto& named : {path, folder_.path()}) {
    EXPECT_THAT(rows_of(*open_source(named, source_options("image"))),
                testing::ElementsAre("a|pa|ca"));
  }
}

TEST_F(ArrowSource, EveryTypeOfText) {
  const Texts texts = {"a", std::nullopt, "a text longer than twelve bytes", ""};
  const auto pictures = array_of<arrow::BinaryBuilder>({"p", "q", "r", "s"});
  for (const Format& format : all_formats()) {
    for (const auto& captions : {strings(texts), array_of<arrow::LargeStringBuilder>(texts),
                                 array_of<arrow::StringViewBuilder>(texts)}) {
      write(path_, {"image", "caption"},
            {{pictures, captions}, {pictures->Slice(1), captions->Slice(1)}}, format);
      EXPECT_THAT(rows_of(*open()),
                  testing::ElementsAre("p||a", "error", "r||a text longer than twelve bytes", "s||",
                                       "error", "r||a text longer than twelve bytes", "s||"));
    }
  }
}

TEST_F(ArrowSource, EveryTypeOfPicture) {
  const Texts texts = {"abc", std::nullopt, "def"};
  arrow::FixedSizeBinaryBuilder fixed(arrow::fixed_size_binary(3));
  for (const auto& value : texts) require(value ? fixed.Append(*value) : fixed.AppendNull());
  const auto fixed_pictures = fixed.Finish().ValueOrDie();
  for (const Format& format : all_formats()) {
    for (const auto& pictures :
         {array_of<arrow::BinaryBuilder>(texts), array_of<arrow::LargeBinaryBuilder>(texts),
          array_of<arrow::BinaryViewBuilder>(texts), picture_structs(texts, {"", "", ""}),
          fixed_pictures}) {
      write(path_, {"image", "caption"}, {{pictures, strings({"1", "2", "3"})}}, format);
      const auto source = open();
      EXPECT_EQ(test::picture_of(source->get(2)), "def");
      EXPECT_EQ(test::picture_of(source->get(0)), "abc");
    }
  }
}

TEST_F(ArrowSource, DictionariesGrowAndAreReplaced) {
  const auto pictures = array_of<arrow::BinaryBuilder>({"p", "q"});
  const std::vector<Arrays> batches = {{pictures, coded({0, 1}, {"a", "b"})},
                                       {pictures, coded({2, 0}, {"a", "b", "c"})},  // a delta
                                       {pictures, coded({0, 1}, {"x", "y"})},       // another one
                                       {pictures, coded({1, 0}, {"x", "y"})},
                                       {pictures, coded({2, 1}, {"x", "y", "z"})}};
  for (const Format& format : all_formats()) {
    const bool replaces = format.stream;  // the file format has no replacement
    write(path_, {"image", "caption"},
          replaces ? batches : std::vector<Arrays>(batches.begin(), batches.begin() + 2), format);
    std::vector<std::string> expected = {"p||a", "q||b", "p||c", "q||a"};
    for (const char* row : {"p||x", "q||y", "p||y", "q||x", "p||z", "q||y"}) {
      if (replaces) expected.emplace_back(row);
    }
    EXPECT_EQ(rows_of(*open()), expected);
  }
}

template <class Builder>
std::shared_ptr<arrow::Array> lists() {
  const auto values = std::make_shared<arrow::StringBuilder>();
  Builder builder(arrow::default_memory_pool(), values);
  const auto append = [&](const Texts& texts) {
    require(builder.Append(true, static_cast<int64_t>(texts.size())));
    for (const auto& text : texts) require(text ? values->Append(*text) : values->AppendNull());
  };
  append({"a", "b", "c"});
  require(builder.AppendNull());
  append({});
  append({std::nullopt, "d"});
  return builder.Finish().ValueOrDie();
}

TEST_F(ArrowSource, ListsOfCaptions) {
  const auto pictures = array_of<arrow::BinaryBuilder>({"p", "q", "r", "s"});
  for (const Format& format : all_formats()) {
    if (format.legacy) continue;
    for (const auto& captions :
         {lists<arrow::ListBuilder>(), lists<arrow::LargeListBuilder>(),
          lists<arrow::ListViewBuilder>(), lists<arrow::LargeListViewBuilder>()}) {
      SCOPED_TRACE(captions->type()->ToString());
      write(path_, {"image", "caption"},
            {{pictures->Slice(3), captions->Slice(3)}, {pictures, captions}}, format);
      const auto source = open();
      std::string caption;
      for (const auto& [row, draw, text] :
           std::vector<std::tuple<int, uint64_t, const char*>>{{1, 0, "a"},
                                                               {1, 2, "c"},
                                                               {1, 3, "a"},
                                                               {1, UINT64_MAX, "a"},
                                                               {4, 1, "d"},
                                                               {0, 7, "d"}}) {
        source->read_caption(row, draw, caption);
        EXPECT_EQ(caption, text);
      }
      EXPECT_EQ(source->caption_count(1), 3);
      EXPECT_EQ(source->caption_count(2), 0);
      EXPECT_EQ(source->caption_count(3), 0);
      EXPECT_EQ(source->caption_count(4), 2);
      for (const int row : {2, 3}) {
        EXPECT_THAT(error_of([&] { source->get(row); }),
                    AllOf(HasSubstr(concat("row ", row)), HasSubstr("empty or missing")));
      }
      EXPECT_THAT(error_of([&] { source->get(4); }), AllOf(HasSubstr("row 4"), HasSubstr("null")));
    }
  }
}

TEST_F(ArrowSource, MetadataOfDatasetsMakeAnImageFeature) {
  const Arrays rows = {picture_structs({"x"}, {"p"}), strings({"c"})};
  write(path_, {"image", "caption"}, {rows}, {},
        R"({"info": {"features": {"image": {"_type": "Image"}}}})");
  EXPECT_EQ(open()->get(0).image_kind, ImageKind::kImageFeature);
  write(path_, {"image", "caption"}, {rows}, {},
        R"({"info": {"features": {"image": {"decode": false, "_type": "Image"}}}})");
  EXPECT_EQ(open()->get(0).image_kind, ImageKind::kBytes);
  write(path_, {"image", "caption"}, {rows}, {});
  EXPECT_EQ(open()->get(0).image_kind, ImageKind::kBytes);
  test::write_text(folder_ / "dataset_info.json", R"({"features": {"image": {"_type": "Image"}}})");
  EXPECT_EQ(open()->get(0).image_kind, ImageKind::kImageFeature);
}

TEST_F(ArrowSource, FilesOfAnotherKindAreNamed) {
  const std::vector<std::pair<std::string, const char*>> files = {
      {"", "0 bytes"},
      {"PAR1xxxxxxxxPAR1", "Parquet"},
      {"FEA1", "Feather version 1"},
      {"hello, this is a text", "not an Arrow file"},
      {std::string(8, '\0'), "no schema"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:"
       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\nsize 12345\n",
       "Git LFS pointer"}};
  for (const auto& [content, words] : files) {
    test::replace_file(path_, content);
    EXPECT_THAT(error_of([&] { open(); }), AllOf(HasSubstr("rows.arrow"), HasSubstr(words)));
  }
}

TEST_F(ArrowSource, CutOffFilesAreNamed) {
  const Arrays rows = {picture_structs({"a", "b"}, {"p", "q"}), strings({"c", "d"})};
  for (const bool stream : {true, false}) {
    write(path_, {"image", "caption"}, {rows, rows}, {stream});
    const std::string whole = read_file(path_);
    int opened = 0;
    for (size_t size = 0; size < whole.size(); size += 5) {
      test::replace_file(path_, whole.substr(0, size));
      const std::string error = error_of([&] { rows_of(*open()); });
      // A stream that ends between two messages cannot be told from a whole one.
      opened += error.empty() ? 1 : 0;
      if (!error.empty()) {
        EXPECT_THAT(error, HasSubstr("rows.arrow"));
      }
    }
    EXPECT_LE(opened, stream ? 3 : 0);
    test::replace_file(path_, whole.substr(0, whole.size() - (stream ? 20 : 1)));
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("incomplete"));
  }
}

TEST_F(ArrowSource, DamagedFilesNeverCrash) {
  const auto pictures = picture_structs({"a", std::nullopt, "c"}, {"pa", "pb", std::nullopt});
  const auto views = array_of<arrow::StringViewBuilder>({"c1", "a text of more than twelve", "c3"});
  const Arrays lists_of = {pictures->Slice(0, 3), lists<arrow::ListBuilder>()->Slice(1)};
  set_log_level(LogLevel::kError);
  std::mt19937 random(7);
  int refused = 0;
  for (const Format& format : all_formats()) {
    for (const std::vector<Arrays>& batches :
         {std::vector<Arrays>{{pictures, views}},
          std::vector<Arrays>{{pictures, coded({0, 1, 0}, {"x", "y"})},
                              {pictures, coded({0, 2, 0}, {"x", "y", "z"})}},
          std::vector<Arrays>{lists_of}}) {
      write(path_, {"image", "caption"}, batches, format);
      const std::string whole = read_file(path_);
      for (int i = 0; i < 250; ++i) {
        std::string damaged = whole;
        for (int flips = 0; flips < 1 + i % 3; ++flips) {
          damaged[random() % damaged.size()] = static_cast<char>(i % 2 == 0          ? random()
                                                                 : random() % 2 == 0 ? 0xff
                                                                                     : 0x7f);
        }
        test::replace_file(path_, damaged);
        const std::string error = error_of([&] {
          const auto source = open();
          std::string failures;
          int64_t sum = 0;
          for (int64_t row = 0; row < std::min<int64_t>(source->size(), 20); ++row) {
            failures += error_of([&] {
              for (const std::byte byte : source->get(row).encoded) {
                sum += std::to_integer<int>(byte);
              }
            });
          }
          EXPECT_GE(sum, 0);
          CANTILEVER_CHECK(failures.empty(), failures);
        });
        refused += error.empty() ? 0 : 1;
        EXPECT_TRUE(error.empty() || error.find("rows.arrow") != std::string::npos) << error;
      }
    }
  }
  set_log_level(LogLevel::kInfo);
  EXPECT_GT(refused, 1000);
}

TEST_F(ArrowSource, SeveralThreadsReadAtOnce) {
  std::vector<Arrays> batches;
  for (int batch = 0; batch < 8; ++batch) {
    Texts texts;
    for (int row = 0; row < 8; ++row) texts.push_back(std::to_string(batch * 8 + row));
    batches.push_back({picture_structs(texts, texts), coded({0, 1, 2, 3, 4, 5, 6, 7}, texts)});
  }
  for (const Format& format : all_formats()) {
    if (!format.stream) continue;  // dictionaries are replaced
    write(path_, {"image", "caption"}, batches, format);
    const auto source = open();
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Example example;
        for (int i = 0; i < 64; ++i) {
          const int row = (i * 7 + t) % 64;
          source->read(row, 0, example);
          right += test::picture_of(example) == std::to_string(row) &&
                           example.caption == std::to_string(row)
                       ? 1
                       : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, 4 * 64);
  }
}

class SavedDataset : public testing::Test {
 protected:
  void save(const std::string& folder, int shards, const std::string& more = "") {
    std::string files;
    for (int shard = 0; shard < shards; ++shard) {
      const std::string name = concat("data-0000", shard, "-of-0000", shards, ".arrow");
      write(folder_ / folder / name, {"image", "caption"},
            {{picture_structs({concat(folder, shard)}, {"p"}), strings({"c"})}}, {});
      // In the order of state.json, which here is not that of the names.
      files = concat(R"({"filename": ")", name, "\"}", files.empty() ? "" : ", ", files);
    }
    test::write_text(folder_ / folder / "state.json",
                     concat(R"({"_data_files": [)", files, R"(], "_split": null)", more, "}"));
  }

  std::map<std::string, std::shared_ptr<ExampleSource>> open() {
    SourceOptions options = source_options("image");
    options.dataset_name = folder_.path().string();
    return open_splits(options);
  }

  test::TemporaryFolder folder_;
};

TEST_F(SavedDataset, DictOfSplits) {
  test::write_text(folder_ / "dataset_dict.json", R"({"splits": ["train", "test"]})");
  save("train", 3);
  save("test", 1);
  save("forgotten", 1);
  const auto splits = open();
  ASSERT_EQ(splits.size(), 2U);
  ASSERT_EQ(splits.at("train")->size(), 3);
  EXPECT_EQ(test::picture_of(splits.at("train")->get(0)), "train2");
  EXPECT_EQ(test::picture_of(splits.at("train")->get(2)), "train0");
  EXPECT_EQ(test::picture_of(splits.at("test")->get(0)), "test0");
}

TEST_F(SavedDataset, OneSet) {
  save(".", 3);
  const auto splits = open();  // without test it is cut
  EXPECT_EQ(splits.size(), 3U);
  EXPECT_EQ(open_source(folder_.path(), source_options("image"))->size(), 3);
}

TEST_F(SavedDataset, WhatIsMissingIsNamed) {
  save(".", 1, R"(, "_indices_data_files": [{"filename": "indices.arrow"}])");
  EXPECT_THAT(error_of([&] { open(); }),
              AllOf(HasSubstr("state.json"), HasSubstr("flatten_indices")));
  save(".", 1, R"(, "_indices_data_files": null)");
  EXPECT_EQ(error_of([&] { open(); }), "");
  std::filesystem::remove(folder_ / "data-00000-of-00001.arrow");
  EXPECT_THAT(error_of([&] { open(); }),
              AllOf(HasSubstr("state.json"), HasSubstr("data-00000-of-00001.arrow is not there")));
  for (const char* state :
       {"[]", "{}", "{broken", R"({"_data_files": []})", R"({"_data_files": [{"filename": 3}]})",
        R"({"_data_files": [{"filename": "../x.arrow"}]})",
        R"({"_data_files": [{"filename": "/etc/passwd"}]})"}) {
    test::write_text(folder_ / "state.json", state);
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("state.json")) << state;
  }
  for (const char* dict :
       {"{}", R"({"splits": []})", R"({"splits": [".."]})", R"({"splits": ["nowhere"]})"}) {
    test::write_text(folder_ / "dataset_dict.json", dict);
    EXPECT_NE(error_of([&] { open(); }), "") << dict;
  }
}

}  // namespace
}  // namespace cantilever
