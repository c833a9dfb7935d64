#include "cantilever/model/contrastive.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>

#include "cantilever/base/error.h"
#include "cantilever/optim/flat_parameters.h"
#include "cantilever/optim/parameter_groups.h"
#include "tests/model/formula.h"
#include "tests/model/model_fixtures.h"

namespace cantilever::test {
namespace {

using testing::HasSubstr;

ContrastiveOutput evaluate(BridgeTowerForContrastiveLearning& model, const Inputs& inputs,
                           HiddenStates* hidden = nullptr) {
  ForwardContext context;
  return model.forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context,
                       hidden);
}

std::map<std::string, at::Tensor> gradients(BridgeTowerForContrastiveLearning& model) {
  std::map<std::string, at::Tensor> result;
  for (const auto& item : model.named_parameters()) {
    if (item.value().grad().defined()) result[item.key()] = item.value().grad().clone();
    item.value().mutable_grad() = at::Tensor();
  }
  return result;
}

TEST(Contrastive, NamesAndCountsOfPublishedSizes) {
  struct Row {
    const char* size;
    size_t tensors;
    int64_t parameters, without_embeddings;
  };
  // bridgetower.md 4.1 and 11.2; 813,109,761 is what the published total_flos of a run implies.
  for (const Row& row :
       {Row{"base", 702, 327921409, 0}, Row{"large", 1038, 866612737, 813109761}}) {
    const BridgeTowerConfig config = BridgeTowerConfig::of_size(row.size, 50265);
    ModelOptions with_pooler;
    with_pooler.text_pooler = true;
    const BridgeTowerForContrastiveLearning full(config, with_pooler);
    int64_t count = 0;
    for (const auto& item : full.named_parameters()) count += item.value().numel();
    EXPECT_EQ(full.named_parameters().size(), row.tensors);
    EXPECT_EQ(count, row.parameters);
    const BridgeTowerForContrastiveLearning model(config, {});
    EXPECT_EQ(model.named_parameters().size(), row.tensors - 2);
    if (row.without_embeddings > 0) {
      EXPECT_EQ(model.parameters_without_embeddings(), row.without_embeddings);
    }
    EXPECT_EQ(model.parameters_in_backward_order().size(), row.tensors - 2);
  }
}

TEST(Contrastive, PaddingChangesNothing) {
  const auto model = formula_model(golden_config("add"));
  const Inputs inputs = some_inputs(model->config(), 3, 9);
  Inputs wide = inputs;
  wide.input_ids = at::cat(
      {inputs.input_ids, at::full({3, 5}, model->config().text_config.pad_token_id, at::kLong)}, 1);
  wide.attention_mask = at::cat({inputs.attention_mask, at::zeros({3, 5}, at::kLong)}, 1);
  HiddenStates hidden;  // with hidden states, nothing is trimmed
  const ContrastiveOutput trimmed = evaluate(*model, wide);
  const ContrastiveOutput whole = evaluate(*model, wide, &hidden);
  EXPECT_EQ(trimmed.loss.item<float>(), evaluate(*model, inputs).loss.item<float>());
  EXPECT_NEAR(trimmed.loss.item<float>(), whole.loss.item<float>(), 1e-6);
  EXPECT_EQ(hidden.named[0].second.size(1), 14);
  trimmed.loss.backward();
  const auto ours = gradients(*model);
  whole.loss.backward();
  for (const auto& [name, expected] : gradients(*model)) {
    if (name.ends_with("key.bias") || name.ends_with("in_proj_bias")) continue;
    const double scale = expected.abs().max().item<double>();
    EXPECT_LE((ours.at(name) - expected).abs().max().item<double>(), 1e-4 * scale) << name;
  }
}

TEST(Contrastive, MasksThatAreNotRightPaddedAreNotTrimmed) {
  const auto model = formula_model(golden_config("add"));
  Inputs inputs = some_inputs(model->config());
  inputs.attention_mask[1][0] = 0;  // a hole on the left
  HiddenStates hidden;
  EXPECT_NEAR(evaluate(*model, inputs).loss.item<float>(),
              evaluate(*model, inputs, &hidden).loss.item<float>(), 1e-6);
  inputs.attention_mask.fill_(0);  // attends evenly to everything, as in Transformers
  const float loss = evaluate(*model, inputs).loss.item<float>();
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_NEAR(loss, evaluate(*model, inputs, &hidden).loss.item<float>(), 1e-6);
}

TEST(Contrastive, OnePairHasNoLoss) {
  const auto model = formula_model(golden_config("add"));
  EXPECT_EQ(evaluate(*model, some_inputs(model->config(), 1)).loss.item<float>(), 0);
}

TEST(Contrastive, FrozenTowersGetNoGradient) {
  const auto model = formula_model(golden_config("scaled_add"));
  model->freeze_vision_model();
  const Inputs inputs = some_inputs(model->config());
  evaluate(*model, inputs).loss.backward();
  for (const auto& [name, gradient] : gradients(*model)) {
    EXPECT_THAT(name, testing::Not(HasSubstr("vision_model")));
  }
  for (const auto& [name, parameter] : model->parameters_in_backward_order()) {
    EXPECT_THAT(name, testing::Not(HasSubstr("vision_model")));
  }
  model->freeze_text_model();
  evaluate(*model, inputs).loss.backward();
  const auto left = gradients(*model);
  EXPECT_FALSE(left.empty());
  for (const auto& [name, gradient] : left)
    EXPECT_THAT(name, testing::Not(HasSubstr("text_model")));
  EXPECT_EQ(left.size(), model->parameters_in_backward_order().size());
}

TEST(Contrastive, UnreachedParametersAreNotTrained) {
  BridgeTowerConfig config = golden_config("add");
  config.vision_config.share_layernorm = false;
  config.vision_config.num_hidden_layers = 3;  // one block more than text layers
  ModelOptions options;
  options.text_pooler = true;
  const auto model = formula_model(config, options);
  evaluate(*model, some_inputs(config)).loss.backward();
  const auto reached = gradients(*model);
  const auto listed = model->parameters_in_backward_order();
  EXPECT_EQ(reached.size(), listed.size());
  for (const auto& [name, parameter] : listed) EXPECT_TRUE(reached.contains(name)) << name;
  EXPECT_FALSE(reached.contains("bridgetower.text_model.pooler.dense.weight"));
}

// Order in which autograd adds to the gradients: hooks on the accumulating nodes. Parameters of one
// operation (weight and bias of a Linear) finish together, in either order.
TEST(Contrastive, BackwardFinishesGradientsInTheListedOrder) {
  for (const char* name : {"add", "interpolate", "scaled_add", "uneven"}) {
    const auto model = formula_model(golden_config(name));
    const auto listed = model->parameters_in_backward_order();
    FlatParameters flat(listed, is_decayed);
    std::vector<std::string> observed;
    std::vector<std::shared_ptr<torch::autograd::Node>> nodes;
    struct Hook : public torch::autograd::FunctionPostHook {
      Hook(std::vector<std::string>& into, std::string parameter)
          : into_(into), parameter_(std::move(parameter)) {}
      torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                                const torch::autograd::variable_list&) override {
        into_.push_back(parameter_);
        return outputs;
      }
      std::vector<std::string>& into_;
      std::string parameter_;
    };
    for (const auto& [parameter, tensor] : listed) {
      nodes.push_back(torch::autograd::impl::grad_accumulator(tensor));
      nodes.back()->add_post_hook(std::make_unique<Hook>(observed, parameter));
    }
    evaluate(*model, some_inputs(model->config())).loss.backward();
    ASSERT_EQ(observed.size(), listed.size());
    // Weight and bias of one operation count as one.
    const auto operation = [](const std::string& full) {
      const std::string module = full.substr(0, full.rfind('.'));
      return full.find("in_proj_") != std::string::npos ? module + ".in_proj" : module;
    };
    for (size_t i = 0; i < listed.size(); ++i) {
      EXPECT_EQ(operation(observed[i]), operation(listed[i].first)) << name << " " << i;
    }
  }
}

TEST(Contrastive, NamesInputsThatDoNotFit) {
  const auto model = formula_model(golden_config("add"));
  const Inputs good = some_inputs(model->config());
  const auto error_of = [&](const Inputs& inputs) -> std::string {
    try {
      evaluate(*model, inputs);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(good), "no error");
  Inputs bad = good;
  bad.pixel_values = at::zeros({3, 3, 32, 31});
  EXPECT_THAT(error_of(bad), HasSubstr("[3, 3, 32, 31]; the model takes [B, 3, 32, 32]"));
  bad = good;
  bad.input_ids = good.input_ids.narrow(0, 0, 2);
  EXPECT_THAT(error_of(bad), HasSubstr("input_ids has shape [2, 9]"));
  bad = good;
  bad.attention_mask = good.attention_mask.narrow(1, 0, 8);
  EXPECT_THAT(error_of(bad), HasSubstr("attention_mask has shape [3, 8]"));
  bad = good;
  bad.input_ids = good.input_ids.clone();
  bad.input_ids[2][1] = 40;
  EXPECT_THAT(error_of(bad), HasSubstr("the model's vocabulary has 40"));
  bad = good;
  bad.input_ids = at::ones({3, 15}, at::kLong);
  bad.attention_mask = at::ones({3, 15}, at::kLong);
  EXPECT_THAT(error_of(bad), HasSubstr("at most 14 tokens"));
  bad = good;
  bad.pixel_values = good.pixel_values.to(at::kDouble);
  EXPECT_THAT(error_of(bad), HasSubstr("float32"));
}

// Dropout: 1 + 3 Lt + 10 N sites, each with a key of its own.
TEST(ModelDropout, TakesTheDocumentedSites) {
  struct Row {
    double hidden, attention;
  };
  for (const Row& row : {Row{0.1, 0.2}, Row{0.1, 0}, Row{0, 0.2}, Row{0, 0}}) {
    BridgeTowerConfig config = golden_config("add");
    config.text_config.hidden_dropout_prob = row.hidden;
    config.text_config.attention_probs_dropout_prob = row.attention;
    const auto model = formula_model(config);
    const Inputs inputs = some_inputs(config);
    ForwardContext context;
    context.training = true;
    context.dropout_key = 5;
    model->forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context);
    const auto layers = static_cast<uint64_t>(config.text_config.num_hidden_layers);
    const auto levels = static_cast<uint64_t>(config.num_hidden_layers);
    const uint64_t attention_sites = layers + 4 * levels;
    const uint64_t hidden_sites = 1 + 2 * layers + 6 * levels;
    EXPECT_EQ(attention_sites + hidden_sites, 1 + 3 * layers + 10 * levels);
    EXPECT_EQ(context.next_site,
              (row.hidden > 0 ? hidden_sites : 0) + (row.attention > 0 ? attention_sites : 0));
  }
}

// The order of bridgetower.md 7, seen from outside: with the random numbers of one site changed,
// exactly the states behind it move.
TEST(ModelDropout, SitesComeInTheDocumentedOrder) {
  BridgeTowerConfig config = golden_config("add");
  config.text_config.hidden_dropout_prob = 0.3;
  config.text_config.attention_probs_dropout_prob = 0;
  const auto model = formula_model(config);
  const Inputs inputs = some_inputs(config);
  const auto states = [&](uint64_t first_site) {
    HiddenStates hidden;
    ForwardContext context;
    context.training = true;
    context.dropout_key = 77;
    context.next_site = first_site;
    model->forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context, &hidden);
    return std::map<std::string, at::Tensor>(hidden.named.begin(), hidden.named.end());
  };
  const auto now = states(0);
  // Site 0 is the text embedding: dropped elements are zeros there, and their share is the rate.
  const at::Tensor embedding = now.at("hidden.text.0");
  const double share =
      embedding.eq(0).sum().item<double>() / static_cast<double>(embedding.numel());
  EXPECT_NEAR(share, 0.3, 0.05);
  const at::Tensor reference = dropout_reference(at::ones(embedding.sizes()), 0.3, mix_key(77, 0));
  EXPECT_TRUE(embedding.eq(0).equal(reference.eq(0)));
  // The vision tower has no site.
  const auto other = states(1000);
  EXPECT_TRUE(now.at("hidden.image.2").equal(other.at("hidden.image.2")));
  EXPECT_FALSE(now.at("hidden.text.2").equal(other.at("hidden.text.2")));
  EXPECT_FALSE(now.at("hidden.cross_image.1").equal(other.at("hidden.cross_image.1")));
}

TEST(ModelDropout, ReproducibleFromTheKeyForAnyThreads) {
  BridgeTowerConfig config = golden_config("add");
  config.text_config.hidden_dropout_prob = 0.1;
  config.text_config.attention_probs_dropout_prob = 0.1;
  const auto model = formula_model(config);
  const Inputs inputs = some_inputs(config);
  const auto loss = [&](uint64_t key, bool training) {
    ForwardContext context;
    context.training = training;
    context.dropout_key = key;
    return model->forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context)
        .loss.item<float>();
  };
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const float one = loss(3, true);
  EXPECT_EQ(one, loss(3, true));
  EXPECT_NE(one, loss(4, true));
  EXPECT_NE(one, loss(3, false));
  at::set_num_threads(2);
  EXPECT_NEAR(one, loss(3, true), 1e-5);  // the sums of products may be cut differently
  at::set_num_threads(before);
}

// With a rate of nearly zero, the path with dropout computes what the path without it does.
TEST(ModelDropout, AttentionWithDropoutEqualsAttentionWithout) {
  BridgeTowerConfig config = golden_config("heads");
  config.text_config.attention_probs_dropout_prob = 1e-12;
  const auto model = formula_model(config);
  const Inputs inputs = some_inputs(config);
  const auto run = [&](bool training) {
    ForwardContext context;
    context.training = training;
    const at::Tensor loss =
        model->forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context).loss;
    loss.backward();
    return loss.item<float>();
  };
  EXPECT_NEAR(run(true), run(false), 2e-6);
}

}  // namespace
}  // namespace cantilever::test
