#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "cantilever/io/json.h"
#include "cantilever/train/step.h"

namespace cantilever {

// first_step.safetensors of --dump_step_tensors, as train_reference.py writes it: input.*, output.*
// (micro-batches one after the other, output.loss one value each) and gradient.* before clipping.
std::unique_ptr<StepObserver> make_step_dump(const std::filesystem::path& folder);

// sample_order.json of --dump_sample_order: step and rows of every micro-batch.
class SampleOrderDump : public StepObserver {
 public:
  void micro_batch(int64_t step, const Batch& batch, const BatchTensors& inputs,
                   const ContrastiveOutput& output) override;
  void gradients(int64_t, const FlatParameters&) override {}
  void save(const std::filesystem::path& output_dir) const;

 private:
  Json order_ = Json::array();
};

}  // namespace cantilever
