#include "cantilever/data/device/nvjpeg_api.h"

#include <dlfcn.h>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr int kKnownMajor = 13;

template <class Function>
void load_symbol(void* handle, const std::string& library, const char* name, Function& place) {
  void* address = ::dlsym(handle, name);
  CANTILEVER_CHECK(address != nullptr, library, ": has no function ", name,
                   "; is it another library, or too old?");
  place = reinterpret_cast<Function>(address);
}

int property(const NvjpegApi& api, NvjpegProperty which) {
  int value = -1;
  return api.get_property(which, &value) == kNvjpegSuccess ? value : -1;
}

}  // namespace

const char* nvjpeg_status_name(NvjpegStatus status) {
  switch (status) {
    case kNvjpegSuccess:
      return "NVJPEG_STATUS_SUCCESS";
    case kNvjpegNotInitialized:
      return "NVJPEG_STATUS_NOT_INITIALIZED";
    case kNvjpegInvalidParameter:
      return "NVJPEG_STATUS_INVALID_PARAMETER";
    case kNvjpegBadJpeg:
      return "NVJPEG_STATUS_BAD_JPEG";
    case kNvjpegJpegNotSupported:
      return "NVJPEG_STATUS_JPEG_NOT_SUPPORTED";
    case kNvjpegAllocatorFailure:
      return "NVJPEG_STATUS_ALLOCATOR_FAILURE";
    case kNvjpegExecutionFailed:
      return "NVJPEG_STATUS_EXECUTION_FAILED";
    case kNvjpegArchMismatch:
      return "NVJPEG_STATUS_ARCH_MISMATCH";
    case kNvjpegInternalError:
      return "NVJPEG_STATUS_INTERNAL_ERROR";
    case kNvjpegImplementationNotSupported:
      return "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED";
    case kNvjpegIncompleteBitstream:
      return "NVJPEG_STATUS_INCOMPLETE_BITSTREAM";
  }
  return "an nvJPEG status without a name";
}

NvjpegApi load_nvjpeg(const std::string& library) {
  // Never closed: the library keeps threads and device state of its own.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    throw_error(concat("cannot load ", library, ": ", reason == nullptr ? "unknown" : reason));
  }
  NvjpegApi api;
  const auto load = [&](const char* name, auto& place) {
    load_symbol(handle, library, name, place);
  };
  load("nvjpegGetProperty", api.get_property);
  const int major = property(api, kNvjpegMajorVersion);
  CANTILEVER_CHECK(major == kKnownMajor, library, ": is of version ", major, ", and version ",
                   kKnownMajor, " is known");
  load("nvjpegCreateEx", api.create_ex);
  load("nvjpegDestroy", api.destroy);
  load("nvjpegJpegStateCreate", api.jpeg_state_create);
  load("nvjpegJpegStateDestroy", api.jpeg_state_destroy);
  load("nvjpegJpegStreamCreate", api.jpeg_stream_create);
  load("nvjpegJpegStreamDestroy", api.jpeg_stream_destroy);
  load("nvjpegJpegStreamParseHeader", api.jpeg_stream_parse_header);
  load("nvjpegJpegStreamGetFrameDimensions", api.jpeg_stream_get_frame_dimensions);
  load("nvjpegDecodeParamsCreate", api.decode_params_create);
  load("nvjpegDecodeParamsDestroy", api.decode_params_destroy);
  load("nvjpegDecodeParamsSetOutputFormat", api.decode_params_set_output_format);
  load("nvjpegDecodeBatchedSupportedEx", api.decode_batched_supported_ex);
  load("nvjpegDecodeBatchedInitialize", api.decode_batched_initialize);
  load("nvjpegDecodeBatched", api.decode_batched);
  api.name = concat("nvJPEG ", major, ".", property(api, kNvjpegMinorVersion), ".",
                    property(api, kNvjpegPatchLevel));
  return api;
}

}  // namespace cantilever
