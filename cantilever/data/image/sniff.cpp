#include "cantilever/data/image/sniff.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"

namespace cantilever {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n"sv;

struct Magic {
  size_t offset;
  std::string_view bytes;
  const char* description;
};

constexpr std::array kMagics = {
    Magic{0, "GIF87a"sv, "a GIF picture"},
    Magic{0, "GIF89a"sv, "a GIF picture"},
    Magic{8, "WEBP"sv, "a WebP picture"},
    Magic{0, "II*\0"sv, "a TIFF picture"},
    Magic{0, "MM\0*"sv, "a TIFF picture"},
    Magic{0, "II+\0"sv, "a BigTIFF picture"},
    Magic{0, "MM\0+"sv, "a BigTIFF picture"},
    Magic{0, "BM"sv, "a BMP picture"},
    Magic{0, "\0\0\1\0"sv, "a Windows icon (ICO)"},
    Magic{0, "\0\0\2\0"sv, "a Windows cursor (CUR)"},
    Magic{4, "ftypavif"sv, "an AVIF picture"},
    Magic{4, "ftypavis"sv, "an AVIF picture"},
    Magic{4, "ftyphei"sv, "a HEIC picture"},
    Magic{4, "ftyphev"sv, "a HEIC picture"},
    Magic{4, "ftypmif1"sv, "a HEIF picture"},
    Magic{4, "ftypmsf1"sv, "a HEIF picture"},
    Magic{4, "ftyp"sv, "an MP4 or QuickTime file"},
    Magic{0, "\xff\x0a"sv, "a JPEG XL picture"},
    Magic{0, "\0\0\0\x0cJXL "sv, "a JPEG XL picture"},
    Magic{0, "\0\0\0\x0cjP  "sv, "a JPEG 2000 picture"},
    Magic{0, "\xff\x4f\xff\x51"sv, "a JPEG 2000 code stream"},
    Magic{0, "8BPS"sv, "a Photoshop document"},
    Magic{0, "%PDF"sv, "a PDF document"},
    Magic{0, "\x1f\x8b"sv, "a gzip file"},
    Magic{0, "PK\3\4"sv, "a zip archive"},
    Magic{0, "PAR1"sv, "a Parquet file"},
    Magic{0, "\xff\xd8"sv, "a JPEG cut off or damaged after its first two bytes"},
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : (c == '\n' || c == '\r' || c == '\t' || c == '\f');
  });
}

std::string describe_text(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n\f");
  const std::string_view body = start == std::string_view::npos ? "" : text.substr(start);
  if (starts_with_ignoring_case(body, "<!doctype html") ||
      starts_with_ignoring_case(body, "<html") || starts_with_ignoring_case(body, "<head")) {
    return "an HTML page (often an error page saved in place of a picture)";
  }
  if (starts_with_ignoring_case(body, "<svg") ||
      (starts_with_ignoring_case(body, "<?xml") && text.find("<svg") != std::string_view::npos)) {
    return "an SVG drawing";
  }
  if (starts_with_ignoring_case(body, "<?xml")) return "an XML document";
  if (body.starts_with("{") || body.starts_with("[")) return "JSON text";
  return concat("text beginning ", quoted(std::string(body.substr(0, 40))));
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (!out.empty()) out += ' ';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

}  // namespace

PictureFormat sniff_picture_format(std::span<const std::byte> encoded) {
  const std::string_view text = as_text(encoded);
  if (text.starts_with("\xff\xd8\xff"sv)) return PictureFormat::kJpeg;
  if (text.starts_with(kPngSignature)) return PictureFormat::kPng;
  return PictureFormat::kOther;
}

std::string describe_foreign_bytes(std::span<const std::byte> encoded) {
  if (encoded.empty()) return "an empty file";
  if (std::string pointer = describe_lfs_pointer(encoded); !pointer.empty()) return pointer;
  const std::string_view text = as_text(encoded);
  for (const Magic& magic : kMagics) {
    if (text.size() >= magic.offset && text.substr(magic.offset).starts_with(magic.bytes)) {
      return magic.description;
    }
  }
  const std::string_view head = text.substr(0, 512);
  if (head.substr(0, 8).find("PNG") != std::string_view::npos) {
    return "a PNG with a damaged signature (a transfer in text mode does that)";
  }
  const std::string_view unmarked = head.starts_with("\xef\xbb\xbf"sv) ? head.substr(3) : head;
  if (is_text(unmarked)) return describe_text(unmarked);
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == '\0'; })) {
    return "a file of zero bytes only";
  }
  return concat("unknown data beginning ", hex_of(head.substr(0, 8)));
}

}  // namespace cantilever
