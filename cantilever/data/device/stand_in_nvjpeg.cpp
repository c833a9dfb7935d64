#include "cantilever/data/device/stand_in_nvjpeg.h"

#include <cstdio>  // jpeglib.h needs it and <cstddef> before it

#include <jpeglib.h>

#include <jerror.h>

#include <atomic>
#include <csetjmp>
#include <cstring>
#include <memory>

namespace cantilever {

// Each object knows that it is one: a pointer to something else is an invalid parameter.
constexpr unsigned kLive = 0x6a706567;

struct NvjpegLibrary {
  unsigned live = kLive;
};
struct NvjpegState {
  unsigned live = kLive;
  int batch_size = 0;
};
struct NvjpegParams {
  unsigned live = kLive;
  bool is_rgb = false;
};
struct NvjpegStream {
  unsigned live = kLive;
  bool parsed = false;
  bool supported = false;
  unsigned width = 0;
  unsigned height = 0;
};

namespace {

struct Switches {
  std::atomic<bool> refuse_creation{false};
  std::atomic<bool> refuse_hardware{false};
  std::atomic<bool> widen_pictures{false};
  std::atomic<bool> fail_every_batch{false};
  std::atomic<size_t> fail_length{0};
};

Switches& switches() {
  static Switches all;
  return all;
}

template <class Object>
bool is_live(const Object* object) {
  return object != nullptr && object->live == kLive;
}

template <class Object>
NvjpegStatus make(const NvjpegLibrary* library, Object** object) {
  if (!is_live(library) || object == nullptr) return kNvjpegInvalidParameter;
  *object = new Object;
  return kNvjpegSuccess;
}

template <class Object>
NvjpegStatus destroy(Object* object) {
  if (!is_live(object)) return kNvjpegInvalidParameter;
  object->live = 0;
  delete object;
  return kNvjpegSuccess;
}

// libjpeg leaves by longjmp: functions that set a jump target hold no C++ objects.
struct Session {
  jpeg_decompress_struct decompress;
  jpeg_error_mgr errors;
  std::jmp_buf on_error;
  NvjpegStatus status;
};

[[noreturn]] void raise_error(j_common_ptr common) {
  auto& session = *static_cast<Session*>(common->client_data);
  session.status = kNvjpegBadJpeg;
  std::longjmp(session.on_error, 1);
}

// A warning is an error here: the host decides what it thinks of the picture.
void raise_warning(j_common_ptr common, int level) {
  if (level >= 0) return;
  auto& session = *static_cast<Session*>(common->client_data);
  session.status =
      common->err->msg_code == JWRN_JPEG_EOF ? kNvjpegIncompleteBitstream : kNvjpegBadJpeg;
  std::longjmp(session.on_error, 1);
}

void ignore_message(j_common_ptr) {}

// After this, and whatever it returns, jpeg_destroy_decompress() is due.
NvjpegStatus read_header(Session& session, const unsigned char* data, size_t length) {
  std::memset(&session, 0, sizeof(session));
  session.decompress.err = jpeg_std_error(&session.errors);
  session.decompress.client_data = &session;
  session.errors.error_exit = raise_error;
  session.errors.emit_message = raise_warning;
  session.errors.output_message = ignore_message;
  if (setjmp(session.on_error) != 0) return session.status;
  jpeg_create_decompress(&session.decompress);
  jpeg_mem_src(&session.decompress, data, static_cast<unsigned long>(length));
  jpeg_read_header(&session.decompress, TRUE);
  return kNvjpegSuccess;
}

NvjpegStatus read_rows(Session& session, unsigned char* pixels, size_t pitch) {
  if (setjmp(session.on_error) != 0) return session.status;
  jpeg_decompress_struct& decompress = session.decompress;
  decompress.out_color_space = JCS_RGB;
  if (pitch < size_t{3} * decompress.image_width) return kNvjpegInvalidParameter;
  jpeg_start_decompress(&decompress);
  while (decompress.output_scanline < decompress.output_height) {
    JSAMPROW row = pixels + decompress.output_scanline * pitch;
    jpeg_read_scanlines(&decompress, &row, 1);
  }
  jpeg_finish_decompress(&decompress);
  return kNvjpegSuccess;
}

bool has_usual_sampling(const jpeg_decompress_struct& found) {
  if (found.num_components == 1) return found.jpeg_color_space == JCS_GRAYSCALE;
  if (found.num_components != 3 || found.jpeg_color_space != JCS_YCbCr) return false;
  const jpeg_component_info* parts = found.comp_info;
  const bool chroma_is_single = parts[1].h_samp_factor == 1 && parts[1].v_samp_factor == 1 &&
                                parts[2].h_samp_factor == 1 && parts[2].v_samp_factor == 1;
  return chroma_is_single && parts[0].h_samp_factor <= 2 && parts[0].v_samp_factor <= 2;
}

bool engine_takes(const jpeg_decompress_struct& found) {
  return found.progressive_mode == FALSE && found.arith_code == FALSE &&
         found.data_precision == 8 && has_usual_sampling(found);
}

struct SessionDeleter {
  void operator()(Session* session) const {
    jpeg_destroy_decompress(&session->decompress);
    delete session;
  }
};

NvjpegStatus decode_one(const unsigned char* data, size_t length, const NvjpegImage& to) {
  if (data == nullptr || to.channel[0] == nullptr) return kNvjpegInvalidParameter;
  if (length == switches().fail_length) return kNvjpegExecutionFailed;
  const std::unique_ptr<Session, SessionDeleter> session(new Session);
  const NvjpegStatus status = read_header(*session, data, length);
  if (status != kNvjpegSuccess) return status;
  if (!engine_takes(session->decompress)) return kNvjpegJpegNotSupported;
  return read_rows(*session, to.channel[0], to.pitch[0]);
}

NvjpegStatus get_property(NvjpegProperty which, int* value) {
  if (value == nullptr) return kNvjpegInvalidParameter;
  *value = which == kNvjpegMajorVersion ? 13 : 0;
  return kNvjpegSuccess;
}

NvjpegStatus create_ex(NvjpegBackend backend, void*, void*, unsigned, NvjpegLibrary** library) {
  if (library == nullptr) return kNvjpegInvalidParameter;
  if (switches().refuse_creation) return kNvjpegNotInitialized;
  if (switches().refuse_hardware && backend == kNvjpegBackendHardware) return kNvjpegArchMismatch;
  *library = new NvjpegLibrary;
  return kNvjpegSuccess;
}

NvjpegStatus parse_header(NvjpegLibrary* library, const unsigned char* data, size_t length,
                          NvjpegStream* stream) {
  if (!is_live(library) || !is_live(stream) || data == nullptr) return kNvjpegInvalidParameter;
  stream->parsed = false;
  const std::unique_ptr<Session, SessionDeleter> session(new Session);
  const NvjpegStatus status = read_header(*session, data, length);
  if (status != kNvjpegSuccess) return status;
  stream->parsed = true;
  stream->supported = engine_takes(session->decompress);
  stream->width = session->decompress.image_width + (switches().widen_pictures ? 1 : 0);
  stream->height = session->decompress.image_height;
  return kNvjpegSuccess;
}

NvjpegStatus get_frame_dimensions(NvjpegStream* stream, unsigned* width, unsigned* height) {
  if (!is_live(stream) || width == nullptr || height == nullptr) return kNvjpegInvalidParameter;
  if (!stream->parsed) return kNvjpegBadJpeg;
  *width = stream->width;
  *height = stream->height;
  return kNvjpegSuccess;
}

NvjpegStatus set_output_format(NvjpegParams* params, NvjpegOutputFormat format) {
  if (!is_live(params)) return kNvjpegInvalidParameter;
  params->is_rgb = format == kNvjpegOutputRgbInterleaved;
  return kNvjpegSuccess;
}

NvjpegStatus decode_batched_supported(NvjpegLibrary* library, NvjpegStream* stream,
                                      NvjpegParams* params, int* is_supported) {
  if (!is_live(library) || !is_live(stream) || !is_live(params) || is_supported == nullptr) {
    return kNvjpegInvalidParameter;
  }
  if (!stream->parsed) return kNvjpegBadJpeg;
  *is_supported = stream->supported && params->is_rgb ? 0 : 1;
  return kNvjpegSuccess;
}

NvjpegStatus decode_batched_initialize(NvjpegLibrary* library, NvjpegState* state, int batch_size,
                                       int max_cpu_threads, NvjpegOutputFormat format) {
  if (!is_live(library) || !is_live(state) || batch_size < 1 || max_cpu_threads < 1) {
    return kNvjpegInvalidParameter;
  }
  if (format != kNvjpegOutputRgbInterleaved) return kNvjpegImplementationNotSupported;
  state->batch_size = batch_size;
  return kNvjpegSuccess;
}

NvjpegStatus decode_batched(NvjpegLibrary* library, NvjpegState* state,
                            const unsigned char* const* data, const size_t* lengths,
                            NvjpegImage* destinations, NvjpegCudaStream) {
  if (!is_live(library) || !is_live(state) || data == nullptr || lengths == nullptr ||
      destinations == nullptr) {
    return kNvjpegInvalidParameter;
  }
  if (state->batch_size == 0) return kNvjpegNotInitialized;
  if (switches().fail_every_batch && state->batch_size > 1) return kNvjpegExecutionFailed;
  for (int i = 0; i < state->batch_size; ++i) {
    const NvjpegStatus status = decode_one(data[i], lengths[i], destinations[i]);
    if (status != kNvjpegSuccess) return status;
  }
  return kNvjpegSuccess;
}

}  // namespace

NvjpegApi stand_in_nvjpeg() {
  NvjpegApi api;
  api.name = "stand-in for nvJPEG (libjpeg-turbo)";
  api.get_property = get_property;
  api.create_ex = create_ex;
  api.destroy = destroy<NvjpegLibrary>;
  api.jpeg_state_create = [](NvjpegLibrary* library, NvjpegState** state) {
    return make(library, state);
  };
  api.jpeg_state_destroy = destroy<NvjpegState>;
  api.jpeg_stream_create = [](NvjpegLibrary* library, NvjpegStream** stream) {
    return make(library, stream);
  };
  api.jpeg_stream_destroy = destroy<NvjpegStream>;
  api.jpeg_stream_parse_header = parse_header;
  api.jpeg_stream_get_frame_dimensions = get_frame_dimensions;
  api.decode_params_create = [](NvjpegLibrary* library, NvjpegParams** params) {
    return make(library, params);
  };
  api.decode_params_destroy = destroy<NvjpegParams>;
  api.decode_params_set_output_format = set_output_format;
  api.decode_batched_supported_ex = decode_batched_supported;
  api.decode_batched_initialize = decode_batched_initialize;
  api.decode_batched = decode_batched;
  return api;
}

void set_stand_in_switches(const StandInSwitches& chosen) {
  switches().refuse_creation = chosen.refuse_creation;
  switches().refuse_hardware = chosen.refuse_hardware;
  switches().widen_pictures = chosen.widen_pictures;
  switches().fail_every_batch = chosen.fail_every_batch;
  switches().fail_length = chosen.fail_length;
}

}  // namespace cantilever
