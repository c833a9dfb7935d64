// Batches whose pictures go through a device: one made here that decodes as the host does, so that
// bytes can be compared, and refuses or fails as it is told; then the stand-in.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cantilever/data/device/device_decoder.h"
#include "tests/data/loader/support.h"

namespace cantilever {
namespace {

using test::Copy;
using test::copy_of;
using test::loader_options;
using test::MadeSource;
using test::take;
using test::tokenizer;
using testing::HasSubstr;

class FakeDevice final : public DeviceDecoder {
 public:
  using Rule = std::function<bool(std::span<const std::byte>)>;

  std::string name() const override { return "fake"; }
  bool supports(std::span<const std::byte> encoded, const DecodeOptions&) const override {
    return !refuses || !refuses(encoded);
  }
  void decode(const EncodedArena& arena, std::span<DeviceJob> jobs) override {
    EXPECT_FALSE(inside.exchange(true)) << "two threads decode at once";
    ++calls;
    if (dead) {
      inside = false;
      throw_error("the device is gone");
    }
    for (DeviceJob& job : jobs) {
      const std::span<const std::byte> encoded = arena.picture(job.picture);
      job.path = DevicePath::kFailed;
      // What a failed decode leaves in its place must not be seen.
      std::fill_n(static_cast<float*>(job.place.data), 3 * 16 * 16, -99.0F);
      if (fails && fails(encoded)) continue;
      try {
        prepare_picture(encoded, job.decode, job.transform, nullptr, scratch_, job.place);
        job.path = DevicePath::kDevice;
      } catch (const Error&) {
        continue;  // the host finds the reason
      }
    }
    inside = false;
  }

  Rule refuses;
  Rule fails;
  bool dead = false;
  std::atomic<int> calls{0};
  std::atomic<bool> inside{false};

 private:
  TransformScratch scratch_;
};

// Some pictures by their content, the same in every epoch.
bool every_third(std::span<const std::byte> encoded) {
  return encoded.size() % 3 == 0;
}
bool every_second(std::span<const std::byte> encoded) {
  return encoded.size() % 2 == 0;
}

LoaderOptions device_options(int workers, std::shared_ptr<DeviceDecoder> device) {
  LoaderOptions options = loader_options(workers);
  options.device_decode = true;
  options.device = std::move(device);
  return options;
}

TEST(DeviceBatches, HaveTheBytesOfTheHostWhateverTheDeviceTakes) {
  const auto source = std::make_shared<MadeSource>(46);
  BatchLoader host(source, tokenizer(), loader_options(0));
  const std::vector<Copy> expected = take(host, 36);
  source->delay = std::chrono::milliseconds(1);
  int64_t unsupported = -1;
  int64_t failed = -1;
  for (const int workers : {0, 1, 2, 4}) {
    const auto device = std::make_shared<FakeDevice>();
    device->refuses = every_third;
    device->fails = every_second;
    LoaderOptions options = device_options(workers, device);
    options.end_epoch = 3;
    BatchLoader loader(source, tokenizer(), options);
    EXPECT_EQ(take(loader, 36), expected) << workers << " threads";
    const LoaderStatistics done = loader.statistics();
    EXPECT_EQ(done.device_images + done.device_unsupported + done.device_failed, 3 * 46);
    EXPECT_GT(done.device_images, 0);
    EXPECT_GT(done.device_unsupported, 0);
    EXPECT_GT(done.device_failed, 0);
    EXPECT_GT(done.device_seconds, 0.0);
    if (unsupported < 0) {
      unsupported = done.device_unsupported;
      failed = done.device_failed;
    }
    EXPECT_EQ(done.device_unsupported, unsupported);
    EXPECT_EQ(done.device_failed, failed);
    EXPECT_LE(device->calls, 36);  // none for a batch without a picture for it
    EXPECT_GT(device->calls, 30);
    loader.seek(1, 3);
    EXPECT_EQ(copy_of(loader.next()), expected[15]);
  }
}

TEST(DeviceBatches, ADeviceThatTakesNothingOrFailsAlwaysChangesNothing) {
  const auto source = std::make_shared<MadeSource>(10);
  BatchLoader host(source, tokenizer(), loader_options(0));
  const std::vector<Copy> expected = take(host, 9);
  const auto always = [](std::span<const std::byte>) { return true; };
  for (const int workers : {0, 2}) {
    const auto refusing = std::make_shared<FakeDevice>();
    refusing->refuses = always;
    BatchLoader first(source, tokenizer(), device_options(workers, refusing));
    EXPECT_EQ(take(first, 9), expected);
    EXPECT_EQ(refusing->calls, 0);
    EXPECT_EQ(first.statistics().device_images, 0);
    const auto failing = std::make_shared<FakeDevice>();
    failing->fails = always;
    BatchLoader second(source, tokenizer(), device_options(workers, failing));
    EXPECT_EQ(take(second, 9), expected);
    EXPECT_EQ(second.statistics().device_images, 0);
    EXPECT_GE(second.statistics().device_failed, 30);
  }
}

TEST(DeviceBatches, BadRowsAreReplacedAndListedAsOnTheHost) {
  const auto source = std::make_shared<MadeSource>(30);
  source->missing = {2, 9, 10};
  source->broken = {3, 20};
  LoaderOptions options = loader_options(0);
  options.on_bad_sample = OnBadSample::kSkip;
  BatchLoader host(source, tokenizer(), options);
  const std::vector<Copy> expected = take(host, 16);
  for (const int workers : {0, 1, 4}) {
    for (const bool refuses : {false, true}) {
      const auto device = std::make_shared<FakeDevice>();
      // A device may take a broken picture for a good one by its header.
      if (refuses) device->refuses = every_third;
      LoaderOptions chosen = device_options(workers, device);
      chosen.on_bad_sample = OnBadSample::kSkip;
      BatchLoader loader(source, tokenizer(), chosen);
      EXPECT_EQ(take(loader, 16), expected);
      ASSERT_EQ(loader.bad_samples().size(), host.bad_samples().size());
      for (size_t i = 0; i < host.bad_samples().size(); ++i) {
        EXPECT_EQ(loader.bad_samples()[i].row, host.bad_samples()[i].row);
        EXPECT_EQ(loader.bad_samples()[i].reason, host.bad_samples()[i].reason);
      }
    }
  }
}

TEST(DeviceBatches, ABadRowFailsWhenItsBatchIsDue) {
  const auto source = std::make_shared<MadeSource>(16);
  source->broken = {9, 11};
  for (const int workers : {0, 3}) {
    LoaderOptions options = device_options(workers, std::make_shared<FakeDevice>());
    options.shuffle = false;
    BatchLoader loader(source, tokenizer(), options);
    take(loader, 2);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        loader.next();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("row 9 (made (16 rows), row 9, picture 'p9.png')"));
      }
    }
    loader.seek(0, 3);
    EXPECT_EQ(loader.next().rows, (std::vector<int64_t>{12, 13, 14, 15}));
  }
}

TEST(DeviceBatches, ADeviceThatIsGoneIsAnErrorOfItsBatch) {
  const auto source = std::make_shared<MadeSource>(16);
  for (const int workers : {0, 2}) {
    const auto device = std::make_shared<FakeDevice>();
    device->dead = true;
    LoaderOptions options = device_options(workers, device);
    options.on_bad_sample = OnBadSample::kSkip;  // no row is bad
    BatchLoader loader(source, tokenizer(), options);
    EXPECT_THROW(loader.next(), Error);
    EXPECT_TRUE(loader.bad_samples().empty());
  }
}

TEST(DeviceBatches, StopAtAnyMoment) {
  const auto source = std::make_shared<MadeSource>(60);
  source->delay = std::chrono::milliseconds(1);
  for (int moment = 0; moment < 20; ++moment) {
    const auto device = std::make_shared<FakeDevice>();
    device->fails = every_second;
    BatchLoader loader(source, tokenizer(), device_options(3, device));
    for (int i = 0; i < moment % 4; ++i) loader.next();
    std::this_thread::sleep_for(std::chrono::microseconds(400 * moment));
    loader.seek(0, moment % 10);
    if (moment % 2 == 0) loader.next();
  }
}

TEST(DeviceBatches, ExcludeWhatTheHostDoes) {
  const auto source = std::make_shared<MadeSource>(16);
  LoaderOptions options = device_options(0, std::make_shared<FakeDevice>());
  options.augmentation.horizontal_flip = 1;
  EXPECT_THROW(BatchLoader(source, tokenizer(), options), Error);
  options.augmentation = {};
  options.cache.tier = CacheTier::kRam;
  EXPECT_THROW(BatchLoader(source, tokenizer(), options), Error);
}

// The pictures here are PNGs, which no JPEG device takes.
TEST(DeviceBatches, WithoutADeviceTheStandInIsOpened) {
  const auto source = std::make_shared<MadeSource>(10);
  BatchLoader host(source, tokenizer(), loader_options(0));
  const std::vector<Copy> expected = take(host, 3);
  LoaderOptions options = device_options(2, nullptr);
  options.end_epoch = 1;
  BatchLoader loader(source, tokenizer(), options);
  EXPECT_EQ(take(loader, 3), expected);
  EXPECT_EQ(loader.statistics().device_unsupported, 10);
}

}  // namespace
}  // namespace cantilever
