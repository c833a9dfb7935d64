#pragma once

#include "cantilever/data/image/jpeg_color.h"

namespace cantilever {

#if defined(__x86_64__)
extern const JpegColorKernels kJpegColorKernelsAvx2;
#endif

}  // namespace cantilever
