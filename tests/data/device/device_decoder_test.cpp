// The decoder over nvJPEG's entry points, with the stand-in behind them: the same picture as the
// host's, or back to the host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "cantilever/data/device/device_runtime.h"
#include "cantilever/data/device/nvjpeg_decoder.h"
#include "cantilever/data/device/stand_in_nvjpeg.h"
#include "tests/data/device/support.h"

namespace cantilever {

void PrintTo(DevicePath path, std::ostream* out) {
  *out << (path == DevicePath::kDevice        ? "device"
           : path == DevicePath::kUnsupported ? "unsupported"
                                              : "failed");
}

namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::DeviceBatch;
using test::exif_block;
using test::HostResult;
using test::JpegKind;
using test::make_jpeg;
using test::on_the_host;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Path = DevicePath;

constexpr TransformOptions kSmall = {.side = 64};

// Sets the switches while it lives.
class Misbehaviour {
 public:
  explicit Misbehaviour(const StandInSwitches& switches) { set_stand_in_switches(switches); }
  ~Misbehaviour() { set_stand_in_switches({}); }
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// What the device decoded is the host's picture, bit for bit; what it did not it left alone.
void expect_equal_to_the_host(const DeviceBatch& batch) {
  for (size_t i = 0; i < batch.jobs.size(); ++i) {
    const DeviceJob& job = batch.jobs[i];
    if (job.path != Path::kDevice) {
      const std::vector<float>& pixels = batch.pixels[i];
      EXPECT_TRUE(std::all_of(pixels.begin(), pixels.end(), [](float v) { return v == -77; })) << i;
      continue;
    }
    const HostResult host =
        on_the_host(batch.arena.picture(job.picture), job.decode, job.transform);
    ASSERT_EQ(host.error, "") << "picture " << i;
    EXPECT_TRUE(batch.pixels[i] == host.pixels) << "picture " << i;
  }
}

std::vector<Path> paths_of(const std::vector<Bytes>& pictures, const DecodeOptions& options = {}) {
  const auto decoder = open_device_decoder("cpu");
  DeviceBatch batch(kSmall);
  for (const Bytes& picture : pictures) batch.add(picture, options);
  batch.decode(*decoder);
  expect_equal_to_the_host(batch);
  for (size_t i = 0; i < pictures.size(); ++i) {
    EXPECT_EQ(decoder->supports(pictures[i], options), batch.jobs[i].path != Path::kUnsupported);
  }
  return batch.paths();
}

TEST(DeviceDecoder, SaysWhatItIs) {
  EXPECT_EQ(open_device_decoder("cpu")->name(),
            "stand-in for nvJPEG (libjpeg-turbo) (hardware engine, host memory)");
}

TEST(DeviceDecoder, OtherDevicesAreErrors) {
  for (const char* device : {"cuda", "cuda:0"}) {
    EXPECT_THAT(error_of([&] { open_device_decoder(device); }),
                testing::AllOf(HasSubstr(device), HasSubstr("this build has no CUDA"),
                               HasSubstr("nvJPEG"), HasSubstr("--mediapipe_dataloader")));
  }
  EXPECT_THAT(error_of([] { open_device_decoder("tpu"); }), HasSubstr("'tpu'"));
}

TEST(DeviceDecoder, TheUsualKindsAreDecoded) {
  const std::vector<Bytes> pictures = {
      make_jpeg(100, 80, {.components = 1}),
      make_jpeg(100, 80, {.luma_width = 1, .luma_height = 1}),
      make_jpeg(101, 83, {.luma_width = 2, .luma_height = 1}),
      make_jpeg(99, 201),
      make_jpeg(64, 64, {.luma_width = 1, .luma_height = 2}),
      make_jpeg(333, 77, {.restart_interval = 3}),
      make_jpeg(1, 1),
      make_jpeg(3, 200),
  };
  EXPECT_THAT(paths_of(pictures), Each(Path::kDevice));
}

TEST(DeviceDecoder, OtherKindsAreLeftToTheHost) {
  Bytes png = {std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
  const std::vector<Bytes> pictures = {
      make_jpeg(100, 80, {.progressive = true}),
      make_jpeg(100, 80, {.arithmetic = true}),
      make_jpeg(100, 80, {.components = 4}),
      make_jpeg(100, 80, {.luma_width = 4, .luma_height = 1}),
      make_jpeg(100, 80, {.luma_width = 1, .luma_height = 1, .stored_as_rgb = true}),
      make_jpeg(100, 80, {.luma_height = 2, .chroma_height = 2}),
      png,
      {},
      {std::byte{0xff}, std::byte{0xd8}},
      Bytes(1000, std::byte{0xff}),
  };
  EXPECT_THAT(paths_of(pictures), Each(Path::kUnsupported));
}

TEST(DeviceDecoder, AMixedBatchKeepsItsPlaces) {
  EXPECT_THAT(paths_of({make_jpeg(90, 80),
                        make_jpeg(100, 80, {.progressive = true}),
                        make_jpeg(110, 80),
                        {},
                        make_jpeg(120, 80)}),
              ElementsAre(Path::kDevice, Path::kUnsupported, Path::kDevice, Path::kUnsupported,
                          Path::kDevice));
}

TEST(DeviceDecoder, ATurnedPictureIsTheHostsWhenItIsToBeTurned) {
  std::vector<Bytes> pictures;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    pictures.push_back(make_jpeg(100, 80, {.app1 = exif_block(orientation)}));
  }
  EXPECT_THAT(paths_of(pictures), Each(Path::kDevice));
  const std::vector<Path> turned = paths_of(pictures, {.apply_exif_orientation = true});
  EXPECT_EQ(turned[0], Path::kDevice);
  for (size_t i = 1; i < turned.size(); ++i) EXPECT_EQ(turned[i], Path::kUnsupported) << i + 1;
}

TEST(DeviceDecoder, ATruncatedPictureFailsAndTheHostNamesIt) {
  Bytes picture = make_jpeg(100, 80);
  picture.resize(picture.size() / 2);
  const Bytes whole = make_jpeg(90, 80);
  EXPECT_THAT(paths_of({whole, picture, whole}),
              ElementsAre(Path::kDevice, Path::kFailed, Path::kDevice));
  EXPECT_THAT(on_the_host(picture, {}, kSmall).error, HasSubstr("truncated"));
}

TEST(DeviceDecoder, WhatTheHostForgivesIsLeftToTheHost) {
  Bytes damaged = make_jpeg(200, 160, {.restart_interval = 4});
  // Without one of its restart markers: libjpeg warns and finds the next one.
  for (size_t i = damaged.size() / 2; i + 1 < damaged.size(); ++i) {
    if (damaged[i] != std::byte{0xff} || (damaged[i + 1] & std::byte{0xf8}) != std::byte{0xd0}) {
      continue;
    }
    damaged.erase(damaged.begin() + static_cast<ptrdiff_t>(i),
                  damaged.begin() + static_cast<ptrdiff_t>(i + 2));
    break;
  }
  EXPECT_THAT(paths_of({damaged}), ElementsAre(Path::kFailed));
  EXPECT_EQ(on_the_host(damaged, {}, kSmall).error, "");
}

TEST(DeviceDecoder, EveryCutOfAPictureIsSafe) {
  const Bytes whole = make_jpeg(40, 33);
  std::vector<Bytes> pictures;
  for (size_t size = 0; size < whole.size(); size += 7) {
    pictures.emplace_back(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
  }
  EXPECT_THAT(paths_of(pictures), Each(AnyOf(Path::kUnsupported, Path::kFailed)));
}

TEST(DeviceDecoder, RandomDamageIsSafeAndNeverAnotherPicture) {
  const Bytes whole = make_jpeg(64, 48, {.restart_interval = 2});
  uint32_t noise = 1;
  std::vector<Bytes> pictures;
  for (int i = 0; i < 400; ++i) {
    pictures.push_back(whole);
    for (int hits = 0; hits <= i % 4; ++hits) {
      noise = noise * 1664525U + 1013904223U;
      pictures.back()[(noise >> 8U) % whole.size()] = static_cast<std::byte>(noise & 255U);
    }
  }
  paths_of(pictures);  // compares what came out with the host
}

TEST(DeviceDecoder, AHeaderThatClaimsTooMuchCostsNoMemory) {
  Bytes picture = make_jpeg(100, 80);
  for (size_t i = 0; i + 8 < picture.size(); ++i) {
    if (picture[i] != std::byte{0xff} || picture[i + 1] != std::byte{0xc0}) continue;
    for (size_t k = i + 5; k < i + 9; ++k) picture[k] = std::byte{0x1f};  // 7967 x 7967
    break;
  }
  EXPECT_THAT(paths_of({picture}), ElementsAre(Path::kUnsupported));
}

TEST(DeviceDecoder, TheLimitOnPixelsIsTheHosts) {
  const Bytes picture = make_jpeg(100, 80);
  EXPECT_THAT(paths_of({picture}, {.max_pixels = 8000}), ElementsAre(Path::kDevice));
  EXPECT_THAT(paths_of({picture}, {.max_pixels = 7999}), ElementsAre(Path::kUnsupported));
}

TEST(DeviceDecoder, GroupsThatFitTheDevicesMemory) {
  // 100 x 80 pixels are 24,064 bytes there: two in a group of 50,000.
  const auto decoder = make_nvjpeg_decoder(stand_in_nvjpeg(), make_host_runtime(), 50'000);
  DeviceBatch batch(kSmall);
  for (int i = 0; i < 7; ++i) batch.add(make_jpeg(100, 80 - i));
  batch.add(make_jpeg(200, 100));
  batch.decode(*decoder);
  EXPECT_EQ(batch.jobs.back().path, Path::kUnsupported) << "larger than the memory";
  batch.jobs.pop_back();
  EXPECT_THAT(batch.paths(), Each(Path::kDevice));
  expect_equal_to_the_host(batch);
}

TEST(DeviceDecoder, ManyBatchesWithOneDecoderAndOneArena) {
  const auto decoder = open_device_decoder("cpu");
  DeviceBatch batch(kSmall);
  for (int round = 1; round < 20; ++round) {
    batch.arena.clear();
    batch.jobs.clear();
    batch.pixels.clear();
    for (int i = 0; i < round % 6; ++i) batch.add(make_jpeg(20 * round, 15 * round + i));
    batch.decode(*decoder);
    EXPECT_THAT(batch.paths(), Each(Path::kDevice));
    expect_equal_to_the_host(batch);
  }
}

TEST(DeviceDecoder, AllPixelSemantics) {
  const auto decoder = open_device_decoder("cpu");
  for (const PixelSemantics semantics :
       {PixelSemantics::kTvFloatAa, PixelSemantics::kTvFloatNoaa, PixelSemantics::kTvU8,
        PixelSemantics::kPilU8, PixelSemantics::kHfProcessor}) {
    DeviceBatch batch({.side = 64, .semantics = semantics});
    const Bytes picture = make_jpeg(150, 111);
    batch.add(picture);
    if (!on_the_host(picture, {}, batch.jobs[0].transform).error.empty()) continue;
    batch.decode(*decoder);
    EXPECT_THAT(batch.paths(), Each(Path::kDevice)) << pixel_semantics_name(semantics);
    expect_equal_to_the_host(batch);
  }
}

// The processor resizes them to nothing and fails.
TEST(DeviceDecoder, PicturesTooNarrowForTheProcessorAreTheHosts) {
  const auto decoder = open_device_decoder("cpu");
  DeviceBatch batch({.side = 64, .semantics = PixelSemantics::kHfProcessor});
  batch.add(make_jpeg(150, 111));
  batch.add(make_jpeg(2, 700));
  batch.add(make_jpeg(700, 2));
  batch.add(make_jpeg(111, 150));
  EXPECT_THAT(on_the_host(batch.arena.picture(1), {}, batch.jobs[1].transform).error,
              HasSubstr("too narrow"));
  batch.decode(*decoder);
  EXPECT_THAT(batch.paths(),
              ElementsAre(Path::kDevice, Path::kUnsupported, Path::kUnsupported, Path::kDevice));
  expect_equal_to_the_host(batch);
}

TEST(DeviceDecoder, OnePictureThatFailsCostsTheOthersNothing) {
  const Bytes bad = make_jpeg(77, 80);
  const Misbehaviour misbehaviour({.fail_length = bad.size()});
  EXPECT_THAT(paths_of({make_jpeg(100, 80), bad, make_jpeg(110, 80)}),
              ElementsAre(Path::kDevice, Path::kFailed, Path::kDevice));
}

TEST(DeviceDecoder, ABatchThatFailsIsTriedOneByOne) {
  const Misbehaviour misbehaviour({.fail_every_batch = true});
  EXPECT_THAT(paths_of({make_jpeg(100, 80), make_jpeg(110, 80), make_jpeg(120, 80)}),
              Each(Path::kDevice));
}

TEST(DeviceDecoder, ADeviceThatSeesAnotherSizeIsNotBelieved) {
  const Misbehaviour misbehaviour({.widen_pictures = true});
  EXPECT_THAT(paths_of({make_jpeg(100, 80)}), ElementsAre(Path::kUnsupported));
}

TEST(DeviceDecoder, ALibraryThatDoesNotStartIsAnError) {
  const Misbehaviour misbehaviour({.refuse_creation = true});
  EXPECT_THAT(error_of([] { open_device_decoder("cpu"); }),
              HasSubstr("cannot start: NVJPEG_STATUS_NOT_INITIALIZED"));
}

TEST(DeviceDecoder, WithoutAHardwareEngineTheNameSaysSo) {
  const Misbehaviour misbehaviour({.refuse_hardware = true});
  EXPECT_THAT(open_device_decoder("cpu")->name(), HasSubstr("no hardware engine"));
}

// Memory ends, or the stream reports an error.
class PoorRuntime final : public DeviceRuntime {
 public:
  PoorRuntime(size_t memory, bool stream_works) : memory_(memory), stream_works_(stream_works) {}
  std::string name() const override { return "poor"; }
  unsigned char* allocate(size_t bytes) override {
    return bytes <= memory_ ? host_->allocate(bytes) : nullptr;
  }
  void release(unsigned char* memory) override { host_->release(memory); }
  void* stream() override { return nullptr; }
  bool synchronize() override { return stream_works_; }
  void transform(const ImageView& image, const TransformOptions& options,
                 const PixelPlace& out) override {
    host_->transform(image, options, out);
  }

 private:
  std::unique_ptr<DeviceRuntime> host_ = make_host_runtime();
  size_t memory_;
  bool stream_works_;
};

TEST(DeviceDecoder, MemoryThatIsNotThereLeavesTheBatchToTheHost) {
  const auto decoder =
      make_nvjpeg_decoder(stand_in_nvjpeg(), std::make_unique<PoorRuntime>(50'000, true));
  DeviceBatch large(kSmall);
  for (int i = 0; i < 3; ++i) large.add(make_jpeg(100, 80));
  large.decode(*decoder);
  EXPECT_THAT(large.paths(), Each(Path::kFailed));
  DeviceBatch small(kSmall);
  small.add(make_jpeg(100, 80));
  small.decode(*decoder);
  EXPECT_THAT(small.paths(), Each(Path::kDevice));
  expect_equal_to_the_host(small);
}

TEST(DeviceDecoder, AStreamThatFailsLeavesTheBatchToTheHost) {
  const auto decoder =
      make_nvjpeg_decoder(stand_in_nvjpeg(), std::make_unique<PoorRuntime>(1 << 20, false));
  DeviceBatch batch(kSmall);
  for (int i = 0; i < 3; ++i) batch.add(make_jpeg(100, 80));
  batch.decode(*decoder);
  EXPECT_THAT(batch.paths(), Each(Path::kFailed));
}

TEST(DeviceDecoderThreads, OneDecodesWhileOthersAskAndUseTheHost) {
  const auto decoder = open_device_decoder("cpu");
  const std::vector<Bytes> pictures = {make_jpeg(120, 90), make_jpeg(64, 100, {.components = 1}),
                                       make_jpeg(100, 80, {.progressive = true})};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int round = 0; round < 20; ++round) {
      DeviceBatch batch(kSmall);
      for (int i = 0; i < 9; ++i) batch.add(pictures[static_cast<size_t>(i) % 3]);
      batch.decode(*decoder);
      expect_equal_to_the_host(batch);
    }
  });
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 60; ++round) {
        EXPECT_TRUE(decoder->supports(pictures[0], {}));
        EXPECT_FALSE(decoder->supports(pictures[2], {}));
        EXPECT_EQ(on_the_host(pictures[2], {}, kSmall).error, "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<Bytes> files_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.file_size() < 8'000'000) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> files;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    files.emplace_back(first, first + text.size());
  }
  return files;
}

TEST(DeviceDecoderCorpus, PhotosAndOddPicturesAsOnTheHost) {
  const char* corpus = std::getenv("CANTILEVER_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "CANTILEVER_CORPUS is not set";
  const auto decoder = open_device_decoder("cpu");
  const auto run = [&](const char* folder, bool turned) {
    DeviceBatch batch;
    for (const Bytes& file : files_of(fs::path(corpus) / folder)) {
      batch.add(file, {.apply_exif_orientation = turned, .max_pixels = 3'000'000});
    }
    ASSERT_FALSE(batch.jobs.empty());
    batch.decode(*decoder);
    expect_equal_to_the_host(batch);
    const std::vector<Path> paths = batch.paths();
    const auto decoded = std::count(paths.begin(), paths.end(), Path::kDevice);
    std::printf("%s: %td of %zu files decoded by the stand-in\n", folder, decoded, paths.size());
    EXPECT_GT(decoded, 10);
  };
  run("captions/coco-open", false);
  run("captions/coco-restricted", true);
  run("odd-images", false);
  run("odd-images", true);
}

}  // namespace
}  // namespace cantilever
