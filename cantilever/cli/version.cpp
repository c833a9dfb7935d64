#include "cantilever/cli/version.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include "cantilever/base/error.h"
#include "cantilever/cli/cpus.h"

namespace cantilever {
namespace {

constexpr const char* kVersion = "0.1.0";  // CMakeLists.txt has the same; a test compares

std::string compiler() {
#if defined(__clang__)
  return concat("clang ", __clang_version__);
#else
  return concat("GCC ", __VERSION__);
#endif
}

std::string build_kind() {
#ifdef NDEBUG
  return "optimised, assertions of libraries off";
#else
  return "assertions of libraries on";
#endif
}

}  // namespace

std::string version_line() {
  return concat("cantilever ", kVersion);
}

Json build_information(int threads) {
  Json out = Json::object();
  out["version"] = kVersion;
  out["compiler"] = compiler();
  out["cplusplus"] = static_cast<int64_t>(__cplusplus);
  out["build"] = build_kind();
  out["torch"] = TORCH_VERSION;
  out["cpu_capability"] = at::get_cpu_capability();
  out["allowed_cpus"] = allowed_cpus();
  out["threads"] = threads;
  Json backends = Json::object();
  backends["cpu"] = "built in";
  backends["cuda"] = "not built, never run";
  backends["hpu"] = "not built, never run";
  out["backends"] = backends;
  Json distributed = Json::object();
  distributed["single"] = "built in";
  distributed["mpi"] = "not built, never run";
  distributed["nccl"] = "not built, never run";
  out["distributed"] = distributed;
  return out;
}

}  // namespace cantilever
