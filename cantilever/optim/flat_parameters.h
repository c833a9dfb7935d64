#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cantilever {

using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

// Where one parameter lies in each of the flat buffers.
struct ParameterSlot {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // in elements; a multiple of 16 (64 bytes)
  int64_t numel = 0;
  bool decayed = false;
};

// Elements [begin, end) of the flat buffers.
struct FlatRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Memory for one float32 buffer of `numel` elements: plain by default, shared or device later.
using BufferAllocator = std::function<at::Tensor(int64_t numel)>;
at::Tensor allocate_plain(int64_t numel);  // 64-byte aligned, zero-filled

// Values, gradients and both Adam moments of all trainable parameters, one flat buffer each, with
// the same layout: first the decayed parameters, then the others, each in the order given (that in
// which backward finishes gradients), every slot 64-byte aligned. The parameters' data and .grad
// become views of the buffers, which autograd accumulates into in place. Gaps between slots stay
// zero.
class FlatParameters {
 public:
  // `decayed(name)`: parameter_groups.h. Values are copied from the parameters.
  FlatParameters(const NamedParameters& parameters,
                 const std::function<bool(const std::string&)>& decayed,
                 const BufferAllocator& allocate = allocate_plain);

  const std::vector<ParameterSlot>& slots() const { return slots_; }
  int64_t size() const;  // elements of each buffer, gaps included
  FlatRange decayed_range() const { return decayed_range_; }
  FlatRange other_range() const { return other_range_; }

  at::Tensor values() const { return values_; }          // [size]
  at::Tensor gradients() const { return gradients_; }    // [size]
  at::Tensor exp_avg() const { return exp_avg_; }        // [size]
  at::Tensor exp_avg_sq() const { return exp_avg_sq_; }  // [size]

  // The slot's part of one of the buffers, in the parameter's shape.
  static at::Tensor view(const at::Tensor& buffer, const ParameterSlot& slot);

  // Before each optimiser step's first backward; also puts a .grad back that something replaced
  // (InternalError when a gradient has been accumulated elsewhere).
  void zero_gradients();

 private:
  NamedParameters parameters_;
  std::vector<ParameterSlot> slots_;
  FlatRange decayed_range_, other_range_;
  at::Tensor values_, gradients_, exp_avg_, exp_avg_sq_;
};

}  // namespace cantilever
