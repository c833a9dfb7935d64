// Flags of several processes, the hub, Gaudi, and of older Transformers.

#include "cantilever/cli/flag_tables.h"

namespace cantilever {

using enum FlagType;

namespace {

constexpr const char* kOneProcess = "there is one process, nothing is exchanged";
constexpr const char* kOnlyWithPush =
    "it is used with --push_to_hub only, which a later version brings";
constexpr const char* kLazy = "that is Gaudi's way to run PyTorch; operations run at once here";
constexpr const char* kGraphs =
    "HPU graphs are Gaudi's; there is nothing to capture on this device";
constexpr const char* kProfiler = "there is no Gaudi to profile";
constexpr const char* kAttention = "attention is computed in float32 as the reference model does";

}  // namespace

FlagGroup distributed_flags() {
  return {"Several processes",
          {
              no_effect("ddp_find_unused_parameters", kBool, "null", kOneProcess),
              no_effect("ddp_bucket_cap_mb", kInt, "null", kOneProcess),
              no_effect("ddp_broadcast_buffers", kBool, "null", kOneProcess),
              no_effect("ddp_static_graph", kBool, "null", kOneProcess),
              no_effect("ddp_backend", kString, "null", kOneProcess),
              no_effect("ddp_timeout", kInt, "1800", kOneProcess),
              refused("local_rank", kInt, "-1",
                      "this version runs in one process; start it without torchrun or mpirun"),
          }};
}

FlagGroup hub_flags() {
  return {
      "Hub",
      {
          refused("push_to_hub", kBool, "false",
                  "uploading comes with a later version; leave the flag out and upload the output "
                  "folder with `hf upload`"),
          no_effect("hub_model_id", kString, "null", kOnlyWithPush),
          no_effect("hub_strategy", kString, "\"every_save\"", kOnlyWithPush),
          no_effect("hub_token", kString, "null", kOnlyWithPush).hidden_value(),
          no_effect("hub_private_repo", kBool, "null", kOnlyWithPush),
          no_effect("hub_always_push", kBool, "false", kOnlyWithPush),
          no_effect("hub_revision", kString, "null", kOnlyWithPush),
      }};
}

FlagGroup gaudi_flags() {
  return {
      "Gaudi (Optimum Habana)",
      {
          same("throughput_warmup_steps", kInt, "0",
               "Steps left out of train_samples_per_second and train_steps_per_second.")
              .at_least(0)
              .at_most(kLargestCount),
          same("adjust_throughput", kBool, "false",
               "Leave logging, evaluating and saving out of the throughput."),
          no_effect("use_habana", kBool, "false",
                    "it means --device auto, and there is no Gaudi: the "
                    "CPU computes"),
          no_effect("gaudi_config_name", kString, "null",
                    "Gaudi's fused AdamW and clipping are built in, its autocast is not used"),
          no_effect("use_lazy_mode", kBool, "false", kLazy),
          no_effect("use_hpu_graphs", kBool, "false", kGraphs),
          no_effect("use_hpu_graphs_for_inference", kBool, "false", kGraphs),
          no_effect("use_hpu_graphs_for_training", kBool, "false", kGraphs),
          no_effect("disable_tensor_cache_hpu_graphs", kBool, "false", kGraphs),
          no_effect("max_hpu_graphs", kInt, "null", kGraphs),
          differs("mediapipe_dataloader", kBool, "false",
                  "Decode through the interface of a media device, a batch at a time.",
                  "there is no media device here: a stand-in on the CPU decodes, with the same "
                  "pixels"),
          no_effect("distribution_strategy", kString, "\"ddp\"", kOneProcess)
              .one_of({"ddp", "fast_ddp"}),
          no_effect("non_blocking_data_copy", kBool, "false", "batches are not copied to a device"),
          no_effect("pipelining_fwd_bwd", kBool, "false", kLazy),
          no_effect("use_compiled_autograd", kBool, "false", kLazy),
          no_effect("use_regional_compilation", kBool, "false", kLazy),
          no_effect("compile_dynamic", kBool, "null", kLazy),
          no_effect("cache_size_limit", kInt, "null", kLazy),
          no_effect("inline_inbuilt_nn_modules", kBool, "null", kLazy),
          no_effect("allow_unspec_int_on_nn_module", kBool, "null", kLazy),
          no_effect("attn_implementation", kString, "\"eager\"", kAttention),
          no_effect("sdp_on_bf16", kBool, "false", kAttention),
          no_effect("use_flash_attention", kBool, "false", kAttention),
          no_effect("flash_attention_recompute", kBool, "false", kAttention),
          no_effect("flash_attention_causal_mask", kBool, "false", kAttention),
          refused("fp8", kBool, "false",
                  "this version computes in float32 only; leave the flag out"),
          no_effect("minimize_memory", kBool, "false", "it belongs to DeepSpeed on Gaudi"),
          no_effect("use_zero3_leaf_promotion", kBool, "false", "it belongs to DeepSpeed on Gaudi"),
          no_effect("context_parallel_size", kInt, "1", kOneProcess),
          no_effect("tensor_parallel_size", kInt, "1", kOneProcess),
          no_effect("ignore_eos", kBool, "true", "nothing is generated"),
          no_effect("profiling_warmup_steps", kInt, "0", kProfiler),
          no_effect("profiling_steps", kInt, "0", kProfiler),
          no_effect("profiling_warmup_steps_eval", kInt, "0", kProfiler),
          no_effect("profiling_steps_eval", kInt, "0", kProfiler),
          no_effect("profiling_record_shapes", kBool, "true", kProfiler),
          no_effect("profiling_with_stack", kBool, "false", kProfiler),
      }};
}

FlagGroup gone_flags() {
  constexpr const char* kHalf = "this version computes in float32 only";
  constexpr const char* kMetrics = "there is no compute_metrics function";
  return {
      "Gone from Transformers 5",
      {
          refused(
              "save_safetensors", kBool, "true",
              "weights are always written as safetensors, which every version since 4.26 reads"),
          refused("group_by_length", kBool, "false", "rows keep the Trainer's random order"),
          no_effect("half_precision_backend", kString, "\"auto\"", kHalf),
          no_effect("fp16_backend", kString, "\"auto\"", kHalf),
          no_effect("fp16_opt_level", kString, "\"O1\"", kHalf),
          no_effect("past_index", kInt, "-1", "the model has no past state"),
          no_effect("jit_mode_eval", kBool, "false", "there is no Python model to trace"),
          refused("torchdynamo", kString, "null", "there is no Python graph to compile"),
          refused("use_ipex", kBool, "false", "Intel's PyTorch extension is not used here"),
          refused("use_mps_device", kBool, "false", "this program computes on the CPU"),
          refused("sharded_ddp", kString, "null", "sharded training is not in this version"),
          no_effect("include_tokens_per_second", kBool, "false",
                    "samples and steps per second are reported"),
          no_effect("include_inputs_for_metrics", kBool, "false", kMetrics),
          no_effect("use_legacy_prediction_loop", kBool, "false", "there is one evaluation loop"),
          no_effect("ray_scope", kString, "\"last\"", "there is no hyper-parameter search"),
          no_effect("mp_parameters", kString, "null", "it belongs to SageMaker"),
          no_effect("tpu_num_cores", kInt, "null", "there is no TPU"),
          no_effect("tpu_metrics_debug", kBool, "false", "there is no TPU"),
          no_effect("xpu_backend", kString, "null", kOneProcess),
          no_effect("dispatch_batches", kBool, "null", kOneProcess),
          no_effect("split_batches", kBool, "null", kOneProcess),
          no_effect("push_to_hub_model_id", kString, "null", kOnlyWithPush),
          no_effect("push_to_hub_organization", kString, "null", kOnlyWithPush),
          no_effect("push_to_hub_token", kString, "null", kOnlyWithPush).hidden_value(),
      }};
}

}  // namespace cantilever
