#include "cantilever/data/image/jpeg_fast.h"

#include <algorithm>
#include <cstring>

#include "cantilever/base/error.h"

// Note [Which samples a window needs]
// A pixel needs its own luma; with subsampled chroma, the triangle filters also look at the chroma
// sample to the left, right, above and below. Outside of the picture they see the sample at its
// edge again. Rows of MCUs above the window and columns of MCUs beside it are only passed over. The
// last row of pixels of a row of MCUs needs chroma of the next one, and is given out with that one:
// its luma and the last row of chroma are kept as row -1.

namespace cantilever {

const JpegKernels& jpeg_kernels() {
  static const JpegKernels kernels = {unstuff_jpeg_scan, jpeg_mcu_decoder(), jpeg_pair_transform(),
                                      &jpeg_color_kernels()};
  return kernels;
}

const JpegKernels& portable_jpeg_kernels() {
  static const JpegKernels kernels = {unstuff_jpeg_scan_portable, portable_jpeg_mcu_decoder(),
                                      portable_jpeg_pair_transform(),
                                      &portable_jpeg_color_kernels()};
  return kernels;
}

void JpegPlane::set_size(int width, int rows) {
  stride_ = (width + 2 * kMargin + 63) / 64 * 64;
  const auto size = static_cast<size_t>(stride_) * static_cast<size_t>(rows + 2);
  if (samples_.size() < size) samples_.resize(size);
}

void JpegPlane::copy_row(int from, int to) {
  std::memcpy(row(to) - kMargin, row(from) - kMargin, static_cast<size_t>(stride_));
}

bool JpegFast::Codes::matches(const JpegCodeLengths& other) const {
  return is_built && std::memcmp(lengths.data(), other.counts, 16) == 0 &&
         std::memcmp(lengths.data() + 16, other.symbols, static_cast<size_t>(other.total)) == 0;
}

void JpegFast::Codes::remember(const JpegCodeLengths& other) {
  std::memcpy(lengths.data(), other.counts, 16);
  std::memcpy(lengths.data() + 16, other.symbols, static_cast<size_t>(other.total));
  is_built = true;
}

bool JpegFast::open(std::span<const std::byte> encoded) {
  if (!read_jpeg_frame(encoded, frame_) || !prepare_tables()) return false;
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(encoded.data()),
                                       encoded.size());
  if (!kernels_.unstuff(bytes.subspan(frame_.scan_begin), scan_)) return false;
  const int64_t mcus = int64_t{frame_.mcus_across()} * frame_.mcus_down();
  const int64_t interval = frame_.restart_interval;
  const int64_t segments = interval == 0 ? 1 : (mcus + interval - 1) / interval;
  if (static_cast<int64_t>(scan_.ends.size()) != segments) return false;
  prepare_blocks();
  prepare_planes();
  entropy_.start(scan_);
  mcu_row_ = 0;
  set_window({0, 0, frame_.width, frame_.height});
  return true;
}

bool JpegFast::prepare_tables() {
  for (size_t c = 0; c < static_cast<size_t>(frame_.components); ++c) {
    // Of the first component with the same codes, as only that one has tables of its own.
    size_t table = 0;
    while (table < c && (frame_.component[table].dc.counts != frame_.component[c].dc.counts ||
                         frame_.component[table].ac.counts != frame_.component[c].ac.counts)) {
      ++table;
    }
    if (table == c && !build_tables(frame_.component[c], c)) return false;
    // For all blocks of the component; prepare_blocks() spreads them.
    entropy_.blocks[c] = {&tables_[table]->dc, &tables_[table]->ac, c};
  }
  return true;
}

bool JpegFast::build_tables(const JpegFrameComponent& component, size_t index) {
  if (tables_[index] == nullptr) tables_[index] = std::make_unique<Tables>();
  Tables& tables = *tables_[index];
  if (!tables.dc_codes.matches(component.dc)) {
    tables.dc_codes.is_built = false;
    if (!build_jpeg_dc_table(component.dc, tables.dc)) return false;
    tables.dc_codes.remember(component.dc);
  }
  if (!tables.ac_codes.matches(component.ac)) {
    tables.ac_codes.is_built = false;
    if (!build_jpeg_ac_table(component.ac, tables.ac)) return false;
    tables.ac_codes.remember(component.ac);
  }
  return true;
}

void JpegFast::prepare_blocks() {
  const std::array<JpegBlockCode, 6> codes = entropy_.blocks;
  int count = 0;
  for (int c = 0; c < frame_.components; ++c) {
    const int across = c == 0 ? frame_.across : 1;
    const int down = c == 0 ? frame_.down : 1;
    for (int i = 0; i < across * down; ++i) {
      const auto at = static_cast<size_t>(count++);
      const auto component = static_cast<size_t>(c);
      entropy_.blocks[at] = codes[component];
      targets_[at] = {component, 0, i % across * 8, i / across * 8, 8 * across};
    }
  }
  entropy_.blocks_per_mcu = count;
  entropy_.restart_interval = frame_.restart_interval;
  // Blocks are transformed two by two, so a group of MCUs has an even number of them.
  mcus_per_group_ = count % 2 == 0 ? 1 : 2;
  pairs_per_group_ = count * mcus_per_group_ / 2;
  for (int i = count; i < 2 * pairs_per_group_; ++i) {
    targets_[static_cast<size_t>(i)] = targets_[static_cast<size_t>(i - count)];
    targets_[static_cast<size_t>(i)].mcu = 1;
  }
  for (size_t i = 0; i < static_cast<size_t>(2 * pairs_per_group_); ++i) {
    const auto& values = frame_.component[targets_[i].component].quantisation;
    uint16_t* to = quantisation_[i / 2].data() + i % 2 * JpegBlockPair::kLane;
    for (size_t row = 0; row < 8; ++row) std::copy_n(values.data() + row * 8, 8, to + row * 16);
  }
  for (auto& group : pairs_) {
    for (JpegBlockPair& pair : group) pair.coefficients.fill(0);
  }
}

void JpegFast::prepare_planes() {
  // A group may have one MCU more than the row.
  const int mcus = frame_.mcus_across() + mcus_per_group_;
  for (int c = 0; c < frame_.components; ++c) {
    const int across = c == 0 ? frame_.across : 1;
    const int down = c == 0 ? frame_.down : 1;
    planes_[static_cast<size_t>(c)].set_size(mcus * across * 8, down * 8);
  }
  const auto row_bytes = static_cast<size_t>(mcus * frame_.mcu_width() + 2 * kJpegRowSlack);
  for (auto& row : chroma_rows_) row.resize(std::max(row.size(), row_bytes));
  rgb_stride_ = (ptrdiff_t{3} * (frame_.width + kJpegRowSlack) + 63) / 64 * 64;
  // The last row of MCUs comes with the row kept from the one above.
  const auto rgb_bytes =
      static_cast<size_t>(rgb_stride_) * static_cast<size_t>(8 * frame_.down + 1);
  rgb_.resize(std::max(rgb_.size(), rgb_bytes));
}

// Note [Which samples a window needs]
void JpegFast::set_window(const ImageWindow& window) {
  window_ = window;
  next_row_ = window.top;
  const int margin_across = frame_.across - 1;
  const int margin_down = frame_.down - 1;
  first_column_ = std::max(0, window.left / frame_.across - margin_across) / 8;
  const int last_column = (window.right - 1) / frame_.across + margin_across;
  end_column_ = std::min(frame_.mcus_across(), last_column / 8 + 1);
  first_mcu_row_ = std::max(0, window.top / frame_.down - margin_down) / 8;
}

std::optional<RowBlock> JpegFast::next_rows() {
  CANTILEVER_ASSERT(next_row_ < window_.bottom, "no rows are left");
  for (;;) {
    if (!decode_mcu_row(mcu_row_ >= first_mcu_row_)) return std::nullopt;
    const int decoded = mcu_row_++;
    if (decoded < first_mcu_row_) continue;
    const bool is_last = mcu_row_ == frame_.mcus_down();
    const int below = mcu_row_ * frame_.mcu_height();
    const int end = std::min(is_last ? frame_.height : below - (frame_.down - 1), window_.bottom);
    const int first = next_row_;
    if (first < end) emit_rows(end);
    keep_last_rows();
    if (first < end) {
      next_row_ = end;
      return RowBlock{rgb_.data(), rgb_stride_, first, end - first};
    }
  }
}

bool JpegFast::finish() {
  const int rows = frame_.mcus_down();
  for (; mcu_row_ < rows; ++mcu_row_) {
    if (!decode_mcu_row(false)) return false;
  }
  return entropy_.is_at_segment_end();
}

bool JpegFast::decode_mcu_row(bool wanted) {
  const int mcus = frame_.mcus_across();
  if (!wanted) return kernels_.decode(entropy_, mcus, nullptr);
  if (!kernels_.decode(entropy_, first_column_, nullptr)) return false;
  if (!decode_window_columns()) return false;
  extend_edges();
  return kernels_.decode(entropy_, mcus - end_column_, nullptr);
}

bool JpegFast::decode_window_columns() {
  for (size_t i = 0; i < static_cast<size_t>(2 * pairs_per_group_); ++i) {
    const BlockTarget& target = targets_[i];
    JpegPlane& plane = planes_[target.component];
    const int column = (first_column_ + target.mcu) * target.columns_per_mcu + target.column;
    places_[i] = {plane.row(target.row) + column, plane.stride()};
  }
  // A group is transformed while the next one is decoded, which hides the time that its
  // coefficients need to arrive in the cache.
  size_t turn = 0;
  for (int mcu = first_column_; mcu < end_column_; mcu += mcus_per_group_) {
    const int count = std::min(mcus_per_group_, end_column_ - mcu);
    if (!kernels_.decode(entropy_, count, pairs_[turn].data())) return false;
    turn ^= 1U;
    if (mcu != first_column_) transform_group(pairs_[turn]);
  }
  transform_group(pairs_[turn ^ 1U]);
  return true;
}

void JpegFast::transform_group(std::array<JpegBlockPair, 3>& pairs) {
  for (size_t i = 0; i < static_cast<size_t>(pairs_per_group_); ++i) {
    kernels_.transform(pairs[i], quantisation_[i], places_[2 * i], places_[2 * i + 1]);
    places_[2 * i].samples += mcus_per_group_ * targets_[2 * i].columns_per_mcu;
    places_[2 * i + 1].samples += mcus_per_group_ * targets_[2 * i + 1].columns_per_mcu;
  }
}

// What lies beside, above and below the picture, for the triangle filters.
void JpegFast::extend_edges() {
  const int width = frame_.chroma_width();
  const int last_row = std::min(7, frame_.chroma_height() - 1 - 8 * mcu_row_);
  for (size_t c = 1; c < static_cast<size_t>(frame_.components); ++c) {
    JpegPlane& plane = planes_[c];
    if (frame_.across == 2) {
      for (int y = 0; y < 8; ++y) {
        uint8_t* row = plane.row(y);
        row[-1] = row[0];
        row[width] = row[width - 1];
      }
    }
    if (frame_.down == 1) continue;
    if (mcu_row_ == 0) plane.copy_row(0, -1);
    if (mcu_row_ + 1 == frame_.mcus_down()) plane.copy_row(last_row, last_row + 1);
  }
}

void JpegFast::emit_rows(int end) {
  for (int y = next_row_; y < end; ++y) {
    emit_row(y, rgb_.data() + (y - next_row_) * rgb_stride_);
  }
}

void JpegFast::emit_row(int y, uint8_t* rgb) {
  const JpegColorKernels& color = *kernels_.color;
  const int left = window_.left;
  const int count = window_.right - left;
  const int decoded = mcu_row_ - 1;
  const int row = y - decoded * frame_.mcu_height();  // -1: kept from the row of MCUs above
  const uint8_t* luma = planes_[0].row(row) + left;
  if (frame_.components == 1) {
    color.grey_to_rgb(luma, count, rgb + 3 * left);
    return;
  }
  const int begin = left / frame_.across;
  const int columns = (window_.right - 1) / frame_.across + 1 - begin;
  std::array<const uint8_t*, 2> chroma = {};
  for (size_t c = 0; c < 2; ++c) {
    JpegPlane& plane = planes_[c + 1];
    uint8_t* upsampled = chroma_rows_[c].data();
    chroma[c] = upsampled + left - begin * frame_.across;
    const int near = frame_.down == 1 ? row : (row + 2) / 2 - 1;
    const bool is_upper = (row & 1) == 0;
    const uint8_t* from = plane.row(near) + begin;
    const uint8_t* far =
        frame_.down == 1 ? from : plane.row(is_upper ? near - 1 : near + 1) + begin;
    if (frame_.across == 1 && frame_.down == 1) {
      chroma[c] = from;
    } else if (frame_.down == 1) {
      color.upsample_across(from, columns, upsampled);
    } else if (frame_.across == 1) {
      color.upsample_down(from, far, is_upper ? 1 : 2, columns, upsampled);
    } else {
      color.upsample_both(from, far, columns, upsampled);
    }
  }
  color.ycc_to_rgb(luma, chroma[0], chroma[1], count, rgb + 3 * left);
}

void JpegFast::keep_last_rows() {
  if (frame_.down == 1) return;
  planes_[0].copy_row(15, -1);
  planes_[1].copy_row(7, -1);
  planes_[2].copy_row(7, -1);
}

}  // namespace cantilever
