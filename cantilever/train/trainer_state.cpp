#include "cantilever/train/trainer_state.h"

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

Json control_json(const Flow& flow) {
  Json control;
  control["args"] = {{"should_epoch_stop", false},
                     {"should_evaluate", flow.evaluate},
                     {"should_log", flow.log},
                     {"should_save", flow.save},
                     {"should_training_stop", flow.stop}};
  control["attributes"] = Json::object();
  return control;
}

}  // namespace

void TrainerState::take_plan(const TrainingPlan& plan) {
  max_steps = plan.max_steps;
  num_train_epochs = plan.num_train_epochs;
  train_batch_size = plan.batch_size;
  logging_steps = plan.logging.given;
  eval_steps = plan.evaluation.given;
  save_steps = plan.saving.given;
}

void TrainerState::log(Json values) {
  values["epoch"] = epoch;
  values["step"] = global_step;
  log_history.push_back(std::move(values));
}

Json TrainerState::to_json() const {
  Json json;
  json["best_global_step"] = nullptr;
  json["best_metric"] = nullptr;
  json["best_model_checkpoint"] = nullptr;
  json["epoch"] = epoch;
  json["eval_steps"] = eval_steps;
  json["global_step"] = global_step;
  json["is_hyper_param_search"] = false;
  json["is_local_process_zero"] = true;
  json["is_world_process_zero"] = true;
  json["log_history"] = log_history;
  json["logging_steps"] = logging_steps;
  json["max_steps"] = max_steps;
  json["num_input_tokens_seen"] = 0;
  json["num_train_epochs"] = num_train_epochs;
  json["save_steps"] = save_steps;
  json["stateful_callbacks"]["TrainerControl"] = control_json(saved_flow);
  json["total_flos"] = total_flos;
  json["train_batch_size"] = train_batch_size;
  json["trial_name"] = nullptr;
  json["trial_params"] = nullptr;
  return json;
}

void TrainerState::save(const std::filesystem::path& path) const {
  write_json(path, to_json(), 2, true);
}

TrainerState TrainerState::load(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const std::string where = path.string();
  CANTILEVER_CHECK(json.is_object() && json.contains("global_step"), where,
                   ": no \"global_step\"; this is no trainer_state.json");
  TrainerState state;
  state.epoch = json_value<double>(json, "epoch", 0, where);
  state.global_step = json_value<int64_t>(json, "global_step", 0, where);
  state.total_flos = json_value<double>(json, "total_flos", 0, where);
  state.log_history = json_value<Json>(json, "log_history", Json::array(), where);
  state.max_steps = json_value<int64_t>(json, "max_steps", 0, where);
  state.num_train_epochs = json_value<int64_t>(json, "num_train_epochs", 0, where);
  state.train_batch_size = json_value<int64_t>(json, "train_batch_size", 0, where);
  state.logging_steps = json_value<Json>(json, "logging_steps", 500, where);
  state.eval_steps = json_value<Json>(json, "eval_steps", 500, where);
  state.save_steps = json_value<Json>(json, "save_steps", 500, where);
  CANTILEVER_CHECK(state.global_step >= 0 && state.log_history.is_array(), where,
                   ": global_step is negative or log_history is no list");
  return state;
}

}  // namespace cantilever
