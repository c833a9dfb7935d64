#include "cantilever/data/image/png_writer.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <new>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"

namespace cantilever {
namespace {

struct Session {
  std::jmp_buf on_error;
  char message[256];
  std::vector<std::byte>* out;
};

Session& session_of(png_structp png) {
  return *static_cast<Session*>(png_get_io_ptr(png));
}

[[noreturn]] void raise_error(png_structp png, png_const_charp message) {
  auto& session = *static_cast<Session*>(png_get_error_ptr(png));
  std::snprintf(session.message, sizeof(session.message), "%s", message);
  std::longjmp(session.on_error, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

// No C++ exception may pass through libpng's frames.
void append(png_structp png, png_bytep bytes, size_t count) {
  bool failed = false;
  try {
    const auto* first = reinterpret_cast<const std::byte*>(bytes);
    session_of(png).out->insert(session_of(png).out->end(), first, first + count);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  if (failed) png_error(png, "no memory left");
}

void flush(png_structp) {}

// Holds no C++ object: libpng leaves it by longjmp.
bool write_all(Session& session, png_structp png, png_infop info, const ImageView& image) {
  if (setjmp(session.on_error) != 0) return false;
  png_set_write_fn(png, &session, append, flush);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < image.height; ++y) {
    png_write_row(png,
                  image.pixels + static_cast<size_t>(y) * static_cast<size_t>(image.width) * 3);
  }
  png_write_end(png, info);
  return true;
}

}  // namespace

std::vector<std::byte> encode_png(const ImageView& image) {
  CANTILEVER_CHECK(image.pixels != nullptr && image.width > 0 && image.height > 0, "a picture of ",
                   image.width, " x ", image.height, " pixels cannot be written as PNG");
  std::vector<std::byte> out;
  Session session = {};
  session.out = &out;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, raise_error, ignore_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool written = info != nullptr && write_all(session, png, info, image);
  png_destroy_write_struct(&png, &info);
  CANTILEVER_CHECK(written, "PNG could not be written: ", session.message);
  return out;
}

void write_png(const std::filesystem::path& path, const ImageView& image) {
  AtomicFile file(path);
  file.write(encode_png(image));
  file.commit();
}

}  // namespace cantilever
