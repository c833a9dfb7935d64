#pragma once

#include <cstdint>

#include "cantilever/optim/flat_parameters.h"

namespace cantilever {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // of the decayed range; 0 for the other
};

// Loshchilov & Hutter 2019 in PyTorch's form, bit-equal to torch.optim.AdamW(fused=True) per
// element.
class AdamW {
 public:
  AdamW(FlatParameters& parameters, const AdamWOptions& options);

  void step(double learning_rate);

  int64_t steps_done() const { return steps_done_; }
  void set_steps_done(int64_t steps) { steps_done_ = steps; }  // of a resumed run

 private:
  FlatParameters& parameters_;
  AdamWOptions options_;
  int64_t steps_done_ = 0;
};

}  // namespace cantilever
