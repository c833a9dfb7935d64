#pragma once

#include <cstddef>

#include "cantilever/data/device/nvjpeg_api.h"

namespace cantilever {

// nvJPEG's entry points done by libjpeg-turbo in host memory: device decoding without a device, for
// tests, sanitizers and machines that have none. It takes what nvJPEG's hardware engine takes
// (sequential Huffman coding, 8 bits, grey or YCbCr with 4:4:4, 4:2:2, 4:2:0, 4:4:0) and checks its
// arguments as strictly as it can. Pixels are libjpeg's; a picture over which libjpeg has to warn
// counts as failed.
NvjpegApi stand_in_nvjpeg();

// Misbehaviour on demand, for tests; of the whole process.
struct StandInSwitches {
  bool refuse_creation = false;
  bool refuse_hardware = false;   // create_ex only with the default backend
  bool widen_pictures = false;    // frame dimensions are one too large
  bool fail_every_batch = false;  // of more than one picture
  size_t fail_length = 0;         // the picture with so many bytes fails when it is decoded
};
void set_stand_in_switches(const StandInSwitches& switches);

}  // namespace cantilever
