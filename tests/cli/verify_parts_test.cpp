// What `verify` is made of: work in order by several threads, a look at a row, counting.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cantilever/base/error.h"
#include "cantilever/cli/ordered_team.h"
#include "cantilever/cli/row_check.h"
#include "cantilever/cli/set_summary.h"
#include "cantilever/data/image/png_writer.h"

namespace cantilever {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OrderedTeam, ResultsComeInOrderAndNoneIsMadeTooFarAhead) {
  for (const int threads : {1, 2, 5}) {
    OrderedWork work;
    work.count = 500;
    work.threads = threads;
    work.window = 7;
    std::vector<int64_t> slots(7, -1), taken;
    std::atomic<int64_t> last_taken{-1};
    std::atomic<bool> too_far{false};
    work.make = [&](int64_t item, int64_t slot, int) {
      if (item > last_taken + 7) too_far = true;
      slots[static_cast<size_t>(slot)] = item * item;
    };
    work.take = [&](int64_t item, int64_t slot) {
      EXPECT_EQ(slots[static_cast<size_t>(slot)], item * item);
      taken.push_back(item);
      last_taken = item;
    };
    work.should_stop = [] { return false; };
    EXPECT_EQ(run_in_order(work), 500);
    EXPECT_FALSE(too_far);
    for (int64_t i = 0; i < 500; ++i) ASSERT_EQ(taken[static_cast<size_t>(i)], i);
  }
}

TEST(OrderedTeam, StopsWhenAskedAndPassesErrorsOn) {
  OrderedWork work;
  work.count = 1000000;
  work.threads = 2;
  std::atomic<int64_t> made{0};
  int64_t taken = 0;
  work.make = [&](int64_t, int64_t, int) { ++made; };
  work.take = [&](int64_t, int64_t) { ++taken; };
  work.should_stop = [&] { return taken >= 10; };
  EXPECT_EQ(run_in_order(work), 10);
  EXPECT_LE(made, 10 + work.window + work.threads);

  work.should_stop = [] { return false; };
  work.make = [](int64_t item, int64_t, int) {
    if (item == 70) throw_error("item 70");
  };
  EXPECT_THROW(run_in_order(work), Error);
  work.make = [](int64_t, int64_t, int) {};
  work.take = [](int64_t item, int64_t) {
    if (item == 5) throw_error("taking 5");
  };
  EXPECT_THROW(run_in_order(work), Error);
}

// Rows made here; row 3 cannot be read.
class Rows : public ExampleSource {
 public:
  Rows() : png_(encode_png(picture())) {}
  int64_t size() const override { return 6; }
  void read(int64_t row, uint64_t draw, Example& example) const override {
    CANTILEVER_CHECK(row != 3, "set line 4: the picture /somewhere/3.png is not there");
    example.row = row;
    read_caption(row, draw, example.caption);
    example.image_path = "p.png";
    example.encoded = png_;
    if (row == 1) example.encoded = example.encoded.first(60);
  }
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    static const std::string texts[] = {"a cat", "a dog", " \n", "x", "a \xff cat", "a cat"};
    caption = row == 5 && draw == 1 ? "" : texts[row];
  }
  int64_t caption_count(int64_t row) const override { return row == 5 ? 2 : 1; }
  std::string place(int64_t row) const override { return concat("set line ", row + 1); }
  uint64_t fingerprint() const override { return 1; }
  std::string description() const override { return "rows"; }

 private:
  static ImageView picture() {
    static const std::vector<uint8_t> pixels(size_t{3} * 20 * 30, 7);
    return {pixels.data(), 20, 30};
  }
  std::vector<std::byte> png_;
};

TEST(RowCheck, LooksAtPictureAndCaption) {
  const Rows rows;
  const RowCheckOptions options;
  RowChecker checker(rows, options);
  RowReport report;
  checker.check(0, report);
  EXPECT_TRUE(report.good()) << report.reason;
  EXPECT_EQ((std::pair(report.width, report.height)), (std::pair(20, 30)));
  EXPECT_EQ((std::pair(report.format, report.mode)),
            (std::pair(std::string("PNG"), std::string("RGB"))));
  EXPECT_EQ(report.caption, "a cat");
  const uint64_t hash = report.picture_hash;

  checker.check(1, report);
  EXPECT_EQ(report.kind, "picture");
  EXPECT_NE(report.picture_hash, hash);
  checker.check(2, report);
  EXPECT_EQ(report.reason, "the caption holds nothing but blanks");
  EXPECT_EQ(report.width, 20);
  checker.check(3, report);
  EXPECT_EQ(report.kind, "row");
  EXPECT_FALSE(report.caption.has_value());
  EXPECT_EQ(report.width, 0);
  checker.check(4, report);
  EXPECT_EQ(report.reason, "the caption is not UTF-8 from byte 2 on");
  checker.check(5, report);
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.picture_hash, hash);
}

TEST(RowCheck, AllCaptionsOfARowWhenAnyMayBeDrawn) {
  const Rows rows;
  RowCheckOptions options;
  options.all_captions = true;
  RowChecker checker(rows, options);
  RowReport report;
  checker.check(5, report);
  EXPECT_EQ(report.reason, "caption 1 of the row: the caption is empty");
}

TEST(RowCheck, PicturesAboveTheLimitAreRefused) {
  const Rows rows;
  RowCheckOptions options;
  options.decode.max_pixels = 599;
  RowChecker checker(rows, options);
  RowReport report;
  checker.check(0, report);
  EXPECT_EQ(report.kind, "picture");
  options.decode.max_pixels = 600;
  checker.check(0, report);
  EXPECT_TRUE(report.good()) << report.reason;
}

TEST(ReasonClass, LeavesOutWhatDiffersFromRowToRow) {
  EXPECT_EQ(reason_class("set line 4: the picture /some/3.png is not there", "set line 4"),
            "the picture '...' is not there");
  EXPECT_EQ(reason_class("a.csv line 17: 'x y' is null", "a.csv line 3"),
            "a.csv line N: '...' is null");
  EXPECT_EQ(reason_class("truncated after 1234 bytes of 5678; isn't whole", "p"),
            "truncated after N bytes of N; isn't whole");
  EXPECT_EQ(reason_class("", ""), "");
  EXPECT_EQ(reason_class("'unclosed", "p"), "'...'");
  EXPECT_EQ(reason_class(std::string(1000, 'x'), "p"), std::string(120, 'x') + "...");
  EXPECT_EQ(reason_class(std::string(119, 'x') + "\xc3\xa9 and more", "p"),
            std::string(119, 'x') + "...");  // a letter of two bytes is not cut in half
}

TEST(SetSummary, CountsAndListsBadRows) {
  const Rows rows;
  const RowCheckOptions options;
  RowChecker checker(rows, options);
  SplitSummary summary, other;
  RowReport report;
  for (int64_t row = 0; row < 6; ++row) {
    checker.check(row, report);
    summary.add(report, rows.place(row));
  }
  const Json told = summary.to_json(false);
  EXPECT_EQ(told["rows"], 6);
  EXPECT_EQ(told["bad"], 4);
  EXPECT_EQ(told["reasons"]["row: the picture '...' is not there"], 1);
  EXPECT_EQ(told["width"], "20 to 20, median 20");
  EXPECT_EQ(told["formats"]["PNG"], 4);     // row 1 breaks off before its header is understood
  EXPECT_EQ(told["repeated_pictures"], 3);  // rows 2, 4 and 5 repeat row 0
  EXPECT_EQ(told["repeated_captions"], 1);
  EXPECT_EQ(told["bad_rows"].size(), 4);
  EXPECT_THAT(told["bad_rows"][0].get<std::string>(),
              HasSubstr("row 1 (set line 2, picture 'p.png'): "));
  EXPECT_EQ(told["bad_rows"][2], "row 3: set line 4: the picture /somewhere/3.png is not there");

  checker.check(0, report);
  other.add(report, rows.place(0));
  EXPECT_EQ(SplitSummary::shared_pictures(summary, other), 1);
}

TEST(SetSummary, ListsTheFirstTwentyAndCountsTheOthers) {
  SplitSummary summary;
  RowReport report;
  report.kind = "caption";
  report.reason = "the caption is empty";
  for (int64_t row = 0; row < 50; ++row) {
    report.row = row;
    summary.add(report, concat("line ", row));
  }
  const Json told = summary.to_json(false);
  EXPECT_EQ(told["bad_rows"].size(), 21);
  EXPECT_EQ(told["bad_rows"][20], "and 30 more; --report FILE lists every row");
  EXPECT_EQ(told["reasons"], (Json{{"caption: the caption is empty", 50}}));
}

}  // namespace
}  // namespace cantilever
