// Files that torch.save wrote, see make_torch_zip_golden.py.

#include "cantilever/io/torch_zip.h"

#include "cantilever/io/safetensors.h"
#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string open_error(const fs::path& path) {
  const std::string message = error_of([&] { open_torch_zip(path); });
  EXPECT_THAT(message, HasSubstr(path.filename().string()));
  return message;
}

// Every type, shared storages, offsets, strides, parameters: equal to what the Python library wrote
// as safetensors from the same tensors.
TEST(TorchZip, EqualsTheSafetensorsFileOfTheSameTensors) {
  const auto torch_file = open_torch_zip(golden("state_dict.bin"));
  const auto expected = open_safetensors(golden("state_dict.safetensors"));
  ASSERT_EQ(torch_file->tensors().size(), expected->tensors().size());
  for (size_t i = 0; i < expected->tensors().size(); ++i) {
    const TensorView& found = torch_file->tensors()[i];
    const TensorView& wanted = expected->tensors()[i];
    EXPECT_EQ(found.name, wanted.name);
    EXPECT_EQ(found.dtype, wanted.dtype) << wanted.name;
    EXPECT_EQ(found.shape, wanted.shape) << wanted.name;
    EXPECT_EQ(bytes_of(found), bytes_of(wanted)) << wanted.name;
  }
  EXPECT_TRUE(torch_file->metadata().empty());
  EXPECT_THAT(torch_file->description(), HasSubstr("state_dict.bin"));
}

TEST(TorchZip, ContiguousTensorsAreViewsOfOneStorage) {
  const auto file = open_torch_zip(golden("state_dict.bin"));
  const TensorView* whole = file->find("shared.whole");
  const TensorView* offset = file->find("shared.offset");
  ASSERT_TRUE(whole != nullptr && offset != nullptr);
  EXPECT_EQ(file->find("shared.alias")->data.data(), whole->data.data());
  EXPECT_EQ(offset->data.data(), whole->data.data() + 5 * sizeof(float));
  EXPECT_EQ(values_of<float>(*offset), (std::vector<float>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(values_of<float>(*file->find("shared.every_third")),
            (std::vector<float>{1, 4, 7, 10, 13, 16, 19, 22}));
  EXPECT_EQ(values_of<float>(*file->find("expanded")), (std::vector<float>(6, 7.0f)));
}

TEST(TorchZip, NewerPickleProtocols) {
  const auto file = open_torch_zip(golden("protocol4.bin"));
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(values_of<float>(*file->find("a")), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(values_of<int64_t>(*file->find("b")), (std::vector<int64_t>{1, 2}));
}

TEST(TorchZip, OtherFilesOfTorchAreNamed) {
  EXPECT_THAT(open_error(golden("legacy.bin")), HasSubstr("before PyTorch 1.6"));
  EXPECT_THAT(open_error(golden("script.pt")), HasSubstr("TorchScript"));
  EXPECT_THAT(open_error(golden("module.pt")), HasSubstr("'torch.nn.modules.linear.Linear'"));
  EXPECT_THAT(
      open_error(golden("checkpoint.pt")),
      AllOf(HasSubstr("not a bare state dict"), HasSubstr("'epoch'"), HasSubstr("'state_dict'")));
  EXPECT_THAT(open_error(golden("optimizer.pt")), HasSubstr("'param_groups'"));
  EXPECT_THAT(open_error(golden("state_dict.safetensors")), HasSubstr("safetensors file"));
}

TEST(TorchValue, AnOptimizerState) {
  const auto file = open_torch_value(golden("optimizer.pt"));
  const TorchValue& root = file->root();
  ASSERT_EQ(root.kind, TorchValue::Kind::kDict);
  const TorchValue* state = root.find("state");
  ASSERT_NE(state, nullptr);
  ASSERT_EQ(state->keys.size(), 2u);
  EXPECT_EQ(state->find("0"), nullptr);
  const TorchValue* first = state->find(int64_t{0});
  ASSERT_NE(first, nullptr);
  const TorchValue* average = first->find("exp_avg");
  ASSERT_TRUE(average != nullptr && average->kind == TorchValue::Kind::kTensor);
  EXPECT_EQ(average->tensor.name, "state.0.exp_avg");
  EXPECT_EQ(average->tensor.shape, (std::vector<int64_t>{2, 3}));
  for (const float value : values_of<float>(average->tensor)) EXPECT_NEAR(value, 0.19f, 1e-6f);
  EXPECT_EQ(values_of<float>(first->find("step")->tensor), (std::vector<float>{2.0f}));

  const TorchValue* groups = root.find("param_groups");
  ASSERT_TRUE(groups != nullptr && groups->kind == TorchValue::Kind::kList);
  ASSERT_EQ(groups->items.size(), 2u);
  const TorchValue& group = groups->items[0];
  EXPECT_EQ(group.find("weight_decay")->number, 0.1);
  EXPECT_EQ(group.find("initial_lr")->number, 1e-3);
  EXPECT_EQ(group.find("amsgrad")->kind, TorchValue::Kind::kBool);
  EXPECT_EQ(group.find("amsgrad")->integer, 0);
  EXPECT_EQ(group.find("fused")->kind, TorchValue::Kind::kNone);
  const TorchValue* betas = group.find("betas");
  ASSERT_TRUE(betas->kind == TorchValue::Kind::kTuple && betas->items.size() == 2);
  EXPECT_EQ(betas->items[1].number, 0.999);
  EXPECT_EQ(group.find("params")->items.at(0).integer, 0);
  EXPECT_EQ(groups->items[1].find("params")->items.at(0).integer, 1);
}

TEST(TorchValue, ASchedulerStateAndACheckpoint) {
  const auto scheduler = open_torch_value(golden("scheduler.pt"));
  EXPECT_EQ(scheduler->root().find("last_epoch")->integer, 2);
  EXPECT_EQ(scheduler->root().find("_last_lr")->items.at(1).number, 1e-3 / 3);
  const auto checkpoint = open_torch_value(golden("checkpoint.pt"));
  const TorchValue* weight = checkpoint->root().find("state_dict")->find("weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->tensor.shape, (std::vector<int64_t>{2, 3}));
}

}  // namespace
}  // namespace cantilever
