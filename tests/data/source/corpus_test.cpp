// Every table of the wider corpus: the right rows, or a named error.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using testing::HasSubstr;

struct Expectation {
  const char* path;  // below datasets/
  const char* image_column;
  const char* caption_column;
  const char* error;  // words of the error when opening; "" when it opens
  int rows = 0;
  int captions = 0;            // rows whose caption can be read
  int good = 0;                // rows that can be read whole
  const char* row_error = "";  // words of the first error of a row
};

// Rows, nulls and types as the corpus's manifest states them (and DuckDB reads them).
const Expectation kExpectations[] = {
    {"made/struct_snappy.parquet", "image", "caption", "", 64, 64, 64},
    {"made/arrow_rs_dictionary_snappy.parquet", "image", "caption", "", 64, 64, 64},
    {"made/arrow_rs_dictionary_snappy.parquet", "image", "label", "", 64, 64, 64},
    {"made/blob_column_uncompressed.parquet", "image", "caption", "", 64, 64, 64},
    {"made/list_captions_zstd.parquet", "image", "captions", "", 64, 64, 64},
    {"made/nulls_gzip.parquet", "image", "caption", "", 64, 54, 42, "null"},
    {"made/other_names_extra_columns.parquet", "img", "text", "", 64, 64, 64},
    {"made/other_names_extra_columns.parquet", "image", "text", "--image_column img"},
    {"made/other_names_extra_columns.parquet", "img", "ts", "'ts' holds timestamp"},
    {"made/int_caption.parquet", "image", "caption", "'caption' holds int64"},
    {"made/empty_table.parquet", "image", "caption", "no rows"},
    {"made/polars_zstd_paths.parquet", "file_name", "caption", "", 64, 64, 0, "is not there"},
    {"made/truncated_footer.parquet", "image", "caption", "incomplete"},
    {"made/zero_bytes.parquet", "image", "caption", "0 bytes"},
    {"made/git_lfs_pointer.parquet", "image", "caption", "Git LFS pointer"},
    {"made/imagefolder_jsonl", "image", "text", "", 16, 16, 16},
    {"made/imagefolder_jsonl/metadata_bom_crlf.jsonl", "file_name", "text", "", 16, 16, 16},
    {"made/flickr_style/captions.txt", "image", "caption", "", 60, 60, 60},
    {"made/flickr_style/captions.token", "image", "caption", "", 60, 60, 60},
    {"made/coco_dangling.json", "image", "caption", "", 100, 100, 0, "is not there"},
    {"made/wds", "image", "caption", "", 42, 42, 42},
    {"made/wds/00000.tar", "image", "caption", "", 16, 16, 16},
    {"made/wds/{00000..00001}.tar", "png", "json", "", 32, 32, 32},
    {"made/wds/00001.tar", "image", "caption", "", 16, 16, 16},
    {"made/wds/00001.tar", "png", "txt", "", 16, 16, 16},
    {"made/wds/00001.tar", "jpg", "txt", "no sample has a picture with the extension 'jpg'"},
    {"made/wds/00001.tar", "png", "title", "", 16, 0, 0, "no 'title'"},
    {"made/wds/00002.tar.gz", "image", "caption", "", 10, 10, 10},
    {"made/polars_file.arrow", "image", "caption", "'image'"},
    {"made/polars_file.arrow", "file_name", "caption", "", 64, 64, 0, "is not there"},
    {"made/save_to_disk", "image", "caption", "", 64, 64, 64},
    {"made/save_to_disk/train", "image", "caption", "", 64, 64, 64},
    {"made/save_to_disk/train/data-00000-of-00001.arrow", "image", "caption", "", 64, 64, 64},
    {"found/metadata.csv", "image", "text", "", 2, 2, 2},
    {"found/compressed.tar", "image", "caption", "no sample has a picture"},
    {"found/sample_image.parquet", "image", "txt", "URLs are not fetched"},
    {"found/sample_image.parquet", "url", "txt", "", 2, 2, 0, "is a URL"},
    {"found/test_bbox.parquet", "url", "txt", "", 1, 1, 0, "is a URL"},
    {"found/test_bbox.parquet", "url", "bboxes", "list"},
    {"found/alltypes_plain.snappy.parquet", "string_col", "date_string_col", "holds binary"},
    {"found/binary.parquet", "foo", "foo", "holds binary"},
    {"found/nested_lists.snappy.parquet", "a", "b", "'a' holds list"},
    {"found/nulls.snappy.parquet", "b_struct", "b_struct", "'b_struct' holds struct"},
    {"found/datapage_v2.snappy.parquet", "a", "a", "", 5, 4, 0, "is not there"},
    {"found/page_v2_empty_compressed.parquet", "integer_column", "integer_column", "holds int32"},
    {"found/delta_length_byte_array.parquet", "FRUIT", "FRUIT", "", 1000, 1000, 0, "is not there"},
    {"found/delta_encoding_required_column.parquet", "c_customer_id:", "c_first_name:", "", 100,
     100, 0, "is not there"},
    {"found/large_string_map.brotli.parquet", "arr", "arr", "'arr' holds map"},
    {"found/hadoop_lz4_compressed.parquet", "c1", "c1", "holds binary"},
    {"found/concatenated_gzip_members.parquet", "long_col", "long_col", "holds uint64"},
    {"found/old_list_structure.parquet", "a", "a", "holds list"},
    {"found/repeated_primitive_no_list.parquet", "Int32_list", "String_list", "holds list"},
    {"found/rle-dict-uncompressed-corrupt-checksum.parquet", "binary_field", "binary_field",
     "holds binary"},
    {"found/datapage_v1-corrupt-checksum.parquet", "a", "b", "holds int32"},
    {"found/overflow_i16_page_cnt.parquet", "inc", "inc", "holds bool"},
    {"found/unknown-logical-type.parquet", "column with unknown type", "column with known type", "",
     3, 3, 3},
    {"found/int32_with_null_pages.parquet", "int32_field", "int32_field", "holds int32"},
    {"found/binary_truncated_min_max.parquet", "binary_no_truncation", "utf8_no_truncation", "", 12,
     12, 12},
    // Its damaged column is another one: what is asked for is sound.
    {"found/ARROW-GH-41317.parquet", "string", "large_string", "", 5, 4, 0, "is not there"},
    {"found/ARROW-GH-41317.parquet", "string", "timestamp_us_no_tz", "holds timestamp"},
    {"found/ARROW-GH-43605.parquet", "min_fl", "min_fl", "holds uint16"},
    {"found/PARQUET-1481.parquet", "x", "x", "not readable as Parquet"},
    {"found/ARROW-RS-GH-6229-LEVELS.parquet", "outer", "outer", "holds list"},
    {"found/struct_strings.parquet", "inner", "inner", "holds struct"},
    {"found/duckdb2557.parquet", "stringArray", "stringArray", "holds list"},
    {"found/duckdb4442.parquet", "call_type", "skills", "", 1, 1, 0, "is not there"},
    {"found/issue23.parquet", "currency", "menu", "'menu' holds struct"},
};

class Corpus : public testing::Test {
 protected:
  void SetUp() override {
    const char* corpus = std::getenv("CANTILEVER_CORPUS");
    if (corpus == nullptr) GTEST_SKIP() << "CANTILEVER_CORPUS is not set";
    folder_ = corpus;
    set_log_level(LogLevel::kError);
  }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  std::filesystem::path folder_;
};

void check(const std::filesystem::path& folder, const Expectation& expected) {
  const std::filesystem::path path = folder / expected.path;
  const std::string name = path.filename().string();
  std::shared_ptr<ExampleSource> source;
  const std::string error = test::error_of([&] {
    source =
        open_source(path, test::source_options(expected.image_column, expected.caption_column));
  });
  if (*expected.error != '\0') {
    EXPECT_THAT(error, HasSubstr(expected.error));
    EXPECT_THAT(error, HasSubstr(name));
    return;
  }
  ASSERT_EQ(error, "");
  int captions = 0;
  int good = 0;
  std::string first_error;
  for (int64_t row = 0; row < source->size(); ++row) {
    captions += test::error_of([&] { source->caption(row); }).empty() ? 1 : 0;
    const std::string row_error = test::error_of([&] {
      const Example example = source->get(row);
      EXPECT_EQ(example.row, row);
      EXPECT_FALSE(example.encoded.empty());
    });
    good += row_error.empty() ? 1 : 0;
    if (first_error.empty()) first_error = row_error;
  }
  EXPECT_EQ(source->size(), expected.rows);
  EXPECT_EQ(captions, expected.captions);
  EXPECT_EQ(good, expected.good);
  EXPECT_THAT(first_error, HasSubstr(expected.row_error));
}

TEST_F(Corpus, EveryTableGivesItsRowsOrANamedError) {
  for (const Expectation& expected : kExpectations) {
    SCOPED_TRACE(concat(expected.path, " ", expected.image_column, " ", expected.caption_column));
    check(folder_ / "datasets", expected);
  }
}

// The odd rows as the table of an image folder: what can be used, and why the others cannot.
TEST_F(Corpus, OddRowsOfAnImageFolder) {
  test::TemporaryFolder set;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder_ / "datasets/made/imagefolder_jsonl")) {
    const std::filesystem::path name = entry.path().filename();
    if (name.extension() == ".png") std::filesystem::copy_file(entry.path(), set / name);
    if (name == "metadata_odd_rows.jsonl") {
      std::filesystem::copy_file(entry.path(), set / "metadata.jsonl");
    }
  }
  const auto source = open_source(set.path(), test::source_options("image", "text"));
  ASSERT_EQ(source->size(), 19);
  const std::map<int64_t, const char*> bad = {
      {1, "null"},           {4, "not valid JSON"}, {5, "int"},     {6, "is not there"},
      {7, "not valid JSON"}, {8, "outside"},        {9, "outside"}, {10, "no 'image'"},
      {11, "no 'text'"},     {17, "not valid JSON"}};
  for (int64_t row = 0; row < source->size(); ++row) {
    const std::string error = test::error_of([&] { source->get(row); });
    const auto expected = bad.find(row);
    if (expected == bad.end()) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_THAT(error, HasSubstr(expected->second));
      EXPECT_THAT(error, HasSubstr(concat("line ", row + 1)));
    }
  }
}

// Its pictures lie in two folders of the corpus.
TEST_F(Corpus, CocoWithItsPictures) {
  SourceOptions options = test::source_options();
  options.image_root = (folder_ / "captions").string();
  const auto all = open_source(folder_ / "datasets/made/coco_dangling.json", options);
  ASSERT_EQ(all->size(), 100);
  for (int64_t row = 0; row < all->size(); ++row) {
    EXPECT_EQ(test::error_of([&] { all->get(row); }), "");
  }
  options.caption_choice = CaptionChoice::kRandom;
  const auto pictures = open_source(folder_ / "datasets/made/coco_dangling.json", options);
  ASSERT_EQ(pictures->size(), 20);
  for (int64_t row = 0; row < pictures->size(); ++row) EXPECT_EQ(pictures->caption_count(row), 5);
}

// The five captions of a picture, by both layouts of Flickr8k.
TEST_F(Corpus, Flickr8kByPicture) {
  SourceOptions options = test::source_options("image");
  options.caption_choice = CaptionChoice::kFirst;
  for (const char* name : {"captions.token", "captions.txt"}) {
    const auto source = open_source(folder_ / "datasets/made/flickr_style" / name, options);
    ASSERT_EQ(source->size(), 12) << name;
    std::string caption;
    source->read_caption(0, 1, caption);
    EXPECT_EQ(caption, "Times. (1)");
  }
}

// Lists of captions in Parquet as rows of their own.
TEST_F(Corpus, ParquetListsAsRows) {
  SourceOptions options = test::source_options("image", "captions");
  options.caption_choice = CaptionChoice::kAll;
  const auto source = open_source(folder_ / "datasets/made/list_captions_zstd.parquet", options);
  ASSERT_EQ(source->size(), 192);
  options.caption_choice = CaptionChoice::kFirst;
  const auto rows = open_source(folder_ / "datasets/made/list_captions_zstd.parquet", options);
  ASSERT_EQ(rows->size(), 64);
  EXPECT_EQ(source->caption(3), rows->caption(1));
  EXPECT_EQ(source->get(191).encoded.size(), rows->get(63).encoded.size());
}

TEST_F(Corpus, KindsOfPictures) {
  const std::vector<std::pair<const char*, ImageKind>> kinds = {
      {"struct_snappy.parquet", ImageKind::kImageFeature},
      {"save_to_disk", ImageKind::kImageFeature},
      {"arrow_rs_dictionary_snappy.parquet", ImageKind::kBytes},
      {"blob_column_uncompressed.parquet", ImageKind::kBytes}};
  for (const auto& [name, kind] : kinds) {
    const auto source =
        open_source(folder_ / "datasets/made" / name, test::source_options("image"));
    EXPECT_EQ(source->get(0).image_kind, kind) << name;
  }
}

TEST_F(Corpus, ShardedSetOfTheHub) {
  SourceOptions options = test::source_options("image");
  options.dataset_name = (folder_ / "datasets/made/sharded").string();
  const auto splits = open_splits(options);
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits.at("train")->size(), 64);
  EXPECT_EQ(splits.at("validation")->size(), 7);
  // The shards are the halves of the other set, in order.
  const auto whole = open_source(folder_ / "datasets/made/struct_snappy.parquet", options);
  for (int64_t row = 0; row < 64; ++row) {
    EXPECT_EQ(splits.at("train")->caption(row), whole->caption(row));
  }
}

TEST_F(Corpus, CaptionsAsJsonAndCsvAgree) {
  const auto json = open_source(folder_ / "captions/captions.jsonl", test::source_options());
  const auto csv =
      open_source(folder_ / "captions/captions.csv", test::source_options("file_name", "text"));
  ASSERT_EQ(json->size(), 2987);
  ASSERT_EQ(csv->size(), 2987);
  for (int64_t row = 0; row < json->size(); ++row) {
    const Example a = json->get(row);
    const Example b = csv->get(row);
    EXPECT_EQ(a.caption, b.caption) << row;
    EXPECT_EQ(a.image_path, b.image_path) << row;
  }
}

}  // namespace
}  // namespace cantilever
