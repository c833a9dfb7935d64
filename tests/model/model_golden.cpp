// model_golden CHECKPOINT GOLDEN OUT [--steps N] [--learning-rate X] [--save FOLDER]
// [--no-parameters]
//
// Writes what this program computes for the inputs of a file of tools/reference/dump_golden.py,
// under the same names, for tools/reference/compare_tensors.py. --save writes the checkpoint as
// loaded, for a look by Transformers.

#include <cstdio>
#include <exception>
#include <span>
#include <string>

#include "cantilever/base/error.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/io/weights.h"
#include "cantilever/model/checkpoint_loader.h"
#include "tests/model/golden_pass.h"

namespace cantilever::test {
namespace {

void write(const std::string& path, const NamedTensors& tensors) {
  std::vector<TensorView> views;
  NamedTensors kept;  // contiguous copies live until the file is written
  for (const auto& [name, tensor] : tensors) kept.emplace_back(name, tensor.contiguous());
  for (const auto& [name, tensor] : kept) {
    const size_t bytes = static_cast<size_t>(tensor.numel()) * tensor.element_size();
    views.push_back({name,
                     tensor.scalar_type() == at::kLong ? DType::kI64 : DType::kF32,
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(tensor.const_data_ptr()), bytes}});
  }
  write_safetensors(path, std::move(views));
}

int run(const std::vector<std::string>& arguments) {
  std::vector<std::string> positional;
  GoldenOptions options;
  std::string save;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--no-parameters") {
      options.parameters = false;
    } else if (argument.starts_with("--")) {
      CANTILEVER_CHECK(i + 1 < arguments.size(), argument, " needs a value");
      const std::string& value = arguments[++i];
      if (argument == "--steps") {
        options.steps = std::stoll(value);
      } else if (argument == "--learning-rate") {
        options.learning_rate = std::stod(value);
      } else if (argument == "--save") {
        save = value;
      } else {
        throw_error("unknown option " + argument);
      }
    } else {
      positional.push_back(argument);
    }
  }
  CANTILEVER_CHECK(positional.size() == 3, "usage: model_golden CHECKPOINT GOLDEN OUT [--steps N] ",
                   "[--learning-rate X] [--save FOLDER] [--no-parameters]");
  const auto model = load_checkpoint(positional[0], {});
  if (!save.empty()) save_checkpoint(*model, save);
  const auto golden = open_weights(positional[1]);
  const at::Tensor pixel_values = read_tensor(*golden, "input.pixel_values");
  const at::Tensor input_ids = read_tensor(*golden, "input.input_ids");
  const at::Tensor attention_mask = read_tensor(*golden, "input.attention_mask");
  NamedTensors tensors = run_golden(*model, pixel_values, input_ids, attention_mask, options);
  tensors.emplace_back("input.pixel_values", pixel_values);
  tensors.emplace_back("input.input_ids", input_ids);
  tensors.emplace_back("input.attention_mask", attention_mask);
  write(positional[2], tensors);
  return 0;
}

}  // namespace
}  // namespace cantilever::test

int main(int argc, char** argv) {
  try {
    return cantilever::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "model_golden: %s\n", error.what());
    return 1;
  }
}
