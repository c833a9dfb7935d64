#include "cantilever/train/dump.h"

#include <ATen/ATen.h>

#include <map>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/io/safetensors.h"

namespace cantilever {
namespace {

TensorView view_of(const std::string& name, const at::Tensor& tensor) {
  CANTILEVER_ASSERT(tensor.is_contiguous(), name);
  TensorView view;
  view.name = name;
  view.dtype = tensor.scalar_type() == at::kLong ? DType::kI64 : DType::kF32;
  view.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  view.data = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
  return view;
}

class StepDump : public StepObserver {
 public:
  explicit StepDump(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void micro_batch(int64_t step, const Batch& /*batch*/, const BatchTensors& inputs,
                   const ContrastiveOutput& output) override {
    if (step != 1) return;
    keep("input.pixel_values", inputs.pixel_values);
    keep("input.input_ids", inputs.input_ids);
    keep("input.attention_mask", inputs.attention_mask);
    keep("output.text_embeds", output.text_embeds);
    keep("output.image_embeds", output.image_embeds);
    keep("output.cross_embeds", output.cross_embeds);
    keep("output.loss", output.loss.reshape({1}));
  }

  void gradients(int64_t step, const FlatParameters& parameters) override {
    if (step != 1) return;
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, parts] : kept_) tensors[name] = at::cat(parts);
    for (const ParameterSlot& slot : parameters.slots()) {
      tensors["gradient." + slot.name] =
          FlatParameters::view(parameters.gradients(), slot).contiguous();
    }
    std::vector<TensorView> views;
    for (const auto& [name, tensor] : tensors) views.push_back(view_of(name, tensor));
    make_folders(folder_);
    write_safetensors(folder_ / "first_step.safetensors", std::move(views));
    kept_.clear();
  }

 private:
  void keep(const std::string& name, const at::Tensor& tensor) {
    kept_[name].push_back(tensor.detach().clone());
  }

  std::filesystem::path folder_;
  std::map<std::string, std::vector<at::Tensor>> kept_;
};

}  // namespace

std::unique_ptr<StepObserver> make_step_dump(const std::filesystem::path& folder) {
  return std::make_unique<StepDump>(folder);
}

void SampleOrderDump::micro_batch(int64_t step, const Batch& batch, const BatchTensors& /*inputs*/,
                                  const ContrastiveOutput& /*output*/) {
  order_.push_back({{"step", step}, {"samples", batch.rows}});
}

void SampleOrderDump::save(const std::filesystem::path& output_dir) const {
  write_json(output_dir / "sample_order.json", order_, 1);
}

}  // namespace cantilever
