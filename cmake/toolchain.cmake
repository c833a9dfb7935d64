# Language level, warnings, sanitizers, ccache and mold.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness is what ccache needs to accept a precompiled header; base_dir lets two checkouts
  # share results.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Own code only; third-party headers come in as SYSTEM includes.
add_library(cantilever_warnings INTERFACE)
target_compile_options(cantilever_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(CANTILEVER_WERROR)
  target_compile_options(cantilever_warnings INTERFACE -Werror)
endif()

if(CANTILEVER_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(CANTILEVER_SANITIZE)
  add_compile_options(-fsanitize=${CANTILEVER_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CANTILEVER_SANITIZE})
endif()
