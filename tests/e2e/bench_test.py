"""`cantilever bench loader`: by hand, and as a contestant of an outside race."""

import json
import struct
import unittest

import workshop
from workshop import ProgramTest, needs_program


@needs_program
class Bench(ProgramTest):
    def bench(self, *more):
        rows = workshop.fresh("rows.jsonl")
        done = self.succeeds("bench", "loader", "--dataset_name", workshop.picture_set(), "--image_size", 32, "--batch", 4,
                             "--rounds", 2, "--json", rows, *more)
        return done.stdout, [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]

    def test_thread_counts_in_interleaved_rounds(self):
        said, rows = self.bench("--threads", "0,1,auto", "--images", 12)
        self.assertEqual([row["threads"] for row in rows], [0, 1, "auto"])
        self.assertEqual(len(said.splitlines()), 4)
        for row in rows:
            self.assertEqual((row["what"], row["images"], row["rounds"], row["batch"]), ("loader", 12, 2, 4))
            self.assertEqual(len(row["round_images_per_second"]), 2)
            self.assertLessEqual(row["images_per_second_worst"], row["images_per_second_median"])
            self.assertLessEqual(row["images_per_second_median"], row["images_per_second_best"])
            self.assertGreater(row["cpu_ms_per_image_median"], 0)
            self.assertGreater(row["stage_ms_per_image"]["decode"] + row["stage_ms_per_image"]["transform"], 0)
            self.assertIn("--threads 0,1,auto", row["command"])
            self.assertTrue(row["cpu"])
            self.assertEqual(row["captions"], "not read")
        self.assertEqual(rows[0]["x_first_row_median"], 1)

    def test_a_cache_serves_every_pass_but_the_first(self):
        _, rows = self.bench("--threads", "0,1", "--decoded_cache", "ram", "--pixel_semantics", "tv-u8",
                             "--model_name_or_path", workshop.tiny_model(), "--max_seq_length", 16)
        for row in rows:
            self.assertIn("ram, u8", row["decoded_cache"])
            self.assertGreaterEqual(row["cache_hits"], 48)
            self.assertEqual(row["stage_ms_per_image"]["decode"], 0)
            self.assertEqual(row["captions"], "tokenised")

    def race(self, **more):
        pictures = sorted((workshop.picture_set() / "pictures").iterdir())[:5]
        listing = workshop.fresh("list.txt")
        listing.write_text("".join(f"{path}\n" for path in pictures), encoding="utf-8")
        environment = {"RACE_LIST": str(listing), "RACE_SIZE": "32", "RACE_BATCH": "4", "RACE_IMAGES": "13",
                       "RACE_THREADS": "2", "RACE_PIXELS": "", **more}
        done = self.succeeds("bench", "loader", environment=environment)
        return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])

    def test_a_contestant_of_an_outside_race(self):
        answer = self.race()
        self.assertEqual((answer["images"], answer["work"]), (13, "same"))
        self.assertGreater(answer["seconds"], 0)
        self.assertGreater(answer["cpu_seconds"], 0)
        self.assertIn("tv-float-aa, 2 threads", answer["about"])

    def test_its_pixels(self):
        pixels = workshop.fresh("pixels")
        self.race(RACE_PIXELS=str(pixels))
        data = pixels.read_bytes()
        self.assertEqual(len(data), 5 * 3 * 32 * 32 * 4)
        values = struct.unpack(f"<{len(data) // 4}f", data)
        self.assertTrue(-3 < min(values) < max(values) < 3)

    def test_what_there_is_and_what_comes_later(self):
        self.assertIn("loader ", self.succeeds("bench").stdout)
        for name in ("step", "distributed", "published"):
            self.assertIn(f"`cantilever bench {name}` comes with a later version", self.fails(2, "bench", name))
        self.assertIn("did you mean 'loader'?", self.fails(2, "bench", "loadr"))
        self.assertIn("one benchmark at a time", self.fails(2, "bench", "loader", "step"))
        self.assertIn("is no list such as", self.fails(2, "bench", "loader", "--dataset_name", workshop.picture_set(),
                                                       "--threads", "1,x"))
        self.assertIn("needs --decoded_cache_dir", self.fails(2, "bench", "loader", "--dataset_name",
                                                              workshop.picture_set(), "--decoded_cache", "disk"))
        self.assertIn("RACE_THREADS=x", self.fails(2, "bench", "loader", environment={
            "RACE_LIST": "none.txt", "RACE_THREADS": "x"}))


if __name__ == "__main__":
    unittest.main()
