#include "cantilever/optim/clip.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include <algorithm>

namespace cantilever {

double clip_gradient_norm(FlatParameters& parameters, double max_norm) {
  const at::Tensor gradients = parameters.gradients();
  if (gradients.numel() == 0) return 0;
  // As PyTorch: the norm of the norms of the parameters, in float32.
  std::vector<at::Tensor> norms;
  for (const ParameterSlot& slot : parameters.slots()) {
    norms.push_back(at::linalg_vector_norm(gradients.narrow(0, slot.offset, slot.numel)));
  }
  const at::Tensor norm = at::linalg_vector_norm(at::stack(norms));
  const auto value = static_cast<double>(norm.item<float>());
  if (max_norm <= 0) return value;
  const at::Tensor factor = (max_norm / (norm + 1e-6)).clamp_max(1.0);
  // As PyTorch also when the norm is not finite: finite gradients whose norm overflows become 0.
  // A factor of exactly 1 changes nothing; reading and writing all gradients would only cost time.
  if (factor.item<float>() != 1.0F) gradients.mul_(factor);
  return value;
}

}  // namespace cantilever
