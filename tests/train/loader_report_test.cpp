#include "cantilever/train/loader_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cantilever {
namespace {

using testing::HasSubstr;
using testing::Not;

LoaderStatistics work(double wait) {
  LoaderStatistics s;
  s.images = 100;
  s.wait_seconds = wait;
  s.read_seconds = 1;
  s.decode_seconds = 7;
  s.transform_seconds = 1.5;
  s.tokenize_seconds = 0.5;
  s.threads = 2;
  return s;
}

TEST(LoaderReport, NamesTheSlowStageAndWhatToTurn) {
  LoaderSetting setting;
  setting.may_cache = true;
  EXPECT_EQ(loader_verdict(work(34), 100, setting),
            "loading was the limit: 34 % of the training time was spent waiting for data, mostly "
            "decode (70 % of its work); try --dataloader_num_workers auto or --decoded_cache ram "
            "(disk, where memory is short)");
  setting.cached = true;
  EXPECT_THAT(loader_verdict(work(34), 100, setting), Not(HasSubstr("--decoded_cache")));
  setting.workers = kAutoWorkers;
  EXPECT_THAT(loader_verdict(work(34), 100, setting), HasSubstr("nothing is left to turn"));
  LoaderStatistics slow_disk = work(34);
  slow_disk.read_seconds = 100;
  EXPECT_THAT(loader_verdict(slow_disk, 100, setting), HasSubstr("try a faster disk"));
}

TEST(LoaderReport, SaysSoWhenLoadingWasNotTheLimit) {
  const std::string text = loader_verdict(work(2), 100, {});
  EXPECT_EQ(text,
            "loading was not the limit: 2 % of the training time was spent waiting for data; the "
            "loader did mostly decode (70 % of its work)");
  EXPECT_THAT(loader_verdict(LoaderStatistics(), 0, {}), HasSubstr("was not the limit: 0 %"));
}

TEST(LoaderReport, CountsWhatTheDeviceDid) {
  LoaderStatistics s = work(1);
  s.device_images = 90;
  s.device_unsupported = 8;
  s.device_failed = 2;
  LoaderSetting setting;
  setting.device = true;
  EXPECT_THAT(loader_verdict(s, 100, setting),
              HasSubstr("decoded 90 pictures, 8 are of a kind it does not take, 2 it gave back"));
  Json extra = Json::object();
  add_loader_values(s, extra);
  EXPECT_EQ(extra["loader_device_images"], 90);
}

TEST(LoaderReport, ValuesOfAWindow) {
  LoaderStatistics before = work(1);
  LoaderStatistics now = work(2);
  now.images = 300;
  now.decode_seconds = 17;
  now.read_seconds = 1.25;
  const LoaderStatistics window = difference(now, before);
  EXPECT_EQ(window.images, 200);
  EXPECT_EQ(window.threads, 2);
  // 200 pictures in 10.25 seconds of work by two threads.
  EXPECT_NEAR(loader_images_per_second(window), 39.02, 0.01);
  Json extra = Json::object();
  add_loader_values(window, extra);
  EXPECT_EQ(extra["loader_images_per_second"], 39.0);
  EXPECT_EQ(extra["loader_read_seconds"], 0.25);
  EXPECT_EQ(extra["loader_decode_seconds"], 10.0);
  EXPECT_EQ(extra["loader_threads"], 2);
  EXPECT_FALSE(extra.contains("loader_cache_hits"));
  EXPECT_FALSE(extra.contains("loader_device_images"));
  Json nothing = Json::object();
  add_loader_values(LoaderStatistics(), nothing);
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(loader_images_per_second(LoaderStatistics()), 0);
}

}  // namespace
}  // namespace cantilever
