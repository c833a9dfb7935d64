// Delivers batches from a position on and appends a record of each to a file. resume_test kills it
// and starts it again.
//
//   loader_stream FILE EPOCH INDEX BATCHES WORKERS CACHE_FOLDER
//
// CACHE_FOLDER "-": without a cache. Records are lines "epoch index hash rows bad-rows".

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/data/loader/support.h"

namespace cantilever {
namespace {

template <class T>
void mix_into(uint64_t& hash, const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001B3ULL;  // FNV-1a
  }
}

std::string record_of(const Batch& batch, const std::vector<BadSample>& bad) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  mix_into(hash, batch.pixel_values);
  mix_into(hash, batch.input_ids);
  mix_into(hash, batch.attention_mask);
  mix_into(hash, batch.lengths);
  std::string line = concat(batch.epoch, " ", batch.index, " ", hash, " ");
  for (const int64_t row : batch.rows) line += concat(row, ",");
  line += " bad";
  for (const BadSample& sample : bad) line += concat(" ", sample.row);
  return line + "\n";
}

int run(char** arguments) {
  const auto number = [&](int i) { return std::atoll(arguments[i]); };
  const auto source = std::make_shared<test::MadeSource>(61);
  source->missing = {5, 17, 18, 19, 40};
  source->broken = {0, 33, 60};
  source->captions = 3;
  source->delay = std::chrono::milliseconds(1);
  LoaderOptions options = test::loader_options(static_cast<int>(number(5)));
  options.on_bad_sample = OnBadSample::kSkip;
  options.random_captions = true;
  if (std::string(arguments[6]) != "-") {
    options.cache = {CacheTier::kDisk, PixelType::kUint8, 1 << 20, arguments[6]};
  } else {
    options.augmentation.horizontal_flip = 0.5;
  }
  const int out = ::open(arguments[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  CANTILEVER_CHECK(out >= 0, arguments[1], " cannot be written");
  BatchLoader loader(source, test::tokenizer(), options);
  loader.seek(number(2), number(3));
  for (int64_t i = 0; i < number(4); ++i) {
    const std::string record = record_of(loader.next(), loader.bad_samples());
    // One call: what a kill leaves is whole records, or a last one that is cut.
    CANTILEVER_CHECK(
        ::write(out, record.data(), record.size()) == static_cast<ssize_t>(record.size()),
        arguments[1], " cannot be written");
    // A consumer that works too, so that threads are ahead of it.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::close(out);
  return 0;
}

}  // namespace
}  // namespace cantilever

int main(int count, char** arguments) {
  if (count != 7) return 2;
  try {
    return cantilever::run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loader_stream: %s\n", error.what());
    return 1;
  }
}
