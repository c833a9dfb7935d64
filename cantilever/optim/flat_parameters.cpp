#include "cantilever/optim/flat_parameters.h"

#include <ATen/ops/zeros.h>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr int64_t kSlotAlignment = 16;  // elements: 64 bytes

int64_t round_up(int64_t count) {
  return (count + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

at::Tensor allocate(const BufferAllocator& allocator, int64_t size) {
  at::Tensor buffer = allocator(size);
  CANTILEVER_ASSERT(buffer.dim() == 1 && buffer.numel() == size && buffer.is_contiguous() &&
                        buffer.scalar_type() == at::kFloat,
                    "buffer of the wrong kind");
  CANTILEVER_ASSERT(reinterpret_cast<uintptr_t>(buffer.data_ptr()) % 64 == 0, "buffer not aligned");
  return buffer;
}

}  // namespace

at::Tensor allocate_plain(int64_t numel) {
  return at::zeros({numel}, at::kFloat);
}

FlatParameters::FlatParameters(const NamedParameters& parameters,
                               const std::function<bool(const std::string&)>& decayed,
                               const BufferAllocator& allocator) {
  int64_t offset = 0;
  for (const bool decayed_pass : {true, false}) {
    FlatRange& range = decayed_pass ? decayed_range_ : other_range_;
    range.begin = offset;
    for (const auto& item : parameters) {
      const auto& [name, tensor] = item;
      if (decayed(name) != decayed_pass) continue;
      CANTILEVER_ASSERT(
          tensor.scalar_type() == at::kFloat && tensor.is_leaf() && tensor.requires_grad(), name,
          " is not a trainable float32 parameter");
      slots_.push_back({name, tensor.sizes().vec(), offset, tensor.numel(), decayed_pass});
      parameters_.push_back(item);
      offset += round_up(tensor.numel());
    }
    range.end = offset;
  }
  values_ = allocate(allocator, offset);
  gradients_ = allocate(allocator, offset);
  exp_avg_ = allocate(allocator, offset);
  exp_avg_sq_ = allocate(allocator, offset);
  for (size_t i = 0; i < slots_.size(); ++i) {
    at::Tensor& parameter = parameters_[i].second;
    const at::Tensor value = view(values_, slots_[i]);
    value.copy_(parameter.detach());
    parameter.set_data(value);
    parameter.mutable_grad() = view(gradients_, slots_[i]);
  }
}

int64_t FlatParameters::size() const {
  return values_.numel();
}

at::Tensor FlatParameters::view(const at::Tensor& buffer, const ParameterSlot& slot) {
  return buffer.narrow(0, slot.offset, slot.numel).view(slot.shape);
}

void FlatParameters::zero_gradients() {
  gradients_.zero_();
  for (size_t i = 0; i < slots_.size(); ++i) {
    at::Tensor& parameter = parameters_[i].second;
    const float* place = gradients_.const_data_ptr<float>() + slots_[i].offset;
    const at::Tensor& gradient = parameter.grad();
    if (gradient.defined()) {
      CANTILEVER_ASSERT(gradient.const_data_ptr<float>() == place, "the gradient of ",
                        slots_[i].name, " was accumulated outside the flat buffer");
    } else {
      parameter.mutable_grad() = view(gradients_, slots_[i]);
    }
  }
}

}  // namespace cantilever
