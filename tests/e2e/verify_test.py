"""`cantilever verify`: every row looked at, bad ones named and counted."""

import json
import signal
import time
import unittest

import workshop
from workshop import ProgramTest, needs_program

KEYS = ["split", "row", "file", "status", "reason", "width", "height", "mode", "caption", "input_ids", "pieces", "truncated"]


def small_set(rows, name="set"):
    """A folder with train.jsonl; rows: (picture bytes or None for a missing file, caption)."""
    folder = workshop.fresh(name)
    folder.mkdir()
    lines = []
    for number, (picture, caption) in enumerate(rows):
        if picture is not None:
            (folder / f"{number}.png").write_bytes(picture)
        lines.append(json.dumps({"image_path": f"{number}.png", "caption": caption}))
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@needs_program
class Verify(ProgramTest):
    def test_a_good_set(self):
        report = workshop.fresh("report.jsonl")
        told = json.loads(self.succeeds("verify", "--dataset_name", workshop.picture_set(), "--json", "--report",
                                        report).stdout)
        self.assertEqual({split: told[split]["rows"] for split in ("test", "train", "validation")},
                         {"test": 8, "train": 24, "validation": 8})
        self.assertEqual(told["verdict"], "no bad row among 40")
        self.assertEqual(told["train"]["formats"], {"PNG": 24})
        self.assertEqual(told["train"]["width"], "40 to 70, median 40")
        self.assertEqual(told["train"]["repeated_pictures"], 0)
        items = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(items), 40)
        self.assertEqual([item["row"] for item in items if item["split"] == "train"], list(range(24)))
        for item in items:
            self.assertEqual(list(item), KEYS)
            self.assertEqual((item["status"], item["reason"], item["mode"]), ("ok", None, "RGB"))
            self.assertEqual(item["height"], item["width"] + 4)
            self.assertIsNone(item["input_ids"])

    def test_bad_rows_are_named_and_the_status_is_one(self):
        good = workshop.drawing("red", "bar", 40)
        folder = small_set([(good, "one"), (good[:60], "cut"), (None, "missing"), (good, ""), (b"<html>", "web"),
                            (b"", "nothing"), (good, "six"), (good, None)])
        report = workshop.fresh("report.jsonl")
        done = workshop.run("verify", "--dataset_name", folder, "--split", "train", "--report", report,
                            "--dataloader_num_workers", 2)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^verdict: \d of 4 rows are bad$")
        self.assertIn("  bad_rows:\n    row ", done.stdout)
        # Eight rows without other splits are cut 60/20/20: what is said about a row has its line.
        whole = workshop.run("verify", "--train_file", folder / "train.jsonl", "--validation_file",
                             workshop.picture_set() / "validation.jsonl", "--json", "--report", report)
        self.assertEqual(whole.returncode, 1, whole.stderr)
        told = json.loads(whole.stdout)
        self.assertEqual((told["train"]["rows"], told["train"]["bad"], told["validation"]["bad"]), (8, 6, 0))
        self.assertEqual(told["verdict"], "6 of 16 rows are bad")
        self.assertEqual(len(told["train"]["bad_rows"]), 6)
        self.assertIn("train.jsonl, line 2, picture", told["train"]["bad_rows"][0])
        self.assertEqual(told["train"]["repeated_pictures"], 2)
        items = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()][:8]
        self.assertEqual([item["status"] for item in items], ["ok", "bad", "bad", "bad", "bad", "bad", "ok", "bad"])
        self.assertIn("the caption is empty", items[3]["reason"])
        self.assertEqual((items[3]["width"], items[3]["height"]), (40, 44))
        self.assertIsNone(items[2]["width"])

    def test_the_same_for_any_number_of_threads(self):
        reports = []
        for threads in (0, 1, 3, "auto"):
            report = workshop.fresh("report.jsonl")
            self.succeeds("verify", "--dataset_name", workshop.picture_set(), "--report", report,
                          "--dataloader_num_workers", threads, "--model_name_or_path", workshop.tiny_model(),
                          "--max_seq_length", 8)
            reports.append(report.read_bytes())
        self.assertEqual(len(set(reports)), 1)
        first = json.loads(reports[0].splitlines()[0])
        self.assertEqual(len(first["input_ids"]), 8)
        self.assertTrue(first["truncated"])
        self.assertEqual(first["pieces"][0], "<s>")

    def test_rows_limits_and_wrong_usage(self):
        told = json.loads(self.succeeds("verify", "--dataset_name", workshop.picture_set(), "--split", "train", "--rows",
                                        "0:3,7", "--json").stdout)
        self.assertEqual(told["train"]["rows"], 4)
        refused = workshop.run("verify", "--dataset_name", workshop.picture_set(), "--max_image_pixels", 2000, "--json")
        self.assertEqual(refused.returncode, 1)
        self.assertGreater(json.loads(refused.stdout)["train"]["bad"], 0)
        self.assertIn("only test, train, validation", self.fails(1, "verify", "--dataset_name", workshop.picture_set(),
                                                                 "--split", "dev"))
        self.assertIn("no data were given", self.fails(1, "verify"))
        self.assertIn("no-such-folder", self.fails(1, "verify", "--dataset_name", workshop.picture_set(), "--report",
                                                   "/no-such-folder/x/report.jsonl"))

    def test_a_signal_stops_with_what_was_seen(self):
        picture = workshop.drawing("red", "bar", 400)
        folder = small_set([(picture, "one")], "slow")
        line = (folder / "train.jsonl").read_text(encoding="utf-8")
        (folder / "train.jsonl").write_text(line * 20000, encoding="utf-8")
        report = workshop.fresh("report.jsonl")
        process = workshop.start("verify", "--train_file", folder / "train.jsonl", "--validation_file",
                                 workshop.picture_set() / "validation.jsonl", "--json", "--report", report,
                                 "--dataloader_num_workers", 1)
        time.sleep(1.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(process.returncode, 130, errors)
        told = json.loads(output)
        self.assertIn("by signal 2", told["stopped"])
        self.assertEqual(len(report.read_text(encoding="utf-8").splitlines()), told["train"]["rows"])
        self.assertLess(told["train"]["rows"], 20000)


if __name__ == "__main__":
    unittest.main()
