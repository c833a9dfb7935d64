#include "cantilever/cli/flag_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cantilever/base/file.h"
#include "cantilever/cli/args_file.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

using enum FlagType;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const FlagTable& table() {
  static const FlagTable kTable({{
      "All",
      {
          same("output_dir", kString, "null", "Where to."),
          same("seed", kInt, "42", "Seed.").at_least(0),
          same("max_steps", kInt, "-1", "Steps."),
          same("max_train_samples", kInt, "null", "Rows."),
          same("learning_rate", kFloat, "5e-05", "Rate."),
          same("do_train", kBool, "false", "Train."),
          same("freeze_text_pooler", kBool, "true", "Freeze."),
          same("disable_tqdm", kBool, "null", "No bar."),
          same("report_to", kStrings, "[\"none\"]", "Sinks.")
              .one_of({"tensorboard", "none"}, "use tensorboard"),
          same("overrides", kStrings, "[]", "More.").accumulating(),
          same("lr_scheduler_kwargs", kJson, "null", "More of the schedule."),
          same("eval_strategy", kString, "\"no\"", "When.")
              .one_of({"no", "steps", "epoch"})
              .alias("evaluation_strategy"),
          same("resume_from_checkpoint", kString, "null", "Resume.").or_bare("True"),
          no_effect("use_lazy_mode", kBool, "false", "operations run at once"),
          refused("fp16", kBool, "false", "float32 only"),
          refused("deepspeed", kString, "null", "a Python library"),
          no_effect("hub_token", kString, "null", "nothing is pushed").hidden_value(),
      },
  }});
  return kTable;
}

FlagValues parse(const Words& words) {
  return parse_flags(table(), words);
}

std::string usage_error(const Words& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

TEST(FlagParser, DefaultsWithoutFlags) {
  const FlagValues values = parse({});
  EXPECT_EQ(values.get<int64_t>("seed"), 42);
  EXPECT_EQ(values.text("output_dir"), "");
  EXPECT_FALSE(values.optional<int64_t>("max_train_samples").has_value());
  EXPECT_TRUE(values.flag("freeze_text_pooler"));
  EXPECT_FALSE(values.given("seed"));
}

TEST(FlagParser, EverySpellingOfAValue) {
  for (const Words& words :
       {Words{"--max_steps", "7"}, Words{"--max_steps=7"}, Words{"--max-steps", "7"},
        Words{"--max-steps=7"}, Words{"--max_steps", "+7"}, Words{"--max_steps", " 7 "}}) {
    EXPECT_EQ(parse(words).get<int64_t>("max_steps"), 7) << words[0];
  }
  EXPECT_EQ(parse({"--max_steps", "-1"}).get<int64_t>("max_steps"), -1);
  EXPECT_EQ(parse({"--max_steps", "1_000"}).get<int64_t>("max_steps"), 1000);
  EXPECT_EQ(parse({"--learning_rate", "1e-5"}).get<double>("learning_rate"), 1e-5);
  EXPECT_EQ(parse({"--learning_rate=-.5"}).get<double>("learning_rate"), -0.5);
  EXPECT_EQ(parse({"--learning_rate", "3"}).get<double>("learning_rate"), 3.0);
  EXPECT_EQ(parse({"--output_dir", "-"}).text("output_dir"), "-");
  EXPECT_EQ(parse({"--output_dir="}).text("output_dir"), "");
  EXPECT_EQ(parse({"--output_dir=a=b"}).text("output_dir"), "a=b");
  EXPECT_EQ(parse({"--output_dir", "a b"}).text("output_dir"), "a b");
}

TEST(FlagParser, EverySpellingOfABoolean) {
  for (const char* yes : {"True", "true", "TRUE", "t", "y", "yes", "1"}) {
    EXPECT_TRUE(parse({"--do_train", yes}).flag("do_train")) << yes;
    EXPECT_TRUE(parse({concat("--do-train=", yes)}).flag("do_train")) << yes;
  }
  for (const char* no : {"False", "false", "f", "n", "no", "0"}) {
    EXPECT_FALSE(parse({"--freeze_text_pooler", no}).flag("freeze_text_pooler")) << no;
  }
  EXPECT_TRUE(parse({"--do_train"}).flag("do_train"));
  EXPECT_TRUE(parse({"--do_train", "--seed", "1"}).flag("do_train"));
  EXPECT_FALSE(parse({"--no_freeze_text_pooler"}).flag("freeze_text_pooler"));
  EXPECT_FALSE(parse({"--no-freeze-text-pooler"}).flag("freeze_text_pooler"));
  EXPECT_EQ(parse({"--disable_tqdm", "True"}).optional<bool>("disable_tqdm"), true);
  EXPECT_EQ(parse({}).optional<bool>("disable_tqdm"), std::nullopt);
}

TEST(FlagParser, NoneMeansNotSetWhereThatIsTheDefault) {
  EXPECT_FALSE(parse({"--max_train_samples", "None"}).optional<int>("max_train_samples"));
  EXPECT_FALSE(parse({"--disable_tqdm", "None"}).optional<bool>("disable_tqdm"));
  EXPECT_EQ(parse({"--output_dir", "None"}).text("output_dir"), "None");
  EXPECT_THAT(usage_error({"--seed", "None"}), HasSubstr("--seed: 'None' is not a whole number"));
}

TEST(FlagParser, ListsTakeWordsUntilTheNextFlag) {
  EXPECT_EQ(parse({"--report_to", "tensorboard", "none", "--do_train"}).words("report_to"),
            (Words{"tensorboard", "none"}));
  EXPECT_EQ(parse({"--report_to=tensorboard"}).words("report_to"), Words{"tensorboard"});
  // As argparse: the last of repeated flags, unless the flag collects.
  EXPECT_EQ(parse({"--report_to", "none", "--report_to", "tensorboard"}).words("report_to"),
            Words{"tensorboard"});
  EXPECT_EQ(parse({"--overrides", "a=1", "b=2", "--overrides", "c=3"}).words("overrides"),
            (Words{"a=1", "b=2", "c=3"}));
}

TEST(FlagParser, TheLastOfRepeatedFlagsWins) {
  EXPECT_EQ(parse({"--seed", "1", "--seed=2"}).get<int64_t>("seed"), 2);
  EXPECT_FALSE(parse({"--do_train", "--no_do_train"}).flag("do_train"));
}

TEST(FlagParser, FlagsThatMayStandAlone) {
  EXPECT_EQ(parse({"--resume_from_checkpoint"}).text("resume_from_checkpoint"), "True");
  EXPECT_EQ(parse({"--resume_from_checkpoint", "x"}).text("resume_from_checkpoint"), "x");
  EXPECT_EQ(parse({"--resume_from_checkpoint", "--do_train"}).text("resume_from_checkpoint"),
            "True");
}

TEST(FlagParser, OlderNames) {
  EXPECT_EQ(parse({"--evaluation_strategy", "epoch"}).text("eval_strategy"), "epoch");
  EXPECT_TRUE(parse({"--evaluation-strategy=epoch"}).given("eval_strategy"));
}

TEST(FlagParser, JsonObjects) {
  const FlagValues values = parse({"--lr_scheduler_kwargs", R"({"num_cycles": 2})"});
  EXPECT_EQ(values.json("lr_scheduler_kwargs")["num_cycles"], 2);
  EXPECT_THAT(usage_error({"--lr_scheduler_kwargs", "{num"}), HasSubstr("is not a JSON object"));
  EXPECT_THAT(usage_error({"--lr_scheduler_kwargs", "[1]"}), HasSubstr("is not a JSON object"));
}

TEST(FlagParser, AnUnknownFlagNamesTheNearest) {
  EXPECT_THAT(usage_error({"--learning_rat", "1"}),
              HasSubstr("unknown flag --learning_rat; did you mean --learning_rate?"));
  EXPECT_THAT(usage_error({"--learning-rat=1"}), HasSubstr("did you mean --learning_rate?"));
  EXPECT_THAT(usage_error({"--max_train", "1"}), HasSubstr("did you mean --max_train_samples?"));
  EXPECT_THAT(usage_error({"--no_seed"}), HasSubstr("unknown flag --no_seed"));
  EXPECT_THAT(usage_error({"-seed", "1"}), HasSubstr("did you mean --seed?"));
  EXPECT_THAT(usage_error({"--quite_something_else"}), testing::Not(HasSubstr("did you mean")));
}

TEST(FlagParser, AWrongValueNamesFlagValueAndWhatIsExpected) {
  EXPECT_EQ(usage_error({"--seed", "x"}), "--seed: 'x' is not a whole number");
  EXPECT_EQ(usage_error({"--seed=1.5"}), "--seed: '1.5' is not a whole number");
  EXPECT_EQ(usage_error({"--seed", ""}), "--seed: '' is not a whole number");
  EXPECT_EQ(usage_error({"--seed", "99999999999999999999"}),
            "--seed: '99999999999999999999' is not a whole number");
  EXPECT_EQ(usage_error({"--seed", "1__0"}), "--seed: '1__0' is not a whole number");
  EXPECT_EQ(usage_error({"--seed", "-3"}), "--seed: '-3' is too small; the smallest value is 0");
  EXPECT_EQ(usage_error({"--learning_rate", "fast"}), "--learning_rate: 'fast' is not a number");
  EXPECT_EQ(usage_error({"--do_train", "maybe"}), "--do_train: 'maybe' is not True or False");
  EXPECT_EQ(usage_error({"--report_to", "wandb"}),
            "--report_to: 'wandb' is not one of tensorboard, none; use tensorboard");
  EXPECT_EQ(usage_error({"--eval_strategy", "always"}),
            "--eval_strategy: 'always' is not one of no, steps, epoch");
  EXPECT_THAT(usage_error({"--seed"}), HasSubstr("--seed: a value is missing; expected a whole"));
  EXPECT_THAT(usage_error({"--seed", "--do_train"}), HasSubstr("--seed: a value is missing"));
  EXPECT_THAT(usage_error({"--report_to"}), HasSubstr("--report_to: a value is missing"));
  EXPECT_THAT(usage_error({"--no_freeze_text_pooler=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(usage_error({"train"}), HasSubstr("unexpected word 'train'"));
  EXPECT_THAT(usage_error({"--seed", "1", "2"}), HasSubstr("unexpected word '2'"));
}

TEST(FlagParser, RefusedFlagsSayWhy) {
  EXPECT_EQ(usage_error({"--fp16"}), "--fp16 is refused: float32 only");
  EXPECT_EQ(usage_error({"--deepspeed", "ds.json"}), "--deepspeed is refused: a Python library");
  EXPECT_FALSE(parse({"--fp16", "False"}).flag("fp16"));
  EXPECT_NO_THROW(parse({"--no_fp16"}));
}

TEST(FlagParser, FlagsWithoutEffectAreNamedOnce) {
  const FlagValues values = parse({"--use_lazy_mode", "--use_lazy_mode"});
  EXPECT_EQ(values.notes(), Words{"--use_lazy_mode has no effect here: operations run at once"});
  EXPECT_TRUE(parse({}).notes().empty());
}

TEST(FlagParser, SecretsStayOutOfWhatIsWritten) {
  const FlagValues values = parse({"--hub_token", "hf_secret"});
  EXPECT_EQ(values.as_json()["hub_token"], "<HUB_TOKEN>");
  EXPECT_EQ(parse({}).as_json()["hub_token"], nullptr);
  for (const std::string& note : values.notes()) EXPECT_THAT(note, testing::Not(HasSubstr("hf_")));
}

class ArgsFile : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    const auto path = folder_.path() / name;
    write_file_atomically(path, content);
    return path.string();
  }

  test::TemporaryFolder folder_;
};

TEST_F(ArgsFile, JsonWithTypes) {
  const std::string file = write("args.json", R"({"max_steps": 7, "seed": 3.0, "do_train": true,
      "learning_rate": "1e-5", "report_to": ["tensorboard", "none"], "output_dir": "out",
      "max_train_samples": null, "lr_scheduler_kwargs": {"power": 2}, "freeze-text-pooler": false})");
  const FlagValues values = parse({file});
  EXPECT_EQ(values.get<int64_t>("max_steps"), 7);
  EXPECT_EQ(values.get<int64_t>("seed"), 3);
  EXPECT_TRUE(values.flag("do_train"));
  EXPECT_EQ(values.get<double>("learning_rate"), 1e-5);
  EXPECT_EQ(values.words("report_to"), (Words{"tensorboard", "none"}));
  EXPECT_EQ(values.text("output_dir"), "out");
  EXPECT_EQ(values.json("lr_scheduler_kwargs")["power"], 2);
  EXPECT_FALSE(values.flag("freeze_text_pooler"));
}

TEST_F(ArgsFile, FlagsOverruleTheFile) {
  const std::string file = write("args.json", R"({"max_steps": 7})");
  EXPECT_EQ(parse({file, "--max_steps", "9"}).get<int64_t>("max_steps"), 9);
}

TEST_F(ArgsFile, WrongJsonValuesNameFileKeyAndValue) {
  EXPECT_THAT(usage_error({write("a.json", R"({"seed": 1.5})")}),
              testing::EndsWith("a.json: seed: '1.5' is not a whole number"));
  EXPECT_THAT(usage_error({write("b.json", R"({"seed": true})")}), HasSubstr("seed: 'true'"));
  EXPECT_THAT(usage_error({write("c.json", R"({"seed": null})")}), HasSubstr("seed: 'null'"));
  EXPECT_THAT(usage_error({write("d.json", R"({"seed": [1]})")}), HasSubstr("seed: '[1]'"));
  EXPECT_THAT(usage_error({write("e.json", R"({"sed": 1})")}), HasSubstr("did you mean --seed?"));
  EXPECT_THAT(usage_error({write("f.json", R"([1])")}), HasSubstr("is a JSON object"));
  EXPECT_THAT(usage_error({write("g.json", R"({"fp16": true})")}), HasSubstr("--fp16 is refused"));
  EXPECT_THROW(parse({write("h.json", "{")}), Error);
  EXPECT_THROW(parse({"not-there.json"}), Error);
}

TEST_F(ArgsFile, FlatYaml) {
  const std::string file = write("args.yaml", R"(---
# a run
max_steps: 7     # steps
learning_rate: 1e-5
do_train: yes
eval_strategy: no
output_dir: "a: b # c"
report_to:
  - tensorboard
  - none
overrides: [a=1, 'b, ''c''', "d"]
max_train_samples: ~
lr_scheduler_kwargs: {"power": 2}
)");
  const FlagValues values = parse({file});
  EXPECT_EQ(values.get<int64_t>("max_steps"), 7);
  EXPECT_EQ(values.get<double>("learning_rate"), 1e-5);
  EXPECT_TRUE(values.flag("do_train"));
  EXPECT_EQ(values.text("eval_strategy"), "no");
  EXPECT_EQ(values.text("output_dir"), "a: b # c");
  EXPECT_EQ(values.words("report_to"), (Words{"tensorboard", "none"}));
  EXPECT_FALSE(values.optional<int64_t>("max_train_samples"));
  EXPECT_EQ(values.json("lr_scheduler_kwargs")["power"], 2);
}

TEST_F(ArgsFile, YamlThatIsNotReadIsRefusedWithItsLine) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      parse_flat_yaml(text, "f.yaml");
    } catch (const UsageError& caught) {
      return caught.what();
    } catch (const Error& caught) {
      return caught.what();
    }
    return "read";
  };
  EXPECT_THAT(error("seed: 1\ntraining:\n  seed: 2\n"), HasSubstr("f.yaml line 3: nested keys"));
  EXPECT_THAT(error("seed: &a 1\n"), HasSubstr("line 1: '&a 1' begins with &"));
  EXPECT_THAT(error("text: |\n  long\n"), HasSubstr("begins with |"));
  EXPECT_THAT(error("text: !!str 1\n"), HasSubstr("begins with !"));
  EXPECT_THAT(error("a: [1, 2\n"), HasSubstr("ends on the same line"));
  EXPECT_THAT(error("a: 'x\n"), HasSubstr("not closed"));
  EXPECT_THAT(error("a: \"x\n"), testing::Not("read"));
  EXPECT_THAT(error("a: {b: 1\n"), testing::Not("read"));
  EXPECT_THAT(error("just words\n"), HasSubstr("is no `key: value`"));
  EXPECT_THAT(error("- a\n"), HasSubstr("list item without a key"));
  EXPECT_THAT(error("a: 1\na: 2\n"), HasSubstr("stands twice"));
  EXPECT_THAT(error(": 1\n"), HasSubstr("no flag's name"));
  EXPECT_EQ(error("a: 'it''s'\nb:\n"), "read");
}

TEST(FlagParser, WordsWithoutAFlagWhereACommandTakesThem) {
  const FlagTable with_words({{"All",
                               {own("path", kStrings, "[]", "Paths.").accumulating(),
                                own("json", kBool, "false", "As JSON.")}}},
                             "path");
  const FlagValues values = parse_flags(with_words, {"a.json", "--json", "b", "--path", "c"});
  EXPECT_EQ(values.words("path"), (Words{"a.json", "b", "c"}));
  EXPECT_TRUE(values.flag("json"));
  EXPECT_THROW(parse_flags(with_words, {"-x"}), UsageError);
}

TEST(FlagTable, AFlagThatStandsTwiceIsOurMistake) {
  EXPECT_THROW(FlagTable({{"A", {own("a", kInt, "1", ""), own("b", kInt, "1", "").alias("a")}}}),
               InternalError);
}

}  // namespace
}  // namespace cantilever
