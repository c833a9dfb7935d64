#include "cantilever/data/image/jpeg_library.h"

#include <cstddef>
#include <cstdio>  // jpeglib.h needs these two before it

#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "cantilever/base/error.h"

// libjpeg reports fatal errors by a callback that must not return: longjmp here. Every function
// below that calls libjpeg sets its own jump target and holds no C++ object, since a jump over a
// destructor is undefined.

namespace cantilever {
namespace {

// More scans than any encoder writes; without a limit a few kilobytes of empty progressive scans
// over a huge picture keep a core busy for minutes.
constexpr int kMaxScans = 500;

}  // namespace

struct JpegLibrary::Session {
  jpeg_decompress_struct decompress;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf on_error;
  char message[JMSG_LENGTH_MAX];
};

namespace {

using Session = JpegLibrary::Session;

Session& session_of(j_common_ptr common) {
  return *static_cast<Session*>(common->client_data);
}

[[noreturn]] void raise_error(j_common_ptr common) {
  Session& session = session_of(common);
  (*common->err->format_message)(common, session.message);
  std::longjmp(session.on_error, 1);
}

void ignore_message(j_common_ptr) {}

// Counts what Pillow tolerates (wrong Huffman codes, missing data) and stays silent.
void count_warning(j_common_ptr common, int level) {
  if (level < 0) ++common->err->num_warnings;
}

void do_nothing(j_decompress_ptr) {}

// No more bytes: libjpeg gives back control ("suspends"), which here always means truncation.
boolean suspend(j_decompress_ptr) {
  return FALSE;
}

void skip_bytes(j_decompress_ptr decompress, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *decompress->src;
  const size_t skipped = std::min(static_cast<size_t>(count), source.bytes_in_buffer);
  source.next_input_byte += skipped;
  source.bytes_in_buffer -= skipped;
  // A skip past the end must not look complete: the next read then suspends.
}

void limit_scans(j_common_ptr common) {
  if (common->is_decompressor == 0) return;
  if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number <= kMaxScans) return;
  Session& session = session_of(common);
  std::snprintf(session.message, sizeof(session.message), "more than %d scans", kMaxScans);
  std::longjmp(session.on_error, 1);
}

using Outcome = JpegLibrary::Outcome;

bool open_session(Session& session, const unsigned char* bytes, size_t size) {
  std::memset(&session, 0, sizeof(session));
  session.decompress.err = jpeg_std_error(&session.errors);
  session.decompress.client_data = &session;
  session.errors.error_exit = raise_error;
  session.errors.output_message = ignore_message;
  session.errors.emit_message = count_warning;
  if (setjmp(session.on_error) != 0) return false;
  jpeg_create_decompress(&session.decompress);
  session.decompress.client_data = &session;
  session.source.next_input_byte = bytes;
  session.source.bytes_in_buffer = size;
  session.source.init_source = do_nothing;
  session.source.fill_input_buffer = suspend;
  session.source.skip_input_data = skip_bytes;
  session.source.resync_to_restart = jpeg_resync_to_restart;
  session.source.term_source = do_nothing;
  session.decompress.src = &session.source;
  session.progress.progress_monitor = limit_scans;
  session.decompress.progress = &session.progress;
  return true;
}

// Up to the frame and scan header of the picture.
Outcome read_header(Session& session) {
  if (setjmp(session.on_error) != 0) return Outcome::kFailed;
  int found = JPEG_HEADER_TABLES_ONLY;
  while (found == JPEG_HEADER_TABLES_ONLY) found = jpeg_read_header(&session.decompress, FALSE);
  return found == JPEG_SUSPENDED ? Outcome::kTruncated : Outcome::kOk;
}

Outcome start(Session& session, J_COLOR_SPACE output) {
  if (setjmp(session.on_error) != 0) return Outcome::kFailed;
  session.decompress.out_color_space = output;
  return jpeg_start_decompress(&session.decompress) ? Outcome::kOk : Outcome::kTruncated;
}

Outcome read_one_row(Session& session, unsigned char* row) {
  if (setjmp(session.on_error) != 0) return Outcome::kFailed;
  JSAMPROW rows[1] = {row};
  return jpeg_read_scanlines(&session.decompress, rows, 1) == 1 ? Outcome::kOk
                                                                : Outcome::kTruncated;
}

// A missing end marker is forgiven, since every row is there.
Outcome finish_session(Session& session) {
  if (setjmp(session.on_error) != 0) return Outcome::kFailed;
  jpeg_finish_decompress(&session.decompress);
  return Outcome::kOk;
}

// a * b / 255, rounded, as Pillow computes it without a division.
int multiply_255(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

// `cmyk` as stored by Adobe, that is inverted: 255 is no ink.
void cmyk_to_rgb(const uint8_t* cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int white = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const int value = white - multiply_255(255 - cmyk[c], white);
      rgb[c] = static_cast<uint8_t>(std::clamp(value, 0, 255));
    }
  }
}

}  // namespace

JpegLibrary::JpegLibrary() : session_(std::make_unique<Session>()) {}

JpegLibrary::~JpegLibrary() {
  close();
}

void JpegLibrary::close() {
  if (is_open_) jpeg_destroy_decompress(&session_->decompress);  // raises no error
  is_open_ = false;
}

void JpegLibrary::open(std::span<const std::byte> encoded, const JpegHeader& header) {
  close();
  width_ = header.width;
  height_ = header.height;
  is_cmyk_ = header.components == 4;
  row_ = 0;
  const bool opened = open_session(
      *session_, reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size());
  is_open_ = true;
  CANTILEVER_CHECK(opened, "JPEG: ", session_->message);
  check(read_header(*session_));
  const jpeg_decompress_struct& found = session_->decompress;
  // The file is read twice, by us and by libjpeg: rows are sized by the first reading.
  CANTILEVER_CHECK(static_cast<int64_t>(found.image_width) == width_ &&
                       static_cast<int64_t>(found.image_height) == height_ &&
                       found.num_components == header.components,
                   "JPEG: contradicting frame headers, ", width_, " x ", height_, " and ",
                   found.image_width, " x ", found.image_height);
  check(start(*session_, is_cmyk_ ? JCS_CMYK : JCS_RGB));
}

void JpegLibrary::read_row(uint8_t* rgb) {
  const auto cmyk_bytes = static_cast<size_t>(width_) * 4;
  if (is_cmyk_ && cmyk_.size() < cmyk_bytes) cmyk_.resize(cmyk_bytes);
  check(read_one_row(*session_, is_cmyk_ ? cmyk_.data() : rgb));
  if (is_cmyk_) cmyk_to_rgb(cmyk_.data(), width_, rgb);
  ++row_;
}

void JpegLibrary::finish() {
  check(finish_session(*session_));
  close();
}

void JpegLibrary::check(Outcome outcome) {
  if (outcome == Outcome::kOk) return;
  close();  // the message stays
  CANTILEVER_CHECK(outcome != Outcome::kTruncated, "JPEG: truncated; the data ends in row ", row_,
                   " of ", height_);
  throw_error(concat("JPEG: broken; ", session_->message, " (row ", row_, " of ", height_, ")"));
}

}  // namespace cantilever
