"""init, train, evaluate, predict, resume and stop, as a user types them."""

import json
import os
import pty
import shutil
import signal
import subprocess
import time
import unittest

import workshop
from workshop import ProgramTest, needs_program


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


@needs_program
class Train(ProgramTest):
    def test_train_evaluate_and_predict_write_their_files(self):
        out = workshop.fresh("out")
        self.succeeds(*workshop.train_flags(
            out, "--do_train", "--do_eval", "--do_predict", "--max_steps", 6, "--logging_steps", 2, "--report_to",
            "tensorboard", "--save_steps", 3, "--learning_rate", "1e-3"))
        for name in ("config.json", "model.safetensors", "tokenizer.json", "preprocessor_config.json", "training_args.json",
                     "train_results.json", "validation_results.json", "test_results.json", "all_results.json",
                     "trainer_state.json", "README.md", "checkpoint-3/complete.json", "checkpoint-6/complete.json",
                     "checkpoint-6/optimizer.safetensors"):
            self.assertTrue((out / name).is_file(), name)
        self.assertEqual(len(list(out.glob("runs/*/events.out.tfevents.*"))), 1)
        everything = read(out / "all_results.json")
        for key in ("epoch", "train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second",
                    "eval_loss", "eval_runtime", "eval_samples_per_second", "test_loss"):
            self.assertIn(key, everything)
        state = read(out / "trainer_state.json")
        self.assertEqual(state["global_step"], 6)
        self.assertEqual([entry["step"] for entry in state["log_history"] if "loss" in entry], [2, 4, 6])
        arguments = read(out / "training_args.json")
        self.assertEqual(arguments["max_steps"], 6)
        self.assertEqual(arguments["learning_rate"], 1e-3)
        self.assertEqual(arguments["report_to"], ["tensorboard"])
        self.assertEqual(arguments["adam_epsilon"], 1e-8)

    def test_flags_from_a_file(self):
        out, file = workshop.fresh("out"), workshop.fresh("args.yaml")
        lines = [f"output_dir: {out}", f"model_name_or_path: {workshop.tiny_model()}", "do_train: true",
                 f"train_file: {workshop.picture_set() / 'train.jsonl'}", "max_steps: 9  # overruled below",
                 "learning_rate: 1e-4", "max_seq_length: 16", "report_to: [none]", "eval_strategy: no"]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.succeeds("train", file, "--max-steps", 2, "--save_strategy=no")
        self.assertEqual(read(out / "trainer_state.json")["global_step"], 2)
        self.assertEqual(list(out.glob("checkpoint-*")), [])

    def test_the_command_of_the_reference_with_one_word_changed(self):
        root, out = workshop.fresh("newyorker"), workshop.fresh("out")
        (root / "matching").mkdir(parents=True)
        for split in ("train", "validation", "test"):
            lines = (workshop.picture_set() / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
            rows = [json.loads(line) for line in lines]
            (root / "matching" / f"{split}.jsonl").write_text("".join(
                json.dumps({"image": str(workshop.picture_set() / row["image_path"]), "image_description": row["caption"]})
                + "\n" for row in rows), encoding="utf-8")
        done = self.succeeds(
            "train", "--output_dir", out, "--model_name_or_path", workshop.tiny_model(), "--dataset_name", root,
            "--dataset_config_name", "matching", "--dataset_revision", "3c6c4f6c0ff7e902833d3afa5f8f3875c2b036e6",
            "--image_column", "image", "--caption_column", "image_description", "--remove_unused_columns=False",
            "--image_root", "/", "--do_train", "--do_eval", "--do_predict", "--per_device_train_batch_size", "40",
            "--per_device_eval_batch_size", "16", "--num_train_epochs", "5", "--learning_rate", "1e-5", "--report_to",
            "tensorboard", "--hub_model_id", "my-model", "--overwrite_output_dir", "--use_habana", "--use_lazy_mode",
            "--use_hpu_graphs_for_inference", "--gaudi_config_name", "Habana/clip", "--throughput_warmup_steps", "3",
            "--logging_steps", "10", "--dataloader_num_workers", "2", "--mediapipe_dataloader", "--distribution_strategy",
            "fast_ddp")
        self.assertEqual(read(out / "trainer_state.json")["global_step"], 5)
        for flag in ("use_habana", "use_lazy_mode", "use_hpu_graphs_for_inference", "gaudi_config_name",
                     "distribution_strategy", "hub_model_id", "dataset_revision",
                     "remove_unused_columns"):
            self.assertEqual(done.stderr.count(f"--{flag} has no effect here: "), 1, flag)
        self.assertEqual(done.stderr.count("--mediapipe_dataloader: there is no media device; a stand-in on the CPU"), 1)
        self.assertTrue((out / "test_results.json").is_file())


@needs_program
class InputPipeline(ProgramTest):
    def losses(self, *more):
        """The losses of four steps over two epochs, and what was logged."""
        out = workshop.fresh("out")
        done = self.succeeds(*workshop.train_flags(
            out, "--do_train", "--max_train_samples", 8, "--num_train_epochs", 2, "--logging_steps", 1, "--save_strategy",
            "no", *more))
        return [entry["loss"] for entry in read(out / "trainer_state.json")["log_history"] if "loss" in entry], done, out

    def test_caches_threads_and_devices_change_no_number(self):
        plain, done, _ = self.losses("--decoded_cache", "off")
        self.assertIn("decoded cache of the train split: off", done.stderr)
        self.assertEqual(len(plain), 4)
        cached, done, _ = self.losses()
        self.assertRegex(done.stderr, r"decoded cache of the train split: in memory, 8 pictures as f32, 393\.2 KB of ")
        self.assertIn("'loader_cache_hits': ", done.stdout)
        self.assertEqual(plain, cached)
        folder = workshop.fresh("cache")
        for _ in range(2):
            disk, done, out = self.losses("--decoded_cache", "disk", "--decoded_cache_dir", folder, "--do_eval")
            self.assertEqual(plain, disk)
            self.assertFalse((out / "decoded_cache").exists())
        self.assertNotEqual(list(folder.iterdir()), [])
        self.assertEqual(plain, self.losses("--dataloader_num_workers", "auto")[0])
        device, done, _ = self.losses("--mediapipe_dataloader", "--dataloader_num_workers", 2)
        self.assertEqual(plain, device)
        self.assertRegex(done.stderr, r"the media device's stand-in decoded \d+ pictures")

    def test_a_cache_that_rounds_is_said_loudly(self):
        _, done, _ = self.losses("--pixel_semantics", "tv-float-aa", "--decoded_cache", "ram", "--decoded_cache_dtype", "u8")
        self.assertEqual(done.stderr.count("--decoded_cache_dtype u8 rounds pixels of --pixel_semantics tv-float-aa"), 1)

    def test_augmentation_changes_the_run_and_is_repeatable(self):
        flags = ("--random_resized_crop_scale", "0.3", "0.6", "--random_horizontal_flip", "0.5", "--color_jitter", "0.3",
                 "0.3", "0.3", "0.05")
        first, done, out = self.losses(*flags)
        self.assertIn("decoded cache of the train split: off, augmentation makes another picture", done.stderr)
        self.assertIn("augmentation: random_resized_crop_scale 0.3 0.6", done.stderr)
        self.assertEqual(first, self.losses(*flags, "--dataloader_num_workers", 2)[0])
        self.assertNotEqual(first, self.losses()[0])
        self.assertEqual(read(out / "training_args.json")["color_jitter"], [0.3, 0.3, 0.3, 0.05])

    def test_the_slow_stage_is_named_at_the_end(self):
        _, done, _ = self.losses()
        self.assertRegex(done.stderr, r"loading was (not )?the limit: \d+ % of the training time was spent waiting for data")
        for key in ("loader_images_per_second", "loader_decode_seconds", "loader_read_seconds", "data_wait_share"):
            self.assertIn(f"'{key}': ", done.stdout)

    def test_a_terminal_is_spared_the_loaders_values(self):
        terminal, other = pty.openpty()
        flags = workshop.train_flags(workshop.fresh("out"), "--do_train", "--max_steps", 2, "--logging_steps", 1)
        training = subprocess.Popen([workshop.BINARY, *map(str, flags)], stdout=other, stderr=other)
        os.close(other)
        shown = ""
        while True:
            try:
                shown += os.read(terminal, 1 << 16).decode()
            except OSError:  # the other side has closed
                break
        os.close(terminal)
        self.assertEqual(training.wait(timeout=120), 0, shown)
        self.assertIn("'data_wait_share': ", shown)
        self.assertNotIn("'loader_", shown)

    def test_a_file_that_is_cut_off_in_use_is_named(self):
        folder = workshop.fresh("shrinking")
        shutil.copytree(workshop.picture_set(), folder)
        table = folder / "train.jsonl"
        training = workshop.start(*workshop.train_flags(
            workshop.fresh("out"), "--do_train", "--train_file", table, "--max_steps", 100000, "--save_strategy", "no",
            "--logging_steps", 1, "--decoded_cache", "off", "--dataloader_num_workers", 2))
        self.assertIn("'loss'", training.stdout.readline())
        os.truncate(table, 0)
        _, errors = training.communicate(timeout=120)
        self.assertEqual(training.returncode, 1, errors)
        self.assertIn(f"cantilever: error: {table}: the file became shorter while it was in use", errors)

    def test_a_run_that_goes_on_otherwise_is_warned(self):
        out = workshop.fresh("out")
        flags = workshop.train_flags(out, "--do_train", "--max_steps", 4, "--save_steps", 2)
        self.succeeds(*flags, "--random_horizontal_flip", "0.5")
        done = self.succeeds(*flags, "--resume_from_checkpoint", out / "checkpoint-2", "--caption_choice", "random")
        self.assertIn("augmentation: random_horizontal_flip 0.5 then, none now", done.stderr)
        self.assertIn("caption_choice: auto then, random now", done.stderr)

    def test_wrong_usage(self):
        flags = workshop.train_flags(workshop.fresh("out"), "--do_train")
        for more, words in (
                (["--dataloader_num_workers", "many"], "'many' is not a whole number or auto"),
                (["--decoded_cache_limit", "lots"], "'lots' is not a number of bytes, such as 1000000, 500MB or 8GiB"),
                (["--decoded_cache", "always"], "'always' is not one of auto, ram, disk, off"),
                (["--random_horizontal_flip", "0.5", "--decoded_cache", "ram"], "augmentation makes another one"),
                (["--color_jitter", "1"], "is not 4 numbers"),
                (["--pixel_semantics", "pil"], "is not one of reference, tv-float-aa"),
        ):
            self.assertIn(words, self.fails(2, *flags, *more))


@needs_program
class StopAndResume(ProgramTest):
    def stop(self, number):
        out = workshop.fresh("out")
        training = workshop.start(*workshop.train_flags(
            out, "--do_train", "--max_steps", 100000, "--save_steps", 2, "--save_total_limit", 2, "--logging_steps", 1))
        deadline = time.monotonic() + 120
        while not list(out.glob("checkpoint-*/complete.json")):
            self.assertIsNone(training.poll(), "the training ended by itself")
            self.assertLess(time.monotonic(), deadline, "no checkpoint in two minutes")
            time.sleep(0.05)
        training.send_signal(number)
        _, errors = training.communicate(timeout=120)
        return out, training.returncode, errors

    def test_sigterm_saves_and_a_second_run_goes_on(self):
        out, status, errors = self.stop(signal.SIGTERM)
        self.assertEqual(status, 143, errors)
        last = max(int(folder.name.split("-")[1]) for folder in out.glob("checkpoint-*"))
        self.assertTrue((out / f"checkpoint-{last}" / "complete.json").is_file())
        self.assertEqual(read(out / f"checkpoint-{last}" / "trainer_state.json")["global_step"], last)
        self.succeeds(*workshop.train_flags(
            out, "--do_train", "--max_steps", last + 3, "--logging_steps", 1, "--resume_from_checkpoint"))
        state = read(out / "trainer_state.json")
        self.assertEqual(state["global_step"], last + 3)
        steps = [entry["step"] for entry in state["log_history"] if "loss" in entry]
        self.assertEqual(steps, list(range(1, last + 4)))

    def test_sigint_gives_130(self):
        _, status, errors = self.stop(signal.SIGINT)
        self.assertEqual(status, 130, errors)


if __name__ == "__main__":
    unittest.main()
