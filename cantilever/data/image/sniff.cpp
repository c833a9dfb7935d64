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
    Magic{0, "\0\0\2\0"sv, "a Windows cursor (CUR)"},
    Magic{4, "ftypavif"sv, "an AVIF picture"},
    Magic{4, "ftypavis"sv, "an AVIF picture"},
    Magic{4, "ftyphei"sv, "a HEIC picture"},
    Magic{4, "ftyphev"sv, "a HEIC picture"},
    Magic{4, "ftypmif1"sv, "a HEIF picture"},
    Magic{4, "ftypmsf1"sv, "a HEIF picture"},
    Magic{4, "ftypcrx "sv, "a Canon raw photo"},
    Magic{4, "ftyp"sv, "an MP4 or QuickTime video"},
    Magic{4, "moov"sv, "a QuickTime video"},
    Magic{4, "mdat"sv, "a QuickTime video"},
    Magic{0, "\x1a\x45\xdf\xa3"sv, "a Matroska or WebM video"},
    Magic{8, "AVI LIST"sv, "an AVI video"},
    Magic{0, "\0\0\1\xba"sv, "an MPEG video"},
    Magic{0, "FLV\1"sv, "a Flash video"},
    Magic{0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11"sv, "a Windows Media video"},
    Magic{0, "OggS"sv, "an Ogg file"},
    Magic{8, "WAVE"sv, "a WAV sound"},
    Magic{0, "ID3"sv, "an MP3 sound"},
    Magic{0, "fLaC"sv, "a FLAC sound"},
    Magic{0, "II\xbc\1"sv, "a JPEG XR picture"},
    Magic{0, "FUJIFILMCCD-RAW"sv, "a Fujifilm raw photo"},
    Magic{0, "IIU\0"sv, "a Panasonic raw photo"},
    Magic{0, "DDS "sv, "a DDS texture"},
    Magic{0, "\xabKTX "sv, "a KTX texture"},
    Magic{0, "qoif"sv, "a QOI picture"},
    Magic{0, "icns"sv, "an Apple icon (ICNS)"},
    Magic{0, "BPG\xfb"sv, "a BPG picture"},
    Magic{0, "\x76\x2f\x31\x01"sv, "an OpenEXR picture"},
    Magic{0, "#?RADIANCE"sv, "a Radiance HDR picture"},
    Magic{0, "SIMPLE  ="sv, "a FITS picture"},
    Magic{0, "\x59\xa6\x6a\x95"sv, "a Sun raster picture"},
    Magic{0, "\1\xda"sv, "an SGI picture"},
    Magic{0, "gimp xcf"sv, "a GIMP picture (XCF)"},
    Magic{0, "\xd7\xcd\xc6\x9a"sv, "a Windows metafile (WMF)"},
    Magic{0, "%!PS"sv, "a PostScript document"},
    Magic{0, "\xc5\xd0\xd3\xc6"sv, "a PostScript document (EPS)"},
    Magic{0, "AT&TFORM"sv, "a DjVu document"},
    Magic{0, "P7\n"sv, "a PAM picture"},
    Magic{0, "PF\n"sv, "a PFM picture in colour"},
    Magic{0, "/* XPM */"sv, "an XPM picture"},
    Magic{0, "\x89HDF"sv, "an HDF5 file"},
    Magic{0, "\x93NUMPY"sv, "a NumPy array"},
    Magic{0, "BZh"sv, "a bzip2 file"},
    Magic{0, "\xfd\x37zXZ"sv, "an xz file"},
    Magic{0, "\x28\xb5\x2f\xfd"sv, "a zstd file"},
    Magic{0, "7z\xbc\xaf"sv, "a 7-Zip archive"},
    Magic{0, "Rar!"sv, "a RAR archive"},
    Magic{257, "ustar"sv, "a tar archive"},
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

bool is_webp(std::string_view text) {
  return text.starts_with("RIFF"sv) && text.size() >= 12 && text.substr(8, 4) == "WEBP"sv;
}

bool is_tiff(std::string_view text) {
  // Two are no TIFF by the letter, but Pillow reads them; the last two are BigTIFF.
  constexpr std::array kMarks = {"MM\0*"sv, "II*\0"sv, "MM*\0"sv, "II\0*"sv, "MM\0+"sv, "II+\0"sv};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return text.starts_with(mark); });
}

// The size of a bitmap header that is known.
bool is_dib(std::string_view text) {
  constexpr std::string_view kSizes = "\x0c\x28\x34\x38\x40\x6c\x7c"sv;
  return text.size() >= 4 && text.substr(1, 3) == "\0\0\0"sv &&
         kSizes.find(text[0]) != std::string_view::npos;
}

bool is_ppm(std::string_view text) {
  constexpr std::string_view kKinds = "123456f"sv;
  return text.size() >= 3 && text[0] == 'P' && kKinds.find(text[1]) != std::string_view::npos &&
         (text[2] == ' ' || (text[2] >= '\t' && text[2] <= '\r'));
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
  if (text.starts_with("GIF87a"sv) || text.starts_with("GIF89a"sv)) return PictureFormat::kGif;
  if (is_webp(text)) return PictureFormat::kWebp;
  if (is_tiff(text)) return PictureFormat::kTiff;
  if (text.starts_with("BM"sv)) return PictureFormat::kBmp;
  if (is_dib(text)) return PictureFormat::kDib;
  if (text.starts_with("\0\0\1\0"sv)) return PictureFormat::kIco;
  if (is_ppm(text)) return PictureFormat::kPpm;
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
