// trainer_state.json, result files, log lines, the model card.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/train/model_card.h"
#include "cantilever/train/results.h"
#include "cantilever/train/trainer_state.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

TEST(TrainerStateFile, KeysOrderAndIndentationOfTransformers) {
  TrainerState state;
  state.global_step = 1;
  state.epoch = 0.5;
  state.max_steps = 2;
  state.num_train_epochs = 1;
  state.train_batch_size = 8;
  state.total_flos = 1024;
  state.logging_steps = 1.0;
  state.saved_flow.save = true;
  state.log({{"loss", 2.5}, {"grad_norm", 1.0}, {"learning_rate", 1e-4}});
  const test::TemporaryFolder folder;
  state.save(folder / "trainer_state.json");
  EXPECT_EQ(read_file(folder / "trainer_state.json"), R"({
  "best_global_step": null,
  "best_metric": null,
  "best_model_checkpoint": null,
  "epoch": 0.5,
  "eval_steps": 500,
  "global_step": 1,
  "is_hyper_param_search": false,
  "is_local_process_zero": true,
  "is_world_process_zero": true,
  "log_history": [
    {
      "epoch": 0.5,
      "grad_norm": 1.0,
      "learning_rate": 0.0001,
      "loss": 2.5,
      "step": 1
    }
  ],
  "logging_steps": 1.0,
  "max_steps": 2,
  "num_input_tokens_seen": 0,
  "num_train_epochs": 1,
  "save_steps": 500,
  "stateful_callbacks": {
    "TrainerControl": {
      "args": {
        "should_epoch_stop": false,
        "should_evaluate": false,
        "should_log": false,
        "should_save": true,
        "should_training_stop": false
      },
      "attributes": {}
    }
  },
  "total_flos": 1024.0,
  "train_batch_size": 8,
  "trial_name": null,
  "trial_params": null
}
)");
}

TEST(TrainerStateFile, ComesBackWithNotANumber) {
  TrainerState state;
  state.global_step = 3;
  state.epoch = 1.0 / 3;
  state.log({{"loss", std::numeric_limits<double>::quiet_NaN()}});
  const test::TemporaryFolder folder;
  state.save(folder / "trainer_state.json");
  const TrainerState back = TrainerState::load(folder / "trainer_state.json");
  EXPECT_EQ(back.epoch, state.epoch);
  EXPECT_TRUE(std::isnan(back.log_history[0]["loss"].get<double>()));
  std::ofstream(folder / "trainer_state.json") << "{\"epoch\": 1}";
  EXPECT_THAT([&] { TrainerState::load(folder / "trainer_state.json"); },
              ThrowsMessage<Error>(HasSubstr("no trainer_state.json")));
}

TEST(Results, FilesAsSaveMetricsWritesThem) {
  const test::TemporaryFolder folder;
  save_metrics(folder.path(), "train", {{"train_loss", 1.5}, {"epoch", 2.0}});
  save_metrics(folder.path(), "validation", {{"eval_loss", 1.25}, {"epoch", 2.0}});
  EXPECT_EQ(read_file(folder / "train_results.json"),
            "{\n    \"epoch\": 2.0,\n    \"train_loss\": 1.5\n}");
  EXPECT_EQ(read_file(folder / "all_results.json"),
            "{\n    \"epoch\": 2.0,\n    \"eval_loss\": 1.25,\n    \"train_loss\": 1.5\n}");
}

TEST(Results, Table) {
  EXPECT_EQ(format_metrics("train", {{"train_runtime", 75.456},
                                     {"train_loss", 1.96227365732193},
                                     {"total_flos", 5102357760.0},
                                     {"epoch", 2.0}}),
            "***** train metrics *****\n"
            "  epoch         =        2.0\n"
            "  total_flos    =        4GF\n"
            "  train_loss    =     1.9623\n"
            "  train_runtime = 0:01:15.45\n");
}

TEST(Results, LogLine) {
  EXPECT_EQ(
      format_log_line(
          {{"loss", 2.0881414}, {"learning_rate", 5e-5}, {"epoch", 2.0}, {"skipped_rows", 3}}),
      "{'loss': '2.088', 'learning_rate': '5e-05', 'epoch': '2', 'skipped_rows': 3}");
  EXPECT_EQ(format_log_line({{"loss", std::numeric_limits<double>::quiet_NaN()}}),
            "{'loss': 'nan'}");
}

TEST(ModelCard, NamesOnlyWhatTheHubKnows) {
  const test::TemporaryFolder folder;
  TrainOptions options;
  options.do_train = true;
  options.model_name_or_path = "BridgeTower/bridgetower-large-itm-mlm-itc";
  options.dataset_name = folder.path().string();
  options.output_dir = (folder / "my-model").string();
  options.learning_rate = 1e-5;
  options.gradient_accumulation_steps = 2;
  const Json history = {{{"loss", 2.0}, {"epoch", 0.5}, {"step", 1}},
                        {{"eval_loss", 1.87654321}, {"epoch", 1.0}, {"step", 2}}};
  const std::string card = make_model_card(options, history, {{"eval_loss", 1.23456789}});
  EXPECT_THAT(card, HasSubstr("base_model: \"BridgeTower/bridgetower-large-itm-mlm-itc\"\n"));
  EXPECT_THAT(card, HasSubstr("- name: \"my-model\"\n"));
  EXPECT_THAT(card, HasSubstr("- learning_rate: 1e-05\n"));
  EXPECT_THAT(card, HasSubstr("- total_train_batch_size: 16\n"));
  EXPECT_THAT(card, HasSubstr("- Loss: 1.2346\n"));
  EXPECT_THAT(card, HasSubstr("| 2.0           | 1.0   | 2    | 1.8765          |"));
  EXPECT_THAT(card, Not(HasSubstr(folder.path().string())));
}

}  // namespace
}  // namespace cantilever
