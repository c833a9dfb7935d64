"""`cantilever inspect`: one JSON line an item, bad ones do not stop it."""

import json
import subprocess
import unittest

import workshop
from workshop import ProgramTest, needs_program

KEYS = ["row", "file", "status", "reason", "width", "height", "mode", "decoded", "seen", "pixels", "caption", "input_ids",
        "pieces", "truncated"]
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


@needs_program
class Inspect(ProgramTest):
    def test_rows_of_a_set(self):
        out = workshop.fresh("seen")
        done = self.succeeds("inspect", "--model_name_or_path", workshop.tiny_model(), "--dataset_name",
                             workshop.picture_set(), "--split", "validation", "--rows", "0:2,5", "--output_dir", out)
        items = lines(done)
        self.assertEqual([item["row"] for item in items], [0, 1, 5])
        for item in items:
            self.assertEqual(list(item), KEYS)
            self.assertEqual((item["status"], item["reason"]), ("ok", None))
            self.assertEqual(item["mode"], "RGB")
            self.assertEqual((item["input_ids"][0], item["input_ids"][-1]), (0, 2))
            self.assertEqual((item["pieces"][0], item["pieces"][-1]), ("<s>", "</s>"))
            self.assertEqual(len(item["pieces"]), len(item["input_ids"]))
            self.assertFalse(item["truncated"])
            self.compare_pictures(out, item)

    def compare_pictures(self, out, item):
        width, height, decoded = workshop.read_png(out / item["decoded"])
        self.assertEqual((width, height), (item["width"], item["height"]))
        self.assertEqual((width, height, decoded), workshop.read_png(workshop.picture_set() / item["file"]))
        side, also, seen = workshop.read_png(out / item["seen"])
        self.assertEqual((side, also), (64, 64))
        shape, pixels = workshop.read_safetensors(out / item["pixels"])["pixel_values"]
        self.assertEqual(shape, [3, 64, 64])
        for channel in range(3):
            for at in range(0, 64 * 64, 37):
                level = (pixels[channel * 4096 + at] * STD[channel] + MEAN[channel]) * 255
                self.assertAlmostEqual(seen[at // 64][3 * (at % 64) + channel], min(255, max(0, level)), delta=0.51)

    def test_files_of_which_one_is_bad(self):
        out, broken = workshop.fresh("seen"), workshop.fresh("broken.png")
        good = workshop.picture_set() / "pictures/red-square-40.png"
        broken.write_bytes(good.read_bytes()[:60])
        done = workshop.run("inspect", "--image", good, broken, workshop.scratch() / "missing.png", good, "--output_dir", out)
        self.assertEqual(done.returncode, 1, done.stderr)
        items = lines(done)
        self.assertEqual([item["status"] for item in items], ["ok", "bad", "bad", "ok"])
        self.assertIn("missing.png", items[2]["reason"])
        self.assertEqual(workshop.read_png(out / "3.decoded.png"), workshop.read_png(good))
        self.assertIsNone(items[0]["seen"])
        self.assertIsNone(items[0]["input_ids"])

    def test_captions_from_standard_input(self):
        out = workshop.fresh("seen")
        texts = ["a red square", "", "quote \" and line\nbreak", "emoji \U0001f600", "long " * 200]
        lines_in = "".join(json.dumps(text) + "\n" for text in texts)
        done = self.succeeds("inspect", "--model_name_or_path", workshop.tiny_model(), "--text", "-", "--output_dir", out,
                             "--max_seq_length", 40, input=lines_in)
        items = lines(done)
        self.assertEqual([item["caption"] for item in items], texts)
        self.assertEqual([item["truncated"] for item in items], [False, False, False, False, True])
        self.assertEqual(items[1]["input_ids"], [0, 2])
        self.assertEqual(len(items[4]["input_ids"]), 40)

    def test_a_line_that_is_no_json_string_is_bad_and_the_others_are_read(self):
        done = workshop.run("inspect", "--model_name_or_path", workshop.tiny_model(), "--text", "-", "--output_dir",
                            workshop.fresh("seen"), input='"one"\n{"two": 2}\nthree\n"four"\n')
        self.assertEqual(done.returncode, 1)
        items = lines(done)
        self.assertEqual([item["status"] for item in items], ["ok", "bad", "bad", "ok"])
        self.assertIn("line 2", items[1]["reason"])

    def test_a_reader_that_goes_away(self):
        process = subprocess.Popen(
            [workshop.BINARY, "inspect", "--dataset_name", str(workshop.picture_set()), "--rows", ":", "--output_dir",
             str(workshop.fresh("seen"))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=120), 0, errors)
        self.assertNotIn("error", errors)

    def test_a_full_disk_behind_standard_output(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([workshop.BINARY, "info"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write to standard output: No space left on device", done.stderr)

    def test_wrong_usage(self):
        out = workshop.fresh("seen")
        self.assertIn("one of the two", self.fails(2, "inspect", "--output_dir", out))
        self.assertIn("--rows", self.fails(2, "inspect", "--dataset_name", workshop.picture_set(), "--rows", "a",
                                           "--output_dir", out))
        self.assertIn("there is no row '24'", self.fails(2, "inspect", "--dataset_name", workshop.picture_set(), "--rows",
                                                         "24", "--output_dir", out))
        self.assertIn("holds no row: the 'train' split has rows 0 to ",
                      self.fails(1, "inspect", "--dataset_name", workshop.picture_set(), "--rows", "999:1000",
                                 "--output_dir", out))


if __name__ == "__main__":
    unittest.main()
