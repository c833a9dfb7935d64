# Third-party libraries as targets cantilever::NAME. LibTorch and Arrow come from wheels unpacked
# side by side in .deps/site, everything else from Debian packages.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
set(SITE "${CANTILEVER_DEPS}/site")

function(require_file path)
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "${path} is missing: run `make setup` first")
  endif()
endfunction()

find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(GTest REQUIRED)
find_package(TIFF 4.5 REQUIRED)
pkg_check_modules(FREETYPE REQUIRED IMPORTED_TARGET freetype2)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)

# Arrow and Parquet of the pyarrow wheel: versioned libraries without a development link.
require_file("${SITE}/pyarrow/include/arrow/api.h")
file(GLOB ARROW_LIBRARY "${SITE}/pyarrow/libarrow.so.*")
file(GLOB PARQUET_LIBRARY "${SITE}/pyarrow/libparquet.so.*")
add_library(cantilever_arrow INTERFACE)
target_include_directories(cantilever_arrow SYSTEM INTERFACE "${SITE}/pyarrow/include")
target_link_libraries(cantilever_arrow INTERFACE ${PARQUET_LIBRARY} ${ARROW_LIBRARY})
target_link_options(cantilever_arrow INTERFACE "-Wl,-rpath,${SITE}/pyarrow")
add_library(cantilever::arrow ALIAS cantilever_arrow)

if(CANTILEVER_TORCH)
  # libtorch.so would drag in all of CUDA; libtorch_cpu.so needs only the CUDA runtime and CUPTI,
  # which it finds by its own rpath.
  require_file("${SITE}/torch/lib/libtorch_cpu.so")
  find_package(OpenMP REQUIRED)
  add_library(cantilever_torch INTERFACE)
  target_include_directories(cantilever_torch SYSTEM INTERFACE
    "${SITE}/torch/include" "${SITE}/torch/include/torch/csrc/api/include")
  target_compile_definitions(cantilever_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  # at::parallel_for is inline: without -fopenmp it runs on one thread, silently.
  target_compile_options(cantilever_torch INTERFACE -fopenmp)
  target_link_libraries(cantilever_torch INTERFACE
    "${SITE}/torch/lib/libtorch_cpu.so" "${SITE}/torch/lib/libc10.so" Threads::Threads)
  target_link_options(cantilever_torch INTERFACE "-Wl,-rpath,${SITE}/torch/lib"
    "-Wl,-rpath-link,${SITE}/torch/lib" "-Wl,--allow-shlib-undefined")
  file(GLOB WHEEL_GOMP "${SITE}/torch/lib/libgomp*.so*" "${SITE}/torch.libs/libgomp*.so*")
  if(WHEEL_GOMP)
    # One OpenMP runtime a process: the wheel's own copy also serves our -fopenmp code.
    target_link_libraries(cantilever_torch INTERFACE ${WHEEL_GOMP})
  endif()
  add_library(cantilever::torch ALIAS cantilever_torch)
endif()
