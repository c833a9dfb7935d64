#pragma once

#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/png_writer.h"
#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/data/text/bpe_trainer.h"

namespace cantilever::test {

// Rows made here: row r is a picture of its own colours with the caption "picture number r", or,
// with several captions, "picture number r, c".
class MadeSource final : public ExampleSource {
 public:
  explicit MadeSource(int64_t rows) : rows_(rows) {
    for (int64_t row = 0; row < rows; ++row) pictures_.push_back(make_picture(row));
  }

  int64_t size() const override { return rows_; }
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    ++caption_reads;
    // Without a stream: a source that allocates nothing once the text has its memory.
    caption = "picture number ";
    append_number(row, caption);
    if (captions == 1) return;
    const auto number = static_cast<int64_t>(draw % static_cast<uint64_t>(captions));
    if (silent.contains({row, number})) throw_error(concat("caption ", number, " is null"));
    caption += ", ";
    append_number(number, caption);
  }
  int64_t caption_count(int64_t) const override {
    ++caption_reads;
    return captions;
  }
  std::string description() const override { return concat("made (", rows_, " rows)"); }
  uint64_t fingerprint() const override { return print; }

  void read(int64_t row, uint64_t draw, Example& example) const override {
    ++reads;
    if (delay.count() > 0) std::this_thread::sleep_for(delay * (1 + row % 3));
    if (missing.contains(row)) throw_error(concat("made.jsonl, line ", row + 1, ": gone"));
    if (strange.contains(row)) throw std::runtime_error("strange");
    example.row = row;
    read_caption(row, draw, example.caption);
    example.image_kind = kind;
    example.image_path = "p";
    append_number(row, example.image_path);
    example.image_path += ".png";
    example.encoded = pictures_[static_cast<size_t>(row)];
    if (broken.contains(row)) example.encoded = example.encoded.first(20);
  }

  std::set<int64_t> missing, broken, strange;
  std::set<std::pair<int64_t, int64_t>> silent;  // rows and their captions that are missing
  ImageKind kind = ImageKind::kBytes;
  std::chrono::milliseconds delay{0};
  int captions = 1;  // of each row
  uint64_t print = 1;
  mutable std::atomic<int> reads{0};
  mutable std::atomic<int> caption_reads{0};

 private:
  static void append_number(int64_t number, std::string& text) {
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
  static std::vector<std::byte> make_picture(int64_t row) {
    const int width = 20 + static_cast<int>(row % 7);
    const int height = 15 + static_cast<int>(row % 5);
    std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3));
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<uint8_t>(i * 7 + static_cast<size_t>(row) * 31);
    }
    return encode_png({pixels.data(), width, height});
  }

  int64_t rows_;
  std::vector<std::vector<std::byte>> pictures_;
};

inline std::shared_ptr<const Tokenizer> make_tokenizer() {
  int given = 0;
  return train_tokenizer(
      [&]() -> std::optional<std::string> {
        return given < 50 ? std::optional(concat("picture number ", given++)) : std::nullopt;
      },
      300);
}

inline std::shared_ptr<const Tokenizer> tokenizer() {
  static const std::shared_ptr<const Tokenizer> kTokenizer = make_tokenizer();
  return kTokenizer;
}

inline LoaderOptions loader_options(int workers) {
  LoaderOptions options;
  options.batch_size = 4;
  options.max_seq_length = 12;
  options.num_workers = workers;
  options.transform.side = 16;
  return options;
}

// Everything that a batch holds, to compare two.
struct Copy {
  int64_t epoch, index, size;
  std::vector<float> pixels;
  std::vector<int64_t> ids, mask, lengths, rows;
  bool operator==(const Copy&) const = default;
};

inline Copy copy_of(const Batch& batch) {
  return {batch.epoch,     batch.index,          batch.size,    batch.pixel_values,
          batch.input_ids, batch.attention_mask, batch.lengths, batch.rows};
}

inline std::vector<Copy> take(BatchLoader& loader, int count) {
  std::vector<Copy> batches;
  for (int i = 0; i < count; ++i) batches.push_back(copy_of(loader.next()));
  return batches;
}

}  // namespace cantilever::test
