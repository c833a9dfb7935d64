#pragma once

#include <vector>

#include "cantilever/cli/flag.h"

namespace cantilever {

// Groups that several commands share.
FlagGroup common_flags();  // --help, --debug, --threads, --log_level
FlagGroup data_flags();    // where the pairs are, columns
FlagGroup decode_flags();  // how an encoded picture is read
FlagGroup pixel_flags();   // that, and what "resize and centre crop" means
FlagGroup cache_flags();   // finished pictures that are kept
Flag on_bad_sample_flag();

// The groups of `train`. Every transformers.TrainingArguments of 5.24 stands in one of them (a test
// compares names and defaults), every argument of run_bridgetower.py, those of
// GaudiTrainingArguments, and those that Transformers 5 dropped and older scripts still pass.
FlagGroup model_flags();
FlagGroup run_flags();  // what to do and where to
FlagGroup training_flags();
FlagGroup schedule_flags();
FlagGroup evaluation_flags();
FlagGroup logging_flags();
FlagGroup saving_flags();
FlagGroup loading_flags();  // data loader
FlagGroup augmentation_flags();
FlagGroup device_flags();
FlagGroup hub_flags();
FlagGroup distributed_flags();
FlagGroup gaudi_flags();
FlagGroup gone_flags();
FlagGroup comparison_flags();  // for comparing with the Python reference

const FlagTable& train_flag_table();

}  // namespace cantilever
