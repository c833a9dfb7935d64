#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/data/image/limits.h"
#include "cantilever/data/image/ppm.h"
#include "cantilever/data/image/raw_rows.h"

namespace cantilever {
namespace {

constexpr size_t kLongestToken = 10;
// Pillow reads plain pictures in blocks of this size and checks a block to its end.
constexpr size_t kBlock = size_t{1} << 20U;

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// As Python's int() takes it: a sign, digits, single underscores between them.
std::optional<int64_t> parse_number(std::string_view text) {
  const bool is_negative = text.starts_with("-");
  if (is_negative || text.starts_with("+")) text.remove_prefix(1);
  int64_t value = 0;
  bool was_digit = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c != '_' || !was_digit)) return std::nullopt;
    if (is_digit) value = value * 10 + (c - '0');
    was_digit = is_digit;
  }
  if (!was_digit) return std::nullopt;
  return is_negative ? -value : value;
}

// Half to even, as Python's round().
int64_t scaled(int64_t value, int64_t from, int64_t to) {
  const double exact = static_cast<double>(value) / static_cast<double>(from);
  return static_cast<int64_t>(std::nearbyint(exact * static_cast<double>(to)));
}

class Decoder {
 public:
  Decoder(std::string_view file, const DecodeOptions& options) : file_(file), options_(options) {}

  DecodedImage decode() {
    kind_ = file_[1];
    at_ = std::min<size_t>(3, file_.size());
    width_ = next_number();
    height_ = next_number();
    check_picture_size("PPM", width_, height_, options_);
    if (kind_ == 'f') {
      read_scale();
    } else if (kind_ != '1' && kind_ != '4') {
      largest_ = next_number();
      CANTILEVER_CHECK(largest_ > 0 && largest_ < 65536, "PPM: a largest value of ", largest_,
                       ", 1 to 65535 are possible");
    }
    samples_ = kind_ == '3' || kind_ == '6' ? 3 : 1;
    is_wide_ = samples_ == 1 && largest_ > 255;
    image_.format = "PPM";
    image_.mode = kind_ == '1' || kind_ == '4' ? "1"
                  : kind_ == 'f'               ? "F"
                  : samples_ == 3              ? "RGB"
                  : is_wide_                   ? "I"
                                               : "L";
    image_.width = static_cast<int>(width_);
    image_.height = static_cast<int>(height_);
    if (kind_ <= '3') {
      decode_plain();
    } else {
      decode_binary();
    }
    return std::move(image_);
  }

 private:
  std::string_view next_token() {
    token_.clear();
    while (token_.size() <= kLongestToken && at_ < file_.size()) {
      const char c = file_[at_++];
      if (is_blank(c)) {
        if (!token_.empty()) break;
      } else if (c == '#') {
        at_ = std::min(file_.find_first_of("\r\n", at_), file_.size() - 1) + 1;
      } else {
        token_ += c;
      }
    }
    CANTILEVER_CHECK(!token_.empty(), "PPM: truncated in its header");
    CANTILEVER_CHECK(token_.size() <= kLongestToken, "PPM: no number in its header but ",
                     quoted(token_));
    return token_;
  }

  int64_t next_number() {
    const std::string_view token = next_token();
    const auto value = parse_number(token);
    CANTILEVER_CHECK(value.has_value(), "PPM: no number in its header but ",
                     quoted(std::string(token)));
    return *value;
  }

  void read_scale() {
    std::string_view token = next_token();
    if (token.starts_with("+")) token.remove_prefix(1);
    double scale = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), scale);
    CANTILEVER_CHECK(error == std::errc() && end == token.data() + token.size() &&
                         std::isfinite(scale) && scale != 0,
                     "PPM: a scale of ", quoted(token_));
    is_little_endian_ = scale < 0;
  }

  int64_t row_bytes() const {
    if (kind_ == '4') return (width_ + 7) / 8;
    return width_ * samples_ * (kind_ == 'f' ? 4 : largest_ > 255 ? 2 : 1);
  }

  void decode_binary() {
    const int64_t held = static_cast<int64_t>(file_.size() - at_);
    CANTILEVER_CHECK(held / row_bytes() >= height_, "PPM: truncated; ", held,
                     " bytes of picture data, ", height_ * row_bytes(), " are needed");
    const char* name = kind_ == '4' ? "1;I" : kind_ == 'f' ? "F;32BF" : samples_ == 3 ? "RGB" : "L";
    if (kind_ == 'f' && is_little_endian_) name = "F;32F";
    if (is_wide_) name = "I;16B";
    const RawLayout* layout = find_raw_layout(image_.mode, name);
    CANTILEVER_ASSERT(layout != nullptr, name);
    image_.pixels.resize(static_cast<size_t>(width_ * height_) * 3);
    const auto* rows = reinterpret_cast<const uint8_t*>(file_.data()) + at_;
    const bool is_scaled =
        kind_ >= '5' && kind_ <= '6' && largest_ != 255 && !(is_wide_ && largest_ == 65535);
    for (int64_t y = 0; y < height_; ++y) {
      const uint8_t* row = rows + (kind_ == 'f' ? height_ - 1 - y : y) * row_bytes();
      uint8_t* rgb = image_.pixels.data() + static_cast<size_t>(y * width_) * 3;
      if (is_scaled) {
        scale_row(row, rgb);
      } else {
        layout->to_rgb(row, image_.width, RgbPalette(), rgb);
      }
    }
  }

  void scale_row(const uint8_t* row, uint8_t* rgb) const {
    const bool is_two_bytes = largest_ > 255;
    for (int64_t i = 0; i < width_ * samples_; ++i) {
      const int64_t value = is_two_bytes ? row[2 * i] << 8 | row[2 * i + 1] : row[i];
      write_sample(i, value, rgb);
    }
  }

  // Sample `i` of those at `rgb`; wide grey is clipped, as everywhere in Pillow.
  void write_sample(int64_t i, int64_t value, uint8_t* rgb) const {
    const int64_t level = std::min<int64_t>(255, scaled(value, largest_, is_wide_ ? 65535 : 255));
    if (samples_ == 3) {
      rgb[i] = static_cast<uint8_t>(level);
    } else {
      std::memset(rgb + i * 3, static_cast<int>(level), 3);
    }
  }

  // The next block without its comments; the end of a comment joins what stands around it.
  std::string next_block() {
    std::string block;
    const size_t end = std::min(file_.size(), at_ + kBlock);
    while (at_ < end) {
      if (in_comment_) {
        const size_t stop = file_.find_first_of("\r\n", at_);
        in_comment_ = stop >= end;
        at_ = std::min(stop, end - 1) + 1;
        continue;
      }
      const size_t stop = std::min(file_.find('#', at_), end);
      block += file_.substr(at_, stop - at_);
      at_ = stop;
      in_comment_ = stop < end;
    }
    return block;
  }

  void decode_plain() {
    // A sample takes a byte at least.
    const int64_t wanted = width_ * height_ * samples_;
    CANTILEVER_CHECK(wanted <= static_cast<int64_t>(file_.size() - at_), "PPM: truncated; ",
                     file_.size() - at_, " bytes cannot hold ", wanted, " samples");
    image_.pixels.resize(static_cast<size_t>(width_ * height_) * 3);
    int64_t done = 0;
    std::string half;  // a token that goes on in the next block
    while (done < wanted) {
      if (at_ >= file_.size() && half.empty()) break;
      const bool is_flushed = at_ >= file_.size();
      std::string block = half + (is_flushed ? " " : next_block());
      half.clear();
      if (kind_ == '1') {
        done = read_bits(block, done, wanted);
      } else {
        done = read_numbers(block, done, wanted, half);
      }
    }
    CANTILEVER_CHECK(done == wanted, "PPM: truncated; ", done, " samples of ", wanted);
  }

  int64_t read_bits(std::string_view block, int64_t done, int64_t wanted) {
    for (const char c : block) {
      if (is_blank(c)) continue;
      CANTILEVER_CHECK(c == '0' || c == '1', "PPM: no bit but ", quoted(std::string(1, c)));
      if (done == wanted) continue;
      std::memset(image_.pixels.data() + done * 3, c == '0' ? 255 : 0, 3);
      ++done;
    }
    return done;
  }

  int64_t read_numbers(std::string_view block, int64_t done, int64_t wanted, std::string& half) {
    const auto last_blank = std::find_if(block.rbegin(), block.rend(), is_blank);
    const auto whole = static_cast<size_t>(block.rend() - last_blank);
    half = block.substr(whole);
    CANTILEVER_CHECK(half.size() <= kLongestToken, "PPM: no number but ", quoted(half));
    block = block.substr(0, whole);
    size_t at = 0;
    while (done < wanted) {
      while (at < block.size() && is_blank(block[at])) ++at;
      if (at == block.size()) break;
      const size_t start = at;
      while (at < block.size() && !is_blank(block[at])) ++at;
      const std::string_view token = block.substr(start, at - start);
      const auto value = token.size() <= kLongestToken ? parse_number(token) : std::nullopt;
      CANTILEVER_CHECK(value && *value >= 0 && *value <= largest_, "PPM: no sample of 0 to ",
                       largest_, " but ", quoted(std::string(token)));
      write_sample(done, *value, image_.pixels.data());
      ++done;
    }
    return done;
  }

  std::string_view file_;
  const DecodeOptions& options_;
  DecodedImage image_;
  std::string token_;
  size_t at_ = 0;
  char kind_ = 0;  // '1' to '6', 'f'
  int64_t width_ = 0;
  int64_t height_ = 0;
  int64_t largest_ = 255;
  int64_t samples_ = 1;
  bool is_wide_ = false;
  bool is_little_endian_ = false;
  bool in_comment_ = false;
};

}  // namespace

DecodedImage decode_ppm(std::span<const std::byte> encoded, const DecodeOptions& options) {
  CANTILEVER_CHECK(encoded.size() > 2, "PPM: truncated in its header");
  return Decoder({reinterpret_cast<const char*>(encoded.data()), encoded.size()}, options).decode();
}

}  // namespace cantilever
