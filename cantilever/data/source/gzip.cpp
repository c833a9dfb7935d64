#include "cantilever/data/source/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

class Inflater {
 public:
  Inflater() { CANTILEVER_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK, "zlib: no memory"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& operator*() { return stream_; }
  z_stream* operator->() { return &stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

std::string unpack_gzip(std::string_view bytes, size_t limit, const std::string& where) {
  constexpr size_t kStep = size_t{1} << 20;
  Inflater inflater;
  std::string out;
  size_t taken = 0;
  size_t filled = 0;
  for (;;) {
    // One byte more than allowed tells what is too large from what just fits.
    if (filled == out.size()) {
      out.resize(std::min(limit + 1, std::max(2 * out.size(), std::min(limit + 1, kStep / 16))));
    }
    const size_t in = std::min(bytes.size() - taken, kStep);
    const size_t room = std::min(out.size() - filled, kStep);
    inflater->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    inflater->avail_in = static_cast<uInt>(in);
    inflater->next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    inflater->avail_out = static_cast<uInt>(room);
    const int status = inflate(&*inflater, Z_NO_FLUSH);
    taken += in - inflater->avail_in;
    filled += room - inflater->avail_out;
    CANTILEVER_CHECK(filled <= limit, where, ": unpacks to more than ", limit, " bytes");
    if (status == Z_STREAM_END) {
      // Another member may follow; what is no gzip behind the end (padding) is left alone.
      if (!is_gzip(bytes.substr(taken))) break;
      inflateReset(&*inflater);
      continue;
    }
    CANTILEVER_CHECK(status == Z_OK || status == Z_BUF_ERROR, where,
                     ": the gzip stream is damaged at byte ", taken, " (",
                     inflater->msg == nullptr ? "no reason given" : inflater->msg, ")");
    CANTILEVER_CHECK(taken < bytes.size() || inflater->avail_out == 0, where,
                     ": the gzip stream is cut off at byte ", taken);
  }
  out.resize(filled);
  return out;
}

}  // namespace cantilever
