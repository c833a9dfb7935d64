#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cantilever {

enum class PictureFormat { kJpeg, kPng, kGif, kWebp, kTiff, kBmp, kDib, kIco, kPpm, kOther };

// Those that are read, for messages: "JPEG, PNG, ... are read".
inline constexpr const char* kFormatsThatAreRead =
    "JPEG, PNG, WebP, GIF, TIFF, BMP, ICO and PPM (PBM, PGM, PFM) are read";

// By magic bytes, as Pillow accepts them. kDib is a bitmap without its file header.
PictureFormat sniff_picture_format(std::span<const std::byte> encoded);

// For bytes of another format: what they look like ("an AVIF picture", "an HTML page", "an empty
// file", "a Git LFS pointer ..."). Never empty.
std::string describe_foreign_bytes(std::span<const std::byte> encoded);

}  // namespace cantilever
