#include "cantilever/data/device/nvjpeg_decoder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/jpeg.h"
#include "cantilever/data/image/picture_plan.h"

namespace cantilever {
namespace {

constexpr NvjpegOutputFormat kFormat = kNvjpegOutputRgbInterleaved;
constexpr size_t kAlignment = 256;  // of pictures in the pool
// A block of 8 x 8 pixels takes two bits at least: one for its first coefficient, one for its end.
// A header that claims more pixels than the data can hold costs no memory.
constexpr uint64_t kPixelsPerByte = 8 / 2 * 64;

void check(NvjpegStatus status, const std::string& library, const char* what) {
  CANTILEVER_CHECK(status == kNvjpegSuccess, library, ": cannot ", what, ": ",
                   nvjpeg_status_name(status));
}

// An object of the library and how it is destroyed.
template <class Object>
class Owned {
 public:
  Owned() = default;
  explicit Owned(NvjpegStatus (*destroy)(Object*)) : destroy_(destroy) {}
  ~Owned() {
    if (object_ != nullptr) destroy_(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Object* get() const { return object_; }
  Object** out() { return &object_; }

 private:
  NvjpegStatus (*destroy_)(Object*) = nullptr;
  Object* object_ = nullptr;
};

struct PictureSize {
  int width = 0;
  int height = 0;

  // Rows without gaps, as ImageView has them.
  size_t pitch() const { return size_t{3} * static_cast<size_t>(width); }
  size_t bytes() const {
    return (pitch() * static_cast<size_t>(height) + kAlignment - 1) / kAlignment * kAlignment;
  }
};

// A picture that waits for its group to be decoded.
struct Pending {
  DeviceJob* job = nullptr;
  std::span<const std::byte> encoded;
  PictureSize size;
  size_t offset = 0;  // in the pool
};

// hf-processor refuses narrow pictures. The host names them; here they would end the whole batch.
bool can_be_resized(const PictureSize& size, const TransformOptions& options) {
  try {
    plan_picture(size.width, size.height, options);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class NvjpegDecoder final : public DeviceDecoder {
 public:
  NvjpegDecoder(const NvjpegApi& api, std::unique_ptr<DeviceRuntime> runtime, size_t pool_bytes)
      : api_(api),
        runtime_(std::move(runtime)),
        pool_limit_(pool_bytes),
        library_(api.destroy),
        params_(api.decode_params_destroy),
        state_(api.jpeg_state_destroy),
        stream_(api.jpeg_stream_destroy) {
    engine_ = "hardware engine";
    NvjpegStatus status = create(kNvjpegBackendHardware);
    if (status == kNvjpegArchMismatch || status == kNvjpegImplementationNotSupported) {
      engine_ = "no hardware engine";
      status = create(kNvjpegBackendDefault);
    }
    check(status, api.name, "start");
    check(api.jpeg_state_create(library_.get(), state_.out()), api.name, "make a state");
    check(api.jpeg_stream_create(library_.get(), stream_.out()), api.name, "make a stream");
    check(api.decode_params_create(library_.get(), params_.out()), api.name, "make parameters");
    check(api.decode_params_set_output_format(params_.get(), kFormat), api.name, "give RGB");
  }

  ~NvjpegDecoder() override {
    if (pool_ != nullptr) runtime_->release(pool_);
  }

  std::string name() const override {
    return concat(api_.name, " (", engine_, ", ", runtime_->name(), ")");
  }

  bool supports(std::span<const std::byte> encoded, const DecodeOptions& options) const override {
    // A stream object of its own: decode() may be at work.
    Owned<NvjpegStream> stream(api_.jpeg_stream_destroy);
    if (api_.jpeg_stream_create(library_.get(), stream.out()) != kNvjpegSuccess) return false;
    PictureSize size;
    return look(encoded, options, stream.get(), size);
  }

  void decode(const EncodedArena& arena, std::span<DeviceJob> jobs) override {
    pending_.clear();
    size_t used = 0;
    for (DeviceJob& job : jobs) {
      CANTILEVER_ASSERT(job.place.type == PixelType::kFloat32, "a device writes float32");
      Pending next{&job, arena.picture(job.picture), {}, 0};
      job.path = DevicePath::kUnsupported;
      if (!look(next.encoded, job.decode, stream_.get(), next.size)) continue;
      if (!can_be_resized(next.size, job.transform)) continue;
      if (used + next.size.bytes() > pool_limit_) {
        decode_group(used);
        used = 0;
      }
      next.offset = used;
      used += next.size.bytes();
      pending_.push_back(next);
    }
    decode_group(used);
  }

 private:
  NvjpegStatus create(NvjpegBackend backend) {
    return api_.create_ex(backend, nullptr, nullptr, kNvjpegInterpolatedUpsampling, library_.out());
  }

  // What the host would refuse or turn is left to it, so that both paths give the same picture or
  // the same error. Then the device is asked.
  bool look(std::span<const std::byte> encoded, const DecodeOptions& options, NvjpegStream* stream,
            PictureSize& size) const {
    if (!host_takes(encoded, options, size)) return false;
    const auto* data = reinterpret_cast<const unsigned char*>(encoded.data());
    unsigned width = 0;
    unsigned height = 0;
    int is_supported = 1;  // 0: yes
    return api_.jpeg_stream_parse_header(library_.get(), data, encoded.size(), stream) ==
               kNvjpegSuccess &&
           api_.jpeg_stream_get_frame_dimensions(stream, &width, &height) == kNvjpegSuccess &&
           width == static_cast<unsigned>(size.width) &&
           height == static_cast<unsigned>(size.height) &&
           api_.decode_batched_supported_ex(library_.get(), stream, params_.get(), &is_supported) ==
               kNvjpegSuccess &&
           is_supported == 0;
  }

  bool host_takes(std::span<const std::byte> encoded, const DecodeOptions& options,
                  PictureSize& size) const {
    const bool is_jpeg =
        encoded.size() > 2 && encoded[0] == std::byte{0xff} && encoded[1] == std::byte{0xd8};
    if (!is_jpeg) return false;
    JpegHeader header;
    try {
      header = read_jpeg_header(encoded);
    } catch (const Error&) {
      return false;  // the host names it
    }
    size = {header.width, header.height};
    const int64_t pixels = int64_t{header.width} * header.height;
    if (header.components != 1 && header.components != 3) return false;
    if (pixels > options.max_pixels || size.bytes() > pool_limit_) return false;
    if (static_cast<uint64_t>(pixels) / kPixelsPerByte > encoded.size()) return false;
    return !options.apply_exif_orientation || header.orientation() == 1;
  }

  void decode_group(size_t bytes) {
    if (pending_.empty()) return;
    if (!grow_pool(bytes)) {
      for (Pending& picture : pending_) picture.job->path = DevicePath::kFailed;
    } else if (decode_together(pending_)) {
      for (Pending& picture : pending_) transform(picture);
    } else {
      for (Pending& picture : pending_) {
        if (decode_together({&picture, 1})) {
          transform(picture);
        } else {
          picture.job->path = DevicePath::kFailed;
        }
      }
    }
    if (!runtime_->synchronize()) {
      for (Pending& picture : pending_) picture.job->path = DevicePath::kFailed;
    }
    pending_.clear();
  }

  bool decode_together(std::span<const Pending> pictures) {
    data_.clear();
    lengths_.clear();
    images_.clear();
    for (const Pending& picture : pictures) {
      data_.push_back(reinterpret_cast<const unsigned char*>(picture.encoded.data()));
      lengths_.push_back(picture.encoded.size());
      NvjpegImage image;
      image.channel[0] = pool_ + picture.offset;
      image.pitch[0] = picture.size.pitch();
      images_.push_back(image);
    }
    return api_.decode_batched_initialize(library_.get(), state_.get(),
                                          static_cast<int>(pictures.size()), 1,
                                          kFormat) == kNvjpegSuccess &&
           api_.decode_batched(library_.get(), state_.get(), data_.data(), lengths_.data(),
                               images_.data(), runtime_->stream()) == kNvjpegSuccess &&
           runtime_->synchronize();
  }

  void transform(const Pending& picture) {
    const ImageView image = {pool_ + picture.offset, picture.size.width, picture.size.height};
    runtime_->transform(image, picture.job->transform, picture.job->place);
    picture.job->path = DevicePath::kDevice;
  }

  // The pool keeps its memory from batch to batch.
  bool grow_pool(size_t bytes) {
    if (bytes <= pool_bytes_) return true;
    if (pool_ != nullptr) runtime_->release(pool_);
    pool_bytes_ = std::min(std::max(bytes, 2 * pool_bytes_), std::max(bytes, pool_limit_));
    pool_ = runtime_->allocate(pool_bytes_);
    if (pool_ == nullptr) pool_bytes_ = 0;
    return pool_ != nullptr;
  }

  const NvjpegApi api_;
  const std::unique_ptr<DeviceRuntime> runtime_;
  const size_t pool_limit_;
  const char* engine_ = "";
  // Destroyed from last to first.
  Owned<NvjpegLibrary> library_;
  Owned<NvjpegParams> params_;
  Owned<NvjpegState> state_;
  Owned<NvjpegStream> stream_;
  unsigned char* pool_ = nullptr;
  size_t pool_bytes_ = 0;
  // Kept from batch to batch.
  std::vector<Pending> pending_;
  std::vector<const unsigned char*> data_;
  std::vector<size_t> lengths_;
  std::vector<NvjpegImage> images_;
};

}  // namespace

std::shared_ptr<DeviceDecoder> make_nvjpeg_decoder(const NvjpegApi& api,
                                                   std::unique_ptr<DeviceRuntime> runtime,
                                                   size_t pool_bytes) {
  return std::make_shared<NvjpegDecoder>(api, std::move(runtime), pool_bytes);
}

}  // namespace cantilever
