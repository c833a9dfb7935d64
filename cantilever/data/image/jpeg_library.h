#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cantilever/data/image/jpeg.h"

namespace cantilever {

// libjpeg-turbo, row by row: every kind of JPEG, and the judge of everything irregular. Not made
// for reuse inside: tables of one picture would outlive it and serve a broken one behind it.
class JpegLibrary {
 public:
  JpegLibrary();
  ~JpegLibrary();
  JpegLibrary(const JpegLibrary&) = delete;
  JpegLibrary& operator=(const JpegLibrary&) = delete;

  // Up to the first row. `encoded` must live until finish(). All of these throw Error with the row.
  void open(std::span<const std::byte> encoded, const JpegHeader& header);
  int row() const { return row_; }  // the next one
  void read_row(uint8_t* rgb);      // header.width * 3 bytes
  // After the last row: what lies behind it. A missing end marker is forgiven.
  void finish();
  // Gives back what libjpeg holds; also done by finish() and by an error.
  void close();

  // Public for the functions of the .cpp file, which may hold no C++ object.
  struct Session;
  enum class Outcome { kOk, kTruncated, kFailed };

 private:
  void check(Outcome outcome);

  std::unique_ptr<Session> session_;
  std::vector<uint8_t> cmyk_;
  int width_ = 0;
  int height_ = 0;
  int row_ = 0;
  bool is_cmyk_ = false;
  bool is_open_ = false;
};

}  // namespace cantilever
