#pragma once

#include <cstddef>
#include <string>

namespace cantilever {

// nvJPEG's C interface as far as it is used here, in declarations of our own: numbers, struct
// layout and parameter lists of version 13 (https://docs.nvidia.com/cuda/nvjpeg). Nothing of
// CUDA is needed to build.

enum NvjpegStatus : int {
  kNvjpegSuccess = 0,
  kNvjpegNotInitialized = 1,
  kNvjpegInvalidParameter = 2,
  kNvjpegBadJpeg = 3,
  kNvjpegJpegNotSupported = 4,
  kNvjpegAllocatorFailure = 5,
  kNvjpegExecutionFailed = 6,
  kNvjpegArchMismatch = 7,
  kNvjpegInternalError = 8,
  kNvjpegImplementationNotSupported = 9,
  kNvjpegIncompleteBitstream = 10,
};
const char* nvjpeg_status_name(NvjpegStatus status);  // "NVJPEG_STATUS_BAD_JPEG"

enum NvjpegBackend : int { kNvjpegBackendDefault = 0, kNvjpegBackendHardware = 3 };
enum NvjpegOutputFormat : int { kNvjpegOutputRgbInterleaved = 5 };
enum NvjpegProperty : int {
  kNvjpegMajorVersion = 0,
  kNvjpegMinorVersion = 1,
  kNvjpegPatchLevel = 2,
};

// Flag of create_ex: chroma is interpolated when it is enlarged, as libjpeg does it.
inline constexpr unsigned kNvjpegInterpolatedUpsampling = 1U << 5U;

// Planes in device memory; interleaved RGB uses the first. Pitch: bytes from row to row.
struct NvjpegImage {
  unsigned char* channel[4] = {};
  size_t pitch[4] = {};
};

// Opaque objects of the library, and a CUDA stream.
struct NvjpegLibrary;
struct NvjpegState;
struct NvjpegStream;
struct NvjpegParams;
using NvjpegCudaStream = void*;

// The entry points that a decoder calls, of the real library or of the stand-in. A member is named
// as the function without its prefix: decode_batched is nvjpegDecodeBatched. One library object may
// be used by several threads; a state, stream or params object by one at a time.
struct NvjpegApi {
  std::string name;  // "nvJPEG 13.0.1"

  NvjpegStatus (*get_property)(NvjpegProperty, int* value) = nullptr;
  NvjpegStatus (*create_ex)(NvjpegBackend, void* device_allocator, void* pinned_allocator,
                            unsigned flags, NvjpegLibrary**) = nullptr;
  NvjpegStatus (*destroy)(NvjpegLibrary*) = nullptr;

  NvjpegStatus (*jpeg_state_create)(NvjpegLibrary*, NvjpegState**) = nullptr;
  NvjpegStatus (*jpeg_state_destroy)(NvjpegState*) = nullptr;

  // A stream object holds what was read of one picture's headers.
  NvjpegStatus (*jpeg_stream_create)(NvjpegLibrary*, NvjpegStream**) = nullptr;
  NvjpegStatus (*jpeg_stream_destroy)(NvjpegStream*) = nullptr;
  NvjpegStatus (*jpeg_stream_parse_header)(NvjpegLibrary*, const unsigned char* data, size_t length,
                                           NvjpegStream*) = nullptr;
  NvjpegStatus (*jpeg_stream_get_frame_dimensions)(NvjpegStream*, unsigned* width,
                                                   unsigned* height) = nullptr;

  NvjpegStatus (*decode_params_create)(NvjpegLibrary*, NvjpegParams**) = nullptr;
  NvjpegStatus (*decode_params_destroy)(NvjpegParams*) = nullptr;
  NvjpegStatus (*decode_params_set_output_format)(NvjpegParams*, NvjpegOutputFormat) = nullptr;

  // *is_supported: 0 when decode_batched takes the picture.
  NvjpegStatus (*decode_batched_supported_ex)(NvjpegLibrary*, NvjpegStream*, NvjpegParams*,
                                              int* is_supported) = nullptr;
  NvjpegStatus (*decode_batched_initialize)(NvjpegLibrary*, NvjpegState*, int batch_size,
                                            int max_cpu_threads, NvjpegOutputFormat) = nullptr;
  // One status for the whole batch. Work may go on in the CUDA stream after the return.
  NvjpegStatus (*decode_batched)(NvjpegLibrary*, NvjpegState*, const unsigned char* const* data,
                                 const size_t* lengths, NvjpegImage* destinations,
                                 NvjpegCudaStream) = nullptr;
};

// The entry points of a shared library ("libnvjpeg.so.13"), which stays loaded until the process
// ends. Throws Error with the reason: not found, a symbol is missing, another major version.
NvjpegApi load_nvjpeg(const std::string& library);

}  // namespace cantilever
