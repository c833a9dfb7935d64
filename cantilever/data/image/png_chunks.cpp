#include "cantilever/data/image/png_chunks.h"

#define ZLIB_CONST  // input pointers to const
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "cantilever/base/error.h"
#include "cantilever/data/image/exif.h"

namespace cantilever {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kPiece = 65536;
constexpr size_t kMaxUnpackedText = size_t{1} << 20U;
constexpr size_t kMaxTextInAll = 64 * kMaxUnpackedText;

struct LayoutEntry {
  uint8_t bit_depth;
  uint8_t colour_type;
  PngLayout layout;
};

// PNG specification, table 11.1, with Pillow's modes.
constexpr std::array<LayoutEntry, 15> kLayouts = {{
    {1, 0, {"1", 1, 1, false}},
    {2, 0, {"L", 2, 1, false}},
    {4, 0, {"L", 4, 1, false}},
    {8, 0, {"L", 8, 1, false}},
    {16, 0, {"I;16", 16, 1, false}},
    {8, 2, {"RGB", 8, 3, false}},
    {16, 2, {"RGB", 16, 3, false}},
    {1, 3, {"P", 1, 1, true}},
    {2, 3, {"P", 2, 1, true}},
    {4, 3, {"P", 4, 1, true}},
    {8, 3, {"P", 8, 1, true}},
    {8, 4, {"LA", 8, 2, false}},
    {16, 4, {"RGBA", 16, 2, false}},
    {8, 6, {"RGBA", 8, 4, false}},
    {16, 6, {"RGBA", 16, 4, false}},
}};

const PngLayout* find_layout(uint32_t bit_depth, uint32_t colour_type) {
  for (const LayoutEntry& entry : kLayouts) {
    if (entry.bit_depth == bit_depth && entry.colour_type == colour_type) return &entry.layout;
  }
  return nullptr;
}

uint32_t byte_at(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

uint32_t big_endian_32(std::string_view bytes, size_t at = 0) {
  return byte_at(bytes, at) << 24U | byte_at(bytes, at + 1) << 16U | byte_at(bytes, at + 2) << 8U |
         byte_at(bytes, at + 3);
}

void check_length(std::string_view body, size_t least, const char* name) {
  CANTILEVER_CHECK(body.size() >= least, "PNG: chunk ", name, " has ", body.size(),
                   " bytes, it needs ", least);
}

struct InflateStream {
  InflateStream() { ready = inflateInit(&z) == Z_OK; }
  ~InflateStream() {
    if (ready) inflateEnd(&z);
  }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  z_stream z = {};
  bool ready = false;
};

// Unpacked text; nothing when it is no valid stream (forgiven). Error above a mebibyte.
std::optional<std::string> unpack_text(std::string_view packed, const char* name) {
  InflateStream stream;
  CANTILEVER_CHECK(stream.ready, "PNG: no memory to unpack chunk ", name);
  std::string text;
  stream.z.next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream.z.avail_in = static_cast<uInt>(packed.size());
  int status = Z_OK;
  while (status == Z_OK && text.size() < kMaxUnpackedText) {
    const size_t done = text.size();
    text.resize(std::min(kMaxUnpackedText, done + 16384));
    stream.z.next_out = reinterpret_cast<Bytef*>(text.data()) + done;
    stream.z.avail_out = static_cast<uInt>(text.size() - done);
    status = inflate(&stream.z, Z_SYNC_FLUSH);
    text.resize(text.size() - stream.z.avail_out);
  }
  if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return std::nullopt;
  CANTILEVER_CHECK(status == Z_STREAM_END || stream.z.avail_in == 0, "PNG: the text of chunk ",
                   name, " unpacks to more than ", kMaxUnpackedText, " bytes");
  return text;
}

// Splits at the first zero byte; false when there is none.
bool split_at_zero(std::string_view text, std::string_view& head, std::string_view& tail) {
  const size_t at = text.find('\0');
  if (at == std::string_view::npos) return false;
  head = text.substr(0, at);
  tail = text.substr(at + 1);
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "\nexif\n    1234\n45786966..." : hexadecimal from the fourth line on. Empty when malformed.
std::string unpack_raw_profile(std::string_view profile) {
  for (int line = 0; line < 3; ++line) {
    const size_t end = profile.find('\n');
    if (end == std::string_view::npos) return {};
    profile.remove_prefix(end + 1);
  }
  std::string bytes;
  int high = -1;
  for (const char c : profile) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    const int digit = hex_digit(c);
    if (digit < 0) return {};
    if (high < 0) {
      high = digit;
    } else {
      bytes += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  return bytes;
}

bool is_chunk_name(std::string_view name) {
  return name.size() == 4 && std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

}  // namespace

PngChunks::PngChunks(std::span<const std::byte> encoded)
    : file_(reinterpret_cast<const char*>(encoded.data()), encoded.size()) {}

PngChunks::Chunk PngChunks::next_chunk() {
  const std::string_view head = file_.substr(std::min(at_, file_.size()), 8);
  CANTILEVER_CHECK(head.size() == 8, "PNG: truncated; the file ends at byte ", file_.size(),
                   " where a chunk should begin");
  CANTILEVER_CHECK(is_chunk_name(head.substr(4)), "PNG: broken; at byte ", at_,
                   " stands no chunk but ", quoted(std::string(head.substr(4))));
  at_ += 8;
  return {head.substr(4), big_endian_32(head)};
}

std::string_view PngChunks::take(size_t length) {
  const size_t left = file_.size() - std::min(at_, file_.size());
  CANTILEVER_CHECK(length <= left, "PNG: truncated; the chunk at byte ", at_ - 8, " needs ", length,
                   " bytes, the file has ", left);
  const std::string_view body = file_.substr(at_, length);
  at_ += length;
  return body;
}

void PngChunks::check_sum(std::string_view name, std::string_view body) {
  const std::string_view stored = file_.substr(std::min(at_, file_.size()), 4);
  CANTILEVER_CHECK(stored.size() == 4, "PNG: truncated in the check sum of chunk ",
                   quoted(std::string(name)));
  uLong sum = crc32(0, reinterpret_cast<const Bytef*>(name.data()), 4);
  if (!body.empty()) {
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(body.data()), body.size());
  }
  CANTILEVER_CHECK(sum == big_endian_32(stored), "PNG: broken; the check sum of chunk ",
                   quoted(std::string(name)), " is wrong");
  at_ += 4;
}

void PngChunks::read_header() {
  Kind kind = Kind::kRead;
  while (kind == Kind::kRead || kind == Kind::kUnknown) {
    const Chunk chunk = next_chunk();
    const size_t start = at_;
    kind = read_chunk(chunk);
    if (kind == Kind::kUnknown) take(chunk.length);
    if (kind == Kind::kPictureData) {
      data_left_ = chunk.length - (at_ - start);
    } else if (kind != Kind::kEnd) {
      check_sum(chunk.name, file_.substr(start, at_ - start));
    }
  }
  CANTILEVER_CHECK(layout_ != nullptr,
                   "PNG: its header (IHDR) is missing or names a bit depth and colour type that no "
                   "PNG has");
  CANTILEVER_CHECK(kind == Kind::kPictureData, "PNG: it ends without picture data (IDAT)");
}

std::string_view PngChunks::next_data() {
  while (data_left_ == 0) {
    at_ += 4;  // check sum
    const size_t start = at_;
    const Chunk chunk = next_chunk();
    if (chunk.name == "fdAT") {
      read_frame_number(chunk.length);
      data_left_ = chunk.length - 4;
    } else if (chunk.name == "IDAT" || chunk.name == "DDAT") {
      data_left_ = chunk.length;
    } else {
      at_ = start;
      return {};
    }
  }
  const size_t wanted = std::min(kPiece, data_left_);
  const std::string_view piece = file_.substr(std::min(at_, file_.size()), wanted);
  data_left_ -= wanted;
  at_ += wanted;
  return piece;
}

bool PngChunks::is_animated() const {
  return frame_count_ && uint64_t{*frame_count_} + (data_is_default_picture_ ? 1 : 0) > 1;
}

// The end of the file or damage behind the picture is forgiven.
bool PngChunks::at_trailer_end() {
  const std::string_view head = file_.substr(std::min(at_, file_.size()), 8);
  return head.size() < 8 || !is_chunk_name(head.substr(4)) || head.ends_with("IEND") ||
         (head.ends_with("fcTL") && is_animated());
}

void PngChunks::read_trailer() {
  at_ += data_left_;
  data_left_ = 0;
  while (true) {
    at_ += 4;  // check sum of the chunk before
    if (at_trailer_end()) return;
    const Chunk chunk = next_chunk();
    const size_t start = at_;
    const Kind kind = read_chunk(chunk);
    if (kind == Kind::kPictureData || kind == Kind::kUnknown) {
      take(chunk.length - (at_ - start));
    }
  }
}

PngChunks::Kind PngChunks::read_chunk(const Chunk& chunk) {
  const std::string_view name = chunk.name;
  if (name == "IDAT") return read_picture_data();
  if (name == "IEND") return Kind::kEnd;
  if (name == "fdAT") {
    read_frame_number(chunk.length);
    return read_picture_data();
  }
  constexpr std::array kKnown = {"IHDR"sv, "PLTE"sv, "tRNS"sv, "gAMA"sv, "cHRM"sv,
                                 "sRGB"sv, "pHYs"sv, "iCCP"sv, "tEXt"sv, "zTXt"sv,
                                 "iTXt"sv, "eXIf"sv, "acTL"sv, "fcTL"sv};
  if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) return Kind::kUnknown;
  const std::string_view body = take(chunk.length);
  if (name == "IHDR") read_size(body);
  // A palette behind the picture data is read by nobody.
  if (name == "PLTE" && !has_data_ && layout_ != nullptr && layout_->is_palette) palette_ = body;
  if (name == "tRNS") read_transparency(body);
  if (name == "gAMA") check_length(body, 4, "gAMA");
  if (name == "cHRM") check_length(body, 32, "cHRM");
  if (name == "sRGB") check_length(body, 1, "sRGB");
  if (name == "pHYs") check_length(body, 9, "pHYs");
  if (name == "iCCP") read_colour_profile(body);
  if (name == "tEXt") read_text(body);
  if (name == "zTXt") read_compressed_text(body);
  if (name == "iTXt") read_international_text(body);
  if (name == "eXIf") exif_ = body;
  if (name == "acTL") read_animation(body);
  if (name == "fcTL") read_frame(body);
  return Kind::kRead;
}

PngChunks::Kind PngChunks::read_picture_data() {
  CANTILEVER_CHECK(layout_ != nullptr,
                   "PNG: picture data before a header (IHDR) with a bit depth and colour type that "
                   "PNG has");
  if (!frame_ && frame_count_) data_is_default_picture_ = true;
  has_data_ = true;
  return Kind::kPictureData;
}

void PngChunks::read_size(std::string_view body) {
  check_length(body, 13, "IHDR");
  CANTILEVER_CHECK(body[11] == 0, "PNG: filter method ", byte_at(body, 11), "; only 0 is known");
  if (has_data_) return;  // the size of the picture stands
  width_ = big_endian_32(body);
  height_ = big_endian_32(body, 4);
  if (const PngLayout* layout = find_layout(byte_at(body, 8), byte_at(body, 9))) layout_ = layout;
  if (body[12] != 0) interlaced_ = true;
}

void PngChunks::read_transparency(std::string_view body) const {
  if (layout_ == nullptr || layout_->is_palette) return;
  const std::string_view mode = layout_->mode;
  if (mode == "RGB") check_length(body, 6, "tRNS");
  if (mode == "1" || mode == "L" || mode == "I;16") check_length(body, 2, "tRNS");
}

void PngChunks::keep_text(std::string_view keyword, std::string text, bool is_plain) {
  text_bytes_ += text.size();
  CANTILEVER_CHECK(text_bytes_ <= kMaxTextInAll, "PNG: its text chunks unpack to more than ",
                   kMaxTextInAll, " bytes");
  if (keyword == "Raw profile type exif")
    raw_profile_ = std::move(text);
  else if (keyword == "XML:com.adobe.xmp")
    xmp_ = std::move(text);
  else if (keyword == "exif" && is_plain)
    exif_ = std::move(text);
}

void PngChunks::read_text(std::string_view body) {
  std::string_view keyword = body;
  std::string_view text;
  split_at_zero(body, keyword, text);
  if (!keyword.empty()) keep_text(keyword, std::string(text), true);
}

void PngChunks::read_compressed_text(std::string_view body) {
  std::string_view keyword = body;
  std::string_view packed;
  split_at_zero(body, keyword, packed);
  CANTILEVER_CHECK(packed.empty() || packed[0] == 0, "PNG: compression method ",
                   packed.empty() ? 0 : byte_at(packed, 0), " in chunk zTXt; only 0 is known");
  std::optional<std::string> text = unpack_text(packed.substr(packed.empty() ? 0 : 1), "zTXt");
  if (!keyword.empty()) keep_text(keyword, text.value_or(""), false);
}

void PngChunks::read_international_text(std::string_view body) {
  std::string_view keyword;
  std::string_view rest;
  if (!split_at_zero(body, keyword, rest) || rest.size() < 2) return;
  const bool is_packed = rest[0] != 0;
  const bool is_deflate = rest[1] == 0;
  std::string_view language;
  std::string_view translated;
  std::string_view text;
  if (!split_at_zero(rest.substr(2), language, rest)) return;
  if (!split_at_zero(rest, translated, text)) return;
  if (!is_packed) {
    keep_text(keyword, std::string(text), false);
  } else if (is_deflate) {
    if (auto unpacked = unpack_text(text, "iTXt")) keep_text(keyword, std::move(*unpacked), false);
  }
}

void PngChunks::read_colour_profile(std::string_view body) {
  CANTILEVER_CHECK(!body.empty(), "PNG: chunk iCCP is empty");
  const size_t zero = body.find('\0');
  const size_t method_at = zero == std::string_view::npos ? 0 : zero + 1;
  CANTILEVER_CHECK(method_at < body.size(), "PNG: chunk iCCP is cut short");
  CANTILEVER_CHECK(body[method_at] == 0, "PNG: compression method ", byte_at(body, method_at),
                   " in chunk iCCP; only 0 is known");
  const auto profile = unpack_text(body.substr(method_at + 1), "iCCP");
  if (profile) keep_text("", *profile, false);  // counts towards the limit only
}

void PngChunks::read_animation(std::string_view body) {
  check_length(body, 8, "acTL");
  if (frame_count_) {
    frame_count_.reset();
    return;
  }
  const uint32_t count = big_endian_32(body);
  if (count != 0 && count <= 0x80000000U) frame_count_ = count;
}

void PngChunks::read_frame(std::string_view body) {
  check_length(body, 26, "fcTL");
  const uint32_t number = big_endian_32(body);
  const bool follows =
      last_frame_number_ ? *last_frame_number_ + uint64_t{1} == number : number == 0;
  CANTILEVER_CHECK(follows, "PNG: broken animation; frame number ", number, " is out of order");
  last_frame_number_ = number;
  const PngRegion frame = {big_endian_32(body, 12), big_endian_32(body, 16), big_endian_32(body, 4),
                           big_endian_32(body, 8)};
  CANTILEVER_CHECK(
      uint64_t{frame.left} + frame.width <= width_ && uint64_t{frame.top} + frame.height <= height_,
      "PNG: broken animation; a frame reaches out of the picture");
  if (!has_data_) frame_ = frame;
}

void PngChunks::read_frame_number(size_t length) {
  CANTILEVER_CHECK(length >= 4, "PNG: chunk fdAT has ", length, " bytes, it needs 4");
  const uint32_t number = big_endian_32(take(4));
  CANTILEVER_CHECK(last_frame_number_ && *last_frame_number_ + uint64_t{1} == number,
                   "PNG: broken animation; frame number ", number, " is out of order");
  last_frame_number_ = number;
}

int PngChunks::orientation() const {
  int orientation = exif_orientation(exif_.empty() ? unpack_raw_profile(raw_profile_) : exif_);
  if (orientation == 0) orientation = xmp_orientation(xmp_);
  return orientation == 0 ? 1 : orientation;
}

}  // namespace cantilever
