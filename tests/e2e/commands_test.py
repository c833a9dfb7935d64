"""init, info, search, help, and what the program says when something is wrong."""

import json
import os
import re
import unittest

import workshop
from workshop import ProgramTest, needs_program


@needs_program
class Usage(ProgramTest):
    def test_exit_status_two_and_the_nearest_name(self):
        self.assertIn("did you mean 'train'?", self.fails(2, "tran"))
        self.assertIn("did you mean --learning_rate?", self.fails(2, "train", "--learning_rat", "1"))
        self.assertIn("comes with a later version; several processes", self.fails(2, "launch", "--world_size", 8, "train"))
        self.assertIn("a command comes before the flags", self.fails(2, "--do_train"))
        self.assertEqual("--max_steps: 'ten' is not a whole number", self.fails(2, "train", "--max_steps", "ten"))

    def test_without_a_command_the_help_and_status_two(self):
        done = workshop.run()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("Commands:", done.stderr)

    def test_help(self):
        self.assertIn("Commands:", self.succeeds("--help").stdout)
        for command in ("train", "init", "search", "inspect", "verify", "info", "bench"):
            text = self.succeeds(command, "--help").stdout
            self.assertIn(f"usage: cantilever {command}", text)
            self.assertEqual(text, self.succeeds("help", command).stdout)
        text = self.succeeds("train", "--output_dir", "x", "--help").stdout
        self.assertRegex(text, r"--learning_rate NUMBER\n +Highest learning rate. \(default: 5e-05\)")
        self.assertRegex(self.succeeds("--version").stdout, r"^cantilever \d+\.\d+\.\d+\n$")

    def test_what_is_missing(self):
        out = workshop.fresh("out")
        self.assertIn("--output_dir is missing", self.fails(2, "train", "--do_train"))
        self.assertIn("nothing to do", self.fails(2, "train", "--output_dir", out))
        self.assertIn("--model_name_or_path is missing", self.fails(2, "train", "--output_dir", out, "--do_train"))

    def test_refused_flags_say_why_and_make_nothing(self):
        out = workshop.fresh("out")
        for flags, words in (
                (["--push_to_hub"], "uploading comes with a later version"),
                (["--bf16"], "float32 only"),
                (["--fp16", "True"], "float32 only"),
                (["--torch_compile"], "compiled already"),
                (["--deepspeed", "ds.json"], "Python library"),
                (["--fsdp"], "one process"),
                (["--report_to", "wandb"], "use tensorboard"),
                (["--device", "cuda"], "computes on the CPU"),
                (["--device", "hpu"], "computes on the CPU"),
                (["--optim", "adafactor"], "AdamW is the only optimiser"),
                (["--load_best_model_at_end"], "best checkpoint is not tracked"),
        ):
            self.assertIn(words, self.fails(2, *workshop.train_flags(out, "--do_train", *flags)))
        self.assertFalse(out.exists())

    def test_a_process_of_a_launcher(self):
        line = self.fails(2, *workshop.train_flags(workshop.fresh("out"), "--do_train"), environment={"WORLD_SIZE": "4"})
        self.assertIn("WORLD_SIZE=4", line)


@needs_program
class Failures(ProgramTest):
    def test_files_that_are_not_there(self):
        out = workshop.fresh("out")
        flags = workshop.train_flags(out, "--do_train")
        for old, new in ((workshop.tiny_model(), "no-such-model"),
                         (workshop.picture_set() / "train.jsonl", "no-such-file.jsonl")):
            changed = [new if flag == old else flag for flag in flags]
            self.assertIn(new, self.fails(1, *changed))
        self.assertIn("no-such-folder", self.fails(1, *flags, "--resume_from_checkpoint", "no-such-folder"))
        self.assertFalse(out.exists())
        self.assertIn("nowhere.yaml", self.fails(1, "train", "nowhere.yaml"))

    def test_a_column_that_is_not_there(self):
        line = self.fails(1, *workshop.train_flags(workshop.fresh("out"), "--do_train", "--caption_column", "Caption"))
        for word in ("'Caption'", "image_path", "did you mean 'caption'?", "train.jsonl"):
            self.assertIn(word, line)

    def test_a_broken_weight_file(self):
        model = workshop.fresh("model")
        self.succeeds("init", "--output_dir", model, "--tokenizer_name", workshop.tiny_model())
        weights = model / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1000])
        line = self.fails(1, *[model if flag == workshop.tiny_model() else flag for flag in
                               workshop.train_flags(workshop.fresh("out"), "--do_train")])
        self.assertIn("model.safetensors", line)

    def test_an_output_folder_that_cannot_be_written(self):
        file = workshop.fresh("file")
        file.write_text("", encoding="utf-8")
        line = self.fails(1, *workshop.train_flags(file / "out", "--do_train", "--max_steps", 1))
        self.assertIn(str(file / "out"), line)
        self.assertIn("Not a directory", line)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_read_only_folder(self):
        folder = workshop.fresh("read-only")
        folder.mkdir(mode=0o555)
        line = self.fails(1, *workshop.train_flags(folder / "out", "--do_train", "--max_steps", 1))
        self.assertIn("Permission denied", line)

    def test_a_folder_that_cannot_be_written_is_known_before_the_training(self):
        # Not even root can make a file there.
        line = self.fails(1, *workshop.train_flags("/proc/self/task", "--do_train", "--max_steps", 1,
                                                   "--save_strategy", "no", "--overwrite_output_dir"))
        self.assertIn("cannot write /proc/self/task/write-test", line)

    def test_a_folder_with_content_is_not_overwritten(self):
        out = workshop.fresh("out")
        out.mkdir()
        (out / "precious.txt").write_text("x", encoding="utf-8")
        self.assertIn("--overwrite_output_dir", self.fails(1, *workshop.train_flags(out, "--do_train")))
        self.assertEqual([path.name for path in out.iterdir()], ["precious.txt"])

    def test_debug_adds_type_and_stack(self):
        done = workshop.run("info", "no-such-path", "--debug")
        self.assertEqual(done.returncode, 1)
        self.assertIn("thrown as cantilever::Error at", done.stderr)
        self.assertIn("run_main", done.stderr)


@needs_program
class Init(ProgramTest):
    def test_a_folder_as_transformers_writes_it(self):
        out = workshop.fresh("model")
        said = self.succeeds(
            "init", "--output_dir", out, "--size", "tiny", "--captions_from", workshop.picture_set() / "train.jsonl",
            "--vocab_size", 280, "--image_size", 32, "--dropout", 0.2, "--config_overrides", "link_tower_type=scaled_add",
            "--set", "text_config.num_attention_heads=8", "vision_config.patch_size=8").stdout
        config = json.loads((out / "config.json").read_text(encoding="utf-8"))
        self.assertEqual(config["link_tower_type"], "scaled_add")
        self.assertEqual(config["text_config"]["num_attention_heads"], 8)
        self.assertEqual(config["text_config"]["hidden_dropout_prob"], 0.2)
        self.assertEqual(config["text_config"]["vocab_size"], 280)
        self.assertEqual((config["vision_config"]["image_size"], config["vision_config"]["patch_size"]), (32, 8))
        self.assertEqual(config["architectures"], ["BridgeTowerForContrastiveLearning"])
        processor = json.loads((out / "preprocessor_config.json").read_text(encoding="utf-8"))
        self.assertEqual((processor["size"], processor["crop_size"]), ({"shortest_edge": 32}, {"shortest_edge": 32}))
        self.assertEqual(processor["rescale_factor"], 1 / 255)
        for name in ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "special_tokens_map.json"):
            self.assertTrue((out / name).is_file(), name)
        told = json.loads(self.succeeds("info", "--json", out).stdout)["model"]
        self.assertIn(f"{told['weights']['elements']} parameters", said)
        self.assertEqual(told["tokenizer"], "280 pieces")

    def test_the_seed_decides_the_weights(self):
        files = []
        for seed in (1, 1, 2):
            out = workshop.fresh("model")
            self.succeeds("init", "--output_dir", out, "--tokenizer_name", workshop.tiny_model(), "--seed", seed)
            files.append((out / "model.safetensors").read_bytes())
        self.assertEqual(files[0], files[1])
        self.assertNotEqual(files[0], files[2])

    def test_wrong_usage(self):
        out, tokenizer = workshop.fresh("model"), ("--tokenizer_name", workshop.tiny_model())
        self.assertIn("one of the two", self.fails(2, "init", "--output_dir", out))
        self.assertIn("did you mean hidden_size?", self.fails(
            2, "init", "--output_dir", out, *tokenizer, "--config_overrides", "hiden_size=64"))
        self.assertIn("not KEY=JSON", self.fails(2, "init", "--output_dir", out, *tokenizer, "--config_overrides", "x"))
        self.assertIn("'huge' is not one of tiny", self.fails(2, "init", "--output_dir", out, *tokenizer, "--size", "huge"))
        self.assertIn("smallest value is 261", self.fails(
            2, "init", "--output_dir", out, "--captions_from", "x.txt", "--vocab_size", 100))
        self.assertIn("is not empty", self.fails(1, "init", "--output_dir", workshop.tiny_model(), *tokenizer))
        self.assertFalse(out.exists())


@needs_program
class Info(ProgramTest):
    def test_this_build(self):
        told = json.loads(self.succeeds("info", "--json").stdout)
        self.assertRegex(told["torch"], r"^2\.")
        self.assertEqual(told["threads"], 1)
        self.assertEqual(told["backends"], {"cpu": "built in", "cuda": "not built, never run", "hpu": "not built, never run"})
        self.assertIn("cpu_capability: ", self.succeeds("info").stdout)

    def test_a_model_a_weight_file_and_a_data_set(self):
        done = self.succeeds("info", "--json", workshop.tiny_model(), workshop.tiny_model() / "model.safetensors",
                             workshop.picture_set())
        model, weights, data = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual(model["model"]["config"]["hidden_size"], 64)
        self.assertEqual(model["model"]["weights"]["elements"], weights["weights"]["elements"])
        self.assertEqual(weights["weights"]["metadata"], {"format": "pt"})
        self.assertEqual({split: told["rows"] for split, told in data["data_set"]["splits"].items()},
                         {"train": 24, "validation": 8, "test": 8})
        self.assertEqual(data["data_set"]["columns"], "image_path (string), caption (string)")

    def test_a_data_set_with_other_columns_says_which(self):
        folder = workshop.fresh("set")
        folder.mkdir()
        (folder / "train.csv").write_text("photo,words\na.png,one\n", encoding="utf-8")
        line = self.fails(1, "info", folder)
        self.assertIn("photo", line)
        self.assertIn("words", line)
        told = json.loads(self.succeeds("info", "--json", folder, "--image_column", "photo", "--caption_column",
                                        "words").stdout)
        self.assertEqual(told["data_set"]["splits"]["train"]["rows"], 1)

    def test_tensors(self):
        text = self.succeeds("info", "--tensors", workshop.tiny_model()).stdout
        self.assertRegex(text, re.compile(r"^ +logit_scale F32 \[\]$", re.MULTILINE))

    def test_an_output_folder_and_its_checkpoint(self):
        out = workshop.fresh("out")
        self.succeeds(*workshop.train_flags(out, "--do_train", "--max_steps", 2))
        run, checkpoint = (json.loads(line) for line in
                           self.succeeds("info", "--json", out, out / "checkpoint-2").stdout.splitlines())
        self.assertEqual(run["run"]["checkpoints"], ["checkpoint-2"])
        self.assertIn("train_loss", run["run"]["results"])
        self.assertEqual((checkpoint["checkpoint"]["complete"], checkpoint["checkpoint"]["global_step"]), (True, 2))
        (out / "checkpoint-2" / "complete.json").unlink()
        told = json.loads(self.succeeds("info", "--json", out / "checkpoint-2").stdout)
        self.assertFalse(told["checkpoint"]["complete"])


@needs_program
class Search(ProgramTest):
    def search(self, *more):
        out = workshop.fresh("found")
        done = self.succeeds("search", "--model_name_or_path", workshop.tiny_model(), *workshop.data_flags(), "--max_seq_length",
                             16, "--output_dir", out, *more)
        return out, json.loads((out / "search_results.json").read_text(encoding="utf-8")), done.stdout

    def test_captions_texts_and_pictures(self):
        picture = workshop.picture_set() / "pictures/red-bar-70.png"
        out, results, said = self.search("--query", "a red square", "a blue bar", "--queries", 3, "--query_image", picture,
                                         "--top_k", 4)
        self.assertEqual(results["rows"], 8)
        for side in ("text_to_image", "image_to_text"):
            self.assertEqual(results[side]["gallery"], 8)
            self.assertAlmostEqual(results[side]["chance_at_1"], 1 / 8, places=6)
            self.assertLessEqual(results[side]["recall_at_1"], results[side]["recall_at_5"])
        self.assertEqual([query["row"] for query in results["queries"]], [None, None, 0, 1, 2])
        for query in results["queries"] + results["image_queries"]:
            scores = [hit["score"] for hit in query["results"]]
            self.assertEqual(len(scores), 4)
            self.assertEqual(scores, sorted(scores, reverse=True))
        for query in results["queries"][2:]:
            place = [hit["row"] for hit in query["results"] if hit["right"]]
            self.assertEqual(place, [query["row"]] if query["rank"] <= 4 else [])
        width, height, _ = workshop.read_png(out / "contact_sheet.png")
        self.assertGreater(height, width / 4)
        self.assertIn("text to image: R@1", said)

    def test_a_trained_model_finds_what_it_was_trained_on(self):
        trained = workshop.fresh("trained")
        self.succeeds(*workshop.train_flags(trained, "--do_train", "--max_steps", 90, "--learning_rate", "1e-3",
                                            "--per_device_train_batch_size", 12, "--save_strategy", "no"))
        out = workshop.fresh("found")
        self.succeeds("search", "--model_name_or_path", trained, *workshop.data_flags(), "--split", "train",
                      "--max_seq_length", 16, "--output_dir", out)
        results = json.loads((out / "search_results.json").read_text(encoding="utf-8"))
        self.assertEqual(results["text_to_image"]["gallery"], 24)
        self.assertGreater(results["text_to_image"]["recall_at_5"], 2 * results["text_to_image"]["chance_at_5"])
        self.assertFalse((out / "contact_sheet.png").exists())

    def test_rows_that_cannot_be_used_are_replaced_when_asked(self):
        lines = (workshop.picture_set() / "test.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        rows[0]["caption"] = None
        rows[3]["image_path"] = "nowhere.png"
        file, out = workshop.picture_set() / "broken.jsonl", workshop.fresh("found")
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self.addCleanup(file.unlink)
        flags = ["search", "--model_name_or_path", workshop.tiny_model(), "--test_file", file, "--max_seq_length", 16,
                 "--output_dir", out, "--queries", 8, "--top_k", 8]
        self.assertIn("broken.jsonl, line 1", self.fails(1, *flags))
        done = self.succeeds(*flags, "--on_bad_sample", "skip")
        self.assertIn("2 rows could not be used and were replaced", done.stderr)
        results = json.loads((out / "search_results.json").read_text(encoding="utf-8"))
        self.assertEqual([query["row"] for query in results["queries"]], [1, 2, 4, 5, 6, 7])
        for query in results["queries"]:
            found = {hit["row"] for hit in query["results"]}
            self.assertLessEqual(found, {1, 2, 4, 5, 6, 7})
            for hit in query["results"]:
                self.assertEqual(hit["caption"], rows[hit["row"]]["caption"])


if __name__ == "__main__":
    unittest.main()
