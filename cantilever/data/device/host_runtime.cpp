#include <new>
#include <span>

#include "cantilever/base/error.h"
#include "cantilever/data/device/device_runtime.h"

namespace cantilever {
namespace {

class HostRuntime final : public DeviceRuntime {
 public:
  std::string name() const override { return "host memory"; }
  unsigned char* allocate(size_t bytes) override { return new (std::nothrow) unsigned char[bytes]; }
  void release(unsigned char* memory) override { delete[] memory; }
  void* stream() override { return nullptr; }
  bool synchronize() override { return true; }

  void transform(const ImageView& image, const TransformOptions& options,
                 const PixelPlace& out) override {
    CANTILEVER_ASSERT(out.type == PixelType::kFloat32, "a device writes float32");
    const auto side = static_cast<size_t>(options.side);
    transform_image(image, options, scratch_,
                    std::span(static_cast<float*>(out.data), 3 * side * side));
  }

 private:
  TransformScratch scratch_;
};

}  // namespace

std::unique_ptr<DeviceRuntime> make_host_runtime() {
  return std::make_unique<HostRuntime>();
}

}  // namespace cantilever
