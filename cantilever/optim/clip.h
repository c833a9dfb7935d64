#pragma once

#include "cantilever/optim/flat_parameters.h"

namespace cantilever {

// torch.nn.utils.clip_grad_norm_ over all gradients: returns their L2 norm before clipping and
// multiplies them by min(1, max_norm / (norm + 1e-6)). max_norm <= 0: only measures. A norm that is
// not finite is multiplied in too, as PyTorch does.
double clip_gradient_norm(FlatParameters& parameters, double max_norm);

}  // namespace cantilever
