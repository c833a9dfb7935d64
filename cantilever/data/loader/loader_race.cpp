#include "cantilever/data/loader/loader_race.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/loader/stage_counters.h"

namespace cantilever {
namespace {

using Encoded = std::vector<std::vector<std::byte>>;

class PictureRows final : public ExampleSource {
 public:
  PictureRows(Encoded encoded, int64_t rows) : encoded_(std::move(encoded)), rows_(rows) {}

  int64_t size() const override { return rows_; }
  void read(int64_t row, uint64_t /*draw*/, Example& example) const override {
    example.row = row;
    example.caption.clear();
    example.image_kind = ImageKind::kBytes;
    example.image_path.clear();
    example.encoded = encoded_[static_cast<size_t>(row) % encoded_.size()];
  }
  void read_caption(int64_t /*row*/, uint64_t /*draw*/, std::string& caption) const override {
    caption.clear();
  }
  // A set in memory is nobody else's.
  uint64_t fingerprint() const override { return reinterpret_cast<uintptr_t>(this); }
  std::string description() const override {
    return concat(encoded_.size(), " pictures in memory (", rows_, " rows)");
  }

 private:
  Encoded encoded_;
  int64_t rows_;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

LoaderOptions loader_options(const RaceOptions& options) {
  CANTILEVER_CHECK(options.threads >= 1, "a race with ", options.threads, " threads was asked for");
  LoaderOptions loader;
  loader.batch_size = options.batch_size;
  loader.num_workers = options.threads == 1 ? 0 : options.threads;
  loader.shuffle = false;
  loader.end_epoch = 1;  // nothing behind the pass is made, as it would count in the CPU time
  loader.transform = options.transform;
  loader.cache = options.cache;
  return loader;
}

}  // namespace

std::shared_ptr<ExampleSource> pictures_in_memory(Encoded encoded, int64_t rows) {
  CANTILEVER_CHECK(!encoded.empty(), "there are no pictures");
  CANTILEVER_CHECK(rows >= 1, "a pass of ", rows, " pictures was asked for");
  return std::make_shared<PictureRows>(std::move(encoded), rows);
}

Encoded read_picture_list(const std::filesystem::path& list) {
  std::istringstream lines(read_file(list));
  Encoded encoded;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const MappedFile file{std::filesystem::path(line)};
    encoded.emplace_back(file.bytes().begin(), file.bytes().end());
  }
  CANTILEVER_CHECK(!encoded.empty(), list.string(), ": there are no pictures in the list");
  return encoded;
}

Encoded read_pictures(const ExampleSource& source) {
  Encoded encoded;
  Example example;
  for (int64_t row = 0; row < source.size(); ++row) {
    source.read(row, 0, example);
    encoded.emplace_back(example.encoded.begin(), example.encoded.end());
  }
  return encoded;
}

RaceResult race_loader(const Encoded& encoded, const RaceOptions& options) {
  const auto pictures = static_cast<int64_t>(encoded.size());
  const int64_t images = options.images > 0 ? options.images : pictures;
  const LoaderOptions loader_settings = loader_options(options);
  BatchLoader loader(pictures_in_memory(encoded, images), nullptr, loader_settings);
  const int64_t batches = loader.batches_per_epoch();
  // As many batches as the ring has places, so that each place has been written once.
  const int64_t ring = options.threads == 1 ? 1 : loader_settings.prefetch + 1;
  const int64_t warm = options.cache.tier == CacheTier::kOff ? std::min(batches, ring) : batches;
  for (int64_t i = 0; i < warm; ++i) loader.next();
  loader.pause();
  const LoaderStatistics before = loader.statistics();
  RaceResult result;
  const double cpu_begin = cpu_seconds();
  const StageClock::time_point begin = StageClock::now();
  loader.seek(0, 0);
  for (int64_t i = 0; i < batches; ++i) result.images += loader.next().size;
  result.seconds = seconds_between(begin, StageClock::now());
  loader.pause();
  result.cpu_seconds = cpu_seconds() - cpu_begin;
  result.statistics = loader.statistics();
  result.statistics.read_seconds -= before.read_seconds;
  result.statistics.decode_seconds -= before.decode_seconds;
  result.statistics.transform_seconds -= before.transform_seconds;
  return result;
}

void dump_pixels(const Encoded& encoded, const RaceOptions& options,
                 const std::filesystem::path& path) {
  const auto pictures = static_cast<int64_t>(encoded.size());
  BatchLoader loader(pictures_in_memory(encoded, pictures), nullptr, loader_options(options));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const Batch& batch = loader.next();
    out.write(reinterpret_cast<const char*>(batch.pixel_values.data()),
              static_cast<std::streamsize>(batch.pixel_values.size() * sizeof(float)));
  }
  out.flush();
  CANTILEVER_CHECK(out.good(), path.string(), ": the pixels cannot be written");
}

}  // namespace cantilever
