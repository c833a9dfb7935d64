#include "cantilever/base/error.h"
#include "cantilever/data/device/device_decoder.h"
#include "cantilever/data/device/device_runtime.h"
#include "cantilever/data/device/nvjpeg_decoder.h"
#include "cantilever/data/device/stand_in_nvjpeg.h"

namespace cantilever {
namespace {

constexpr const char* kNvjpegLibrary = "libnvjpeg.so.13";

// What load_nvjpeg says, for a reader who wonders which of two things is missing.
std::string describe_nvjpeg() {
  try {
    return concat(load_nvjpeg(kNvjpegLibrary).name, " is here");
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::shared_ptr<DeviceDecoder> open_device_decoder(const std::string& device) {
  if (device == "cpu") return make_nvjpeg_decoder(stand_in_nvjpeg(), make_host_runtime());
  CANTILEVER_CHECK(device != "cuda" && !device.starts_with("cuda:"), "pictures cannot be decoded ",
                   "on ", quoted(device), ": this build has no CUDA (memory, streams and the ",
                   "resize kernel are missing; of nvJPEG: ", describe_nvjpeg(),
                   "); run on the CPU or without --mediapipe_dataloader");
  throw_error(concat("pictures cannot be decoded on ", quoted(device),
                     ": cpu is the only device that decodes in this build"));
}

}  // namespace cantilever
