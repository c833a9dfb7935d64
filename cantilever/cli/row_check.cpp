#include "cantilever/cli/row_check.h"

#include <cctype>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/data/text/utf8.h"

namespace cantilever {
namespace {

// FNV-1a over words of eight bytes, with splitmix64's finaliser: told apart are a few million
// pictures, nothing that somebody made to collide.
uint64_t hash_bytes(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325U ^ bytes.size();
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

uint64_t hash_text(std::string_view text) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())));
}

std::string why_no_caption(const std::string& caption) {
  if (caption.find_first_not_of(" \t\r\n\v\f") == std::string::npos) {
    return caption.empty() ? "the caption is empty" : "the caption holds nothing but blanks";
  }
  const size_t valid = valid_utf8_prefix(caption);
  if (valid == caption.size()) return "";
  return concat("the caption is not UTF-8 from byte ", valid, " on");
}

}  // namespace

void RowChecker::check(int64_t row, RowReport& report) {
  report = RowReport();
  report.row = row;
  try {
    source_.read(row, 0, example_);
  } catch (const Error& error) {
    report.kind = "row";
    report.reason = error.what();
    return;
  }
  report.file = example_.image_path;
  report.caption = example_.caption;
  check_captions(report);
  try {
    check_picture(report);
  } catch (const Error& error) {
    report.kind = "picture";
    report.reason = error.what();
  } catch (const std::bad_alloc&) {
    report.kind = "picture";
    report.reason = "there is not enough memory to decode the picture";
  }
}

void RowChecker::check_picture(RowReport& report) {
  report.picture_hash = hash_bytes(example_.encoded);
  DecodeOptions decode = options_.decode;
  decode.apply_exif_orientation = false;  // a turn cannot fail
  const ImageInfo info = decoder_.open(example_.encoded, decode);
  report.format = info.format;
  report.mode = info.mode;
  report.exif_orientation = info.exif_orientation;
  const bool turns = options_.exif_orientation == ExifOrientation::kOn ||
                     (options_.exif_orientation == ExifOrientation::kAuto &&
                      example_.image_kind == ImageKind::kImageFeature);
  report.turned = turns && info.exif_orientation > 1;
  const bool on_its_side = report.turned && info.exif_orientation >= 5;
  report.width = on_its_side ? info.height : info.width;
  report.height = on_its_side ? info.width : info.height;
  for (int below = 0; below < info.height;) {
    const RowBlock rows = decoder_.next_rows();
    below = rows.first + rows.count;
  }
  decoder_.finish();
}

void RowChecker::check_captions(RowReport& report) {
  const std::string& caption = *report.caption;
  report.caption_hash = hash_text(caption);
  report.reason = why_no_caption(caption);
  if (options_.tokenizer) {
    report.input_ids =
        options_.tokenizer->encode(caption, options_.max_seq_length, &report.truncated);
  }
  try {
    const int64_t count = options_.all_captions ? source_.caption_count(report.row) : 1;
    for (int64_t i = 1; i < count && report.reason.empty(); ++i) {
      source_.read_caption(report.row, static_cast<uint64_t>(i), other_caption_);
      const std::string reason = why_no_caption(other_caption_);
      if (!reason.empty()) report.reason = concat("caption ", i, " of the row: ", reason);
    }
  } catch (const Error& error) {
    report.reason = error.what();
  }
  if (!report.reason.empty()) report.kind = "caption";
}

std::string reason_class(const std::string& reason, const std::string& place) {
  constexpr size_t kLongest = 120;
  size_t at = reason.starts_with(place + ": ") ? place.size() + 2 : 0;
  std::string out;
  while (at < reason.size() && out.size() < kLongest) {
    const char c = reason[at];
    const bool begins_word = at == 0 || reason[at - 1] == ' ';
    if (c == '\'' && begins_word) {
      const size_t end = reason.find('\'', at + 1);
      out += "'...'";
      at = end == std::string::npos ? reason.size() : end + 1;
    } else if (begins_word && reason.find('/', at) < reason.find(' ', at)) {
      // A path: up to its blank, with the mark behind it kept.
      const size_t end = std::min(reason.find(' ', at), reason.size());
      out += "'...'";
      const char last = reason[end - 1];
      if (last == ':' || last == ',' || last == ';') out += last;
      at = end;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      out += 'N';
      while (at < reason.size() && std::isdigit(static_cast<unsigned char>(reason[at])) != 0) ++at;
    } else {
      out += c;
      ++at;
    }
  }
  if (at < reason.size()) {
    const auto goes_on = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
    if (goes_on(reason[at])) {  // in the middle of a letter
      while (!out.empty() && goes_on(out.back())) out.pop_back();
      if (!out.empty()) out.pop_back();
    }
    out += "...";
  }
  return out;
}

}  // namespace cantilever
