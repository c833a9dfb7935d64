#pragma once

#include <memory>

#include "cantilever/data/device/device_decoder.h"
#include "cantilever/data/device/device_runtime.h"
#include "cantilever/data/device/nvjpeg_api.h"

namespace cantilever {

// A DeviceDecoder over nvJPEG's batched interface, whoever implements it. Pictures of a batch are
// decoded in groups that fit `pool_bytes` of device memory; when a group fails its pictures are
// tried one by one, so that one bad picture costs its neighbours time but not their path. Throws
// Error when the library cannot be set up.
std::shared_ptr<DeviceDecoder> make_nvjpeg_decoder(const NvjpegApi& api,
                                                   std::unique_ptr<DeviceRuntime> runtime,
                                                   size_t pool_bytes = size_t{256} << 20U);

}  // namespace cantilever
