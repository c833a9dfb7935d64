// The small parts that the commands stand on.

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/cli/config_overrides.h"
#include "cantilever/cli/cpus.h"
#include "cantilever/cli/failure.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/ranking.h"
#include "cantilever/cli/row_range.h"
#include "cantilever/cli/version.h"

namespace cantilever {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

template <class Exception>
Failure failure_of(const Exception& exception) {
  return describe_failure(std::make_exception_ptr(exception));
}

TEST(Failure, OurOwnErrorsAreShownAsTheyAre) {
  EXPECT_EQ(failure_of(Error("a: b")).message, "a: b");
  EXPECT_EQ(failure_of(Error("a")).exit_status, 1);
  EXPECT_EQ(failure_of(UsageError("a")).exit_status, 2);
  EXPECT_THAT(failure_of(InternalError("a")).message, HasSubstr("please report"));
}

TEST(Failure, IsOneLineWithoutControlBytes) {
  EXPECT_EQ(failure_of(Error("a\n  b\t\x1b[31m c \n")).message, "a b \\x1b[31m c");
}

TEST(Failure, TorchIsNamedWithoutItsStack) {
  std::exception_ptr caught;
  try {
    at::mm(at::ones({2, 3}), at::ones({2, 3}));
  } catch (...) {
    caught = std::current_exception();
  }
  const Failure failure = describe_failure(caught);
  EXPECT_THAT(failure.message, testing::StartsWith("LibTorch: mat1 and mat2 shapes"));
  EXPECT_THAT(failure.message, Not(HasSubstr("frame #")));
  EXPECT_EQ(failure.type, "c10::Error");
}

TEST(Failure, OutOfMemorySaysWhatToDo) {
  EXPECT_THAT(failure_of(std::bad_alloc()).message, HasSubstr("--per_device_train_batch_size"));
  std::exception_ptr caught;
  try {
    at::empty({int64_t{1} << 50});
  } catch (...) {
    caught = std::current_exception();
  }
  ASSERT_NE(caught, nullptr);
  EXPECT_THAT(describe_failure(caught).message,
              testing::StartsWith("out of memory: you tried to allocate 4503599627370496 bytes"));
}

TEST(Failure, FileSystemErrorsNamePathAndReason) {
  std::exception_ptr caught;
  try {
    static_cast<void>(std::filesystem::file_size("no/such/file"));
  } catch (...) {
    caught = std::current_exception();
  }
  EXPECT_EQ(describe_failure(caught).message, "cannot use no/such/file: No such file or directory");
}

TEST(Failure, EverythingElseIsAMistakeOfOurs) {
  EXPECT_THAT(failure_of(std::out_of_range("x")).message,
              HasSubstr("std::out_of_range: x; this is"));
  EXPECT_THAT(failure_of(42).message, HasSubstr("no known type"));
}

TEST(ParseRows, RangesAndSingleRows) {
  EXPECT_THAT(parse_rows("0:3", 10), ElementsAre(0, 1, 2));
  EXPECT_THAT(parse_rows("7", 10), ElementsAre(7));
  EXPECT_THAT(parse_rows("8:", 10), ElementsAre(8, 9));
  EXPECT_THAT(parse_rows(":2", 10), ElementsAre(0, 1));
  EXPECT_THAT(parse_rows("8:99", 10), ElementsAre(8, 9));
  EXPECT_THAT(parse_rows("1,0,4:6", 10), ElementsAre(1, 0, 4, 5));
  EXPECT_EQ(parse_rows("", 10).size(), 10U);
  EXPECT_TRUE(parse_rows("5:2", 10).empty());
}

TEST(ParseRows, RefusesEverythingElse) {
  for (const char* text :
       {"a", "1:b", "-1", "1;2", "1,,2", "1:2:3", "10", "99999999999999999999"}) {
    EXPECT_THROW(parse_rows(text, 10), UsageError) << text;
  }
}

TEST(ConfigOverrides, ChangeWhatIsThere) {
  Json config = parse_json(
      R"({"hidden_size": 1, "link_tower_type": "add", "text_config": {"vocab_size": 5}})", "test");
  apply_config_overrides(
      {"hidden_size=64", "link_tower_type=scaled_add", "text_config.vocab_size=7"}, config);
  EXPECT_EQ(config, parse_json(R"({"hidden_size": 64, "link_tower_type": "scaled_add",
                                   "text_config": {"vocab_size": 7}})",
                               "test"));
}

TEST(ConfigOverrides, RefuseAKeyThatIsNotThere) {
  Json config = parse_json(R"({"hidden_size": 1, "text_config": {"vocab_size": 5}})", "test");
  for (const char* text :
       {"hiddensize=2", "vocab_size=2", "text_config.hidden_size=1", "text_config=1", "hidden_size",
        "=1", "vision_config.x=1", "hidden_size.x=1"}) {
    EXPECT_THROW(apply_config_overrides({text}, config), UsageError) << text;
  }
}

TEST(Cpus, ThreadsAreThoseAskedFor) {
  const FlagTable& table = train_flag_table();
  EXPECT_EQ(thread_count(parse_flags(table, {"--threads", "3"})), 3);
  ::setenv("OMP_NUM_THREADS", "5", 1);
  EXPECT_EQ(thread_count(parse_flags(table, {})), 5);
  EXPECT_EQ(thread_count(parse_flags(table, {"--threads", "2"})), 2);
  for (const char* odd : {"", "0", "-3", "many"}) {
    ::setenv("OMP_NUM_THREADS", odd, 1);
    EXPECT_EQ(thread_count(parse_flags(table, {})), allowed_cpus()) << odd;
  }
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(thread_count(parse_flags(table, {"--threads", "0"})), allowed_cpus());
}

TEST(RankGallery, BestFirstWithRepeatedItemsOnce) {
  const at::Tensor gallery = at::tensor({1.F, 0.F, 3.F, 0.F, 3.F, 0.F, 2.F, 0.F}).reshape({4, 2});
  const at::Tensor query = at::tensor({1.F, 0.F});
  const Ranking ranking = rank_gallery(query, gallery, {0, 1, 1, 2}, {0}, 2);
  ASSERT_EQ(ranking.hits.size(), 2U);
  EXPECT_EQ(ranking.hits[0].row, 1);
  EXPECT_EQ(ranking.hits[1].row, 3);
  EXPECT_FLOAT_EQ(ranking.hits[0].score, 3);
  EXPECT_FALSE(ranking.hits[0].right);
  EXPECT_EQ(ranking.rank, 3);
  EXPECT_EQ(ranking.gallery, 3);
  EXPECT_EQ(rank_gallery(query, gallery, {0, 1, 1, 2}, {}, 9).rank, 0);
  EXPECT_EQ(rank_gallery(query, gallery, {0, 1, 1, 2}, {}, 9).hits.size(), 3U);
}

TEST(Version, IsThatOfTheBuild) {
  const std::string cmake =
      read_file(std::filesystem::path(CANTILEVER_TEST_ROOT).parent_path() / "CMakeLists.txt");
  const std::string number = version_line().substr(std::string("cantilever ").size());
  EXPECT_THAT(cmake, HasSubstr("VERSION " + number + " "));
  EXPECT_EQ(build_information(3)["threads"], 3);
}

}  // namespace
}  // namespace cantilever
