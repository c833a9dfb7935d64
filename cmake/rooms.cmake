# One static library a room, one test binary a room.
#
#   cantilever_room(NAME io DIR io DEPENDS base LIBRARIES nlohmann_json::nlohmann_json [TORCH])
#
# makes cantilever_NAME of all .cpp files of the folder (not of folders below it).

if(CANTILEVER_TORCH)
  # Built once, used by every room and test that includes torch.
  # file(CONFIGURE) leaves an equal file alone: a new configuration does not build it again.
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/torch_pch.cpp"
       CONTENT "// carries the precompiled torch headers\n")
  add_library(cantilever_torch_pch OBJECT "${CMAKE_BINARY_DIR}/torch_pch.cpp")
  target_link_libraries(cantilever_torch_pch PUBLIC cantilever::torch cantilever_warnings)
  target_compile_options(cantilever_torch_pch PRIVATE -fpch-preprocess)
  target_precompile_headers(cantilever_torch_pch PRIVATE
    <ATen/ATen.h> <torch/types.h> <torch/nn/module.h> <torch/csrc/autograd/custom_function.h>
    <torch/csrc/autograd/autograd.h> <torch/csrc/autograd/grad_mode.h>
    <map> <memory> <string> <vector> <functional> <filesystem> <optional>)
endif()

function(cantilever_use_torch target)
  target_link_libraries(${target} PUBLIC cantilever::torch)
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # The precompiled header was built with -fPIC; an executable would use -fPIE.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM cantilever_torch_pch)
endfunction()

function(cantilever_room)
  cmake_parse_arguments(ROOM "TORCH" "NAME;DIR" "DEPENDS;LIBRARIES" ${ARGN})
  if(ROOM_TORCH AND NOT CANTILEVER_TORCH)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${ROOM_DIR}/*.cpp")
  if(NOT sources)
    return()
  endif()
  set(target cantilever_${ROOM_NAME})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}")
  foreach(dependency ${ROOM_DEPENDS})
    target_link_libraries(${target} PUBLIC cantilever_${dependency})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ROOM_LIBRARIES} PRIVATE cantilever_warnings)
  if(ROOM_TORCH)
    cantilever_use_torch(${target})
  endif()
endfunction()

# Test binary NAME_tests of tests/DIR/*_test.cpp; torch when the room has it.
function(cantilever_room_tests)
  cmake_parse_arguments(ROOM "TORCH" "NAME;DIR" "DEPENDS" ${ARGN})
  if(ROOM_TORCH AND NOT CANTILEVER_TORCH)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${ROOM_DIR}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  set(target ${ROOM_NAME}_tests)
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}")
  foreach(dependency ${ROOM_DEPENDS})
    target_link_libraries(${target} PRIVATE cantilever_${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main
                        cantilever_warnings)
  target_compile_definitions(${target} PRIVATE
    CANTILEVER_TEST_ROOT="${CMAKE_SOURCE_DIR}/tests")
  if(ROOM_TORCH)
    cantilever_use_torch(${target})
  endif()
  add_test(NAME ${ROOM_NAME} COMMAND ${target})
endfunction()
