#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cantilever {

enum class PictureFormat { kJpeg, kPng, kOther };

// By magic bytes, as Pillow accepts them: FF D8 FF for JPEG, the eight-byte signature for PNG.
PictureFormat sniff_picture_format(std::span<const std::byte> encoded);

// For bytes that are neither JPEG nor PNG: what they look like ("a WebP picture", "an HTML page",
// "an empty file", "a Git LFS pointer ..."). Never empty.
std::string describe_foreign_bytes(std::span<const std::byte> encoded);

}  // namespace cantilever
