#include "cantilever/data/loader/sample_maker.h"

#include "cantilever/base/error.h"

namespace cantilever {

SampleMaker::SampleMaker(std::shared_ptr<const ExampleSource> source,
                         std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options)
    : source_(std::move(source)), tokenizer_(std::move(tokenizer)), options_(options) {}

void SampleMaker::make(int64_t row, const SamplePlace& place, TransformScratch& scratch,
                       const std::atomic<bool>& stop, std::vector<BadSample>& bad) const {
  if (options_.on_bad_sample == OnBadSample::kFail) {
    make_usable(row, place, scratch);
    return;
  }
  const int64_t rows = source_->size();
  for (int64_t step = 0; step < rows && !stop.load(std::memory_order_relaxed); ++step) {
    const int64_t candidate = (row + step) % rows;
    std::optional<std::string> reason = known_bad(candidate);
    if (!reason) {
      try {
        make_usable(candidate, place, scratch);
        return;
      } catch (const Error& error) {
        reason = error.what();
        const std::lock_guard lock(mutex_);
        bad_.emplace(candidate, *reason);
      }
    }
    bad.push_back({candidate, *reason});
  }
  CANTILEVER_CHECK(stop.load(std::memory_order_relaxed), "none of the ", rows, " rows of ",
                   source_->description(), " is usable; the first reason: ", bad.front().reason);
}

void SampleMaker::make_usable(int64_t row, const SamplePlace& place,
                              TransformScratch& scratch) const {
  std::string where = concat("row ", row);
  try {
    const Example example = source_->get(row);
    // Its number in a split that was cut or shuffled helps nobody find it. (What get() throws has
    // the place already.)
    where += concat(" (", source_->place(row));
    if (!example.image_path.empty()) where += concat(", picture ", quoted(example.image_path, 200));
    where += ")";
    const bool as_path = example.image_kind == ImageKind::kPath;
    DecodeOptions decode = options_.decode;
    decode.apply_exif_orientation = options_.exif_orientation == ExifOrientation::kOn ||
                                    (options_.exif_orientation == ExifOrientation::kAuto &&
                                     example.image_kind == ImageKind::kImageFeature);
    TransformOptions transform = options_.transform;
    transform.semantics = resolve(transform.semantics, as_path);
    const DecodedImage image = decode_image(example.encoded, decode);
    transform_image(image.view(), transform, scratch, place.pixels);
    *place.length = tokenizer_->encode_into(example.caption, place.ids, place.mask);
    *place.row = row;
  } catch (const Error& error) {
    throw_error(concat(where, ": ", error.what()));
  }
}

std::optional<std::string> SampleMaker::known_bad(int64_t row) const {
  const std::lock_guard lock(mutex_);
  const auto found = bad_.find(row);
  if (found == bad_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cantilever
