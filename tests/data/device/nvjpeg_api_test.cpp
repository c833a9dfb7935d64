// The table of entry points: loading it, and what the stand-in makes of wrong calls.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cantilever/data/device/nvjpeg_api.h"
#include "cantilever/data/device/stand_in_nvjpeg.h"
#include "tests/data/device/support.h"

namespace cantilever {
namespace {

using test::Bytes;
using test::make_jpeg;
using testing::HasSubstr;

std::string error_of(const std::string& library) {
  try {
    load_nvjpeg(library);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NvjpegApi, ALibraryThatIsNotThereIsNamed) {
  EXPECT_THAT(
      error_of("libcantilever-none.so.9"),
      testing::AllOf(HasSubstr("cannot load libcantilever-none.so.9"), HasSubstr("No such file")));
}

TEST(NvjpegApi, AnotherLibraryIsNamed) {
  EXPECT_THAT(error_of("libm.so.6"),
              testing::AllOf(HasSubstr("libm.so.6"), HasSubstr("nvjpegGetProperty")));
}

TEST(NvjpegApi, TheRealLibraryHasAllEntryPoints) {
  const char* library = std::getenv("CANTILEVER_NVJPEG");
  if (library == nullptr) GTEST_SKIP() << "CANTILEVER_NVJPEG (path of libnvjpeg.so.13) is not set";
  const NvjpegApi api = load_nvjpeg(library);
  EXPECT_THAT(api.name, testing::StartsWith("nvJPEG 13."));
  NvjpegLibrary* handle = nullptr;
  const NvjpegStatus status = api.create_ex(kNvjpegBackendDefault, nullptr, nullptr,
                                            kNvjpegInterpolatedUpsampling, &handle);
  std::printf("%s: %s\n", api.name.c_str(), nvjpeg_status_name(status));
  EXPECT_EQ(status == kNvjpegSuccess, handle != nullptr);
  if (handle != nullptr) api.destroy(handle);
}

TEST(NvjpegApi, StatusesHaveNames) {
  for (int status = 0; status <= 10; ++status) {
    EXPECT_THAT(nvjpeg_status_name(static_cast<NvjpegStatus>(status)),
                testing::StartsWith("NVJPEG_STATUS_"));
  }
  EXPECT_THAT(nvjpeg_status_name(static_cast<NvjpegStatus>(99)), HasSubstr("without a name"));
}

class StandIn : public testing::Test {
 protected:
  StandIn() {
    EXPECT_EQ(api.create_ex(kNvjpegBackendHardware, nullptr, nullptr, 0, &library), kNvjpegSuccess);
    EXPECT_EQ(api.jpeg_state_create(library, &state), kNvjpegSuccess);
    EXPECT_EQ(api.jpeg_stream_create(library, &stream), kNvjpegSuccess);
    EXPECT_EQ(api.decode_params_create(library, &params), kNvjpegSuccess);
  }
  ~StandIn() override {
    EXPECT_EQ(api.decode_params_destroy(params), kNvjpegSuccess);
    EXPECT_EQ(api.jpeg_stream_destroy(stream), kNvjpegSuccess);
    EXPECT_EQ(api.jpeg_state_destroy(state), kNvjpegSuccess);
    EXPECT_EQ(api.destroy(library), kNvjpegSuccess);
  }

  NvjpegStatus parse(const Bytes& bytes) {
    return api.jpeg_stream_parse_header(
        library, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), stream);
  }
  int supported() {
    int answer = -1;
    EXPECT_EQ(api.decode_batched_supported_ex(library, stream, params, &answer), kNvjpegSuccess);
    return answer;
  }

  const NvjpegApi api = stand_in_nvjpeg();
  NvjpegLibrary* library = nullptr;
  NvjpegState* state = nullptr;
  NvjpegStream* stream = nullptr;
  NvjpegParams* params = nullptr;
};

TEST_F(StandIn, HasItsVersion) {
  int value = 0;
  EXPECT_EQ(api.get_property(kNvjpegMajorVersion, &value), kNvjpegSuccess);
  EXPECT_EQ(value, 13);
}

TEST_F(StandIn, AnswersTheSupportQueryForTheFormatAsked) {
  EXPECT_EQ(parse(make_jpeg(40, 30)), kNvjpegSuccess);
  EXPECT_EQ(supported(), 1) << "no format was set";
  api.decode_params_set_output_format(params, kNvjpegOutputRgbInterleaved);
  EXPECT_EQ(supported(), 0);
  unsigned width = 0;
  unsigned height = 0;
  EXPECT_EQ(api.jpeg_stream_get_frame_dimensions(stream, &width, &height), kNvjpegSuccess);
  EXPECT_EQ(width, 40U);
  EXPECT_EQ(height, 30U);
  EXPECT_EQ(parse(make_jpeg(40, 30, {.progressive = true})), kNvjpegSuccess);
  EXPECT_EQ(supported(), 1);
  EXPECT_EQ(parse(Bytes(50, std::byte{1})), kNvjpegBadJpeg);
  int answer = 0;
  EXPECT_EQ(api.decode_batched_supported_ex(library, stream, params, &answer), kNvjpegBadJpeg);
}

TEST_F(StandIn, DecodesOneBatchWithItsPitch) {
  const Bytes bytes = make_jpeg(40, 30);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t length = bytes.size();
  std::vector<unsigned char> memory(30 * 128, 0xee);
  NvjpegImage image;
  image.channel[0] = memory.data();
  image.pitch[0] = 128;
  EXPECT_EQ(api.decode_batched(library, state, &data, &length, &image, nullptr),
            kNvjpegNotInitialized);
  EXPECT_EQ(api.decode_batched_initialize(library, state, 1, 1, kNvjpegOutputRgbInterleaved),
            kNvjpegSuccess);
  EXPECT_EQ(api.decode_batched(library, state, &data, &length, &image, nullptr), kNvjpegSuccess);
  for (size_t y = 0; y < 30; ++y) EXPECT_EQ(memory[y * 128 + 120], 0xee) << "gap of row " << y;
  image.pitch[0] = 119;
  EXPECT_EQ(api.decode_batched(library, state, &data, &length, &image, nullptr),
            kNvjpegInvalidParameter);
}

TEST_F(StandIn, RefusesWrongArguments) {
  EXPECT_EQ(api.create_ex(kNvjpegBackendHardware, nullptr, nullptr, 0, nullptr),
            kNvjpegInvalidParameter);
  EXPECT_EQ(api.destroy(nullptr), kNvjpegInvalidParameter);
  EXPECT_EQ(api.jpeg_state_create(nullptr, &state), kNvjpegInvalidParameter);
  EXPECT_EQ(api.jpeg_stream_create(library, nullptr), kNvjpegInvalidParameter);
  EXPECT_EQ(api.decode_batched_initialize(library, state, 0, 1, kNvjpegOutputRgbInterleaved),
            kNvjpegInvalidParameter);
  EXPECT_EQ(api.decode_batched_initialize(library, nullptr, 1, 1, kNvjpegOutputRgbInterleaved),
            kNvjpegInvalidParameter);
  EXPECT_EQ(api.decode_batched(library, state, nullptr, nullptr, nullptr, nullptr),
            kNvjpegInvalidParameter);
  EXPECT_EQ(api.jpeg_stream_parse_header(library, nullptr, 0, stream), kNvjpegInvalidParameter);
}

}  // namespace
}  // namespace cantilever
