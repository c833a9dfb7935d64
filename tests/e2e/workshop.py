"""What the end-to-end tests share: the program, pictures made here, small data sets and a tiny model."""

import atexit
import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib
from functools import lru_cache
from pathlib import Path

BINARY = os.environ.get("CANTILEVER_BINARY", "")
COLOURS = {"red": (220, 30, 30), "green": (30, 160, 60), "blue": (40, 70, 220), "yellow": (240, 220, 40)}
SHAPES = ("square", "bar", "frame")


def needs_program(test):
    """Skips a test class, counted, when the program is not named."""
    return unittest.skipUnless(BINARY, "CANTILEVER_BINARY is not set")(test)


def run(*arguments, input=None, environment=None, timeout=240):
    """The finished process of `cantilever ARGUMENTS`, its output as text."""
    return subprocess.run(
        [BINARY, *map(str, arguments)], capture_output=True, text=True, input=input, timeout=timeout, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
    )


def start(*arguments):
    return subprocess.Popen(
        [BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def png(width, height, pixel):
    """An RGB PNG file; pixel(x, y) gives (red, green, blue)."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes(value for x in range(width) for value in pixel(x, y)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def read_png(path):
    """(width, height, rows of bytes) of an 8-bit RGB PNG without interlace."""
    data = Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", data[16:29])
    assert (depth, colour, interlace) == (8, 2, 0), path
    at, packed = 8, b""
    while at < len(data):
        size = struct.unpack(">I", data[at : at + 4])[0]
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += size + 12
    raw, stride, rows, above = zlib.decompress(packed), 3 * width, [], bytes(3 * width)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - 3] if i >= 3 else 0
            corner = above[i - 3] if i >= 3 else 0
            line[i] = (line[i] + predicted(kind, left, above[i], corner)) & 255
        rows.append(bytes(line))
        above = rows[-1]
    return width, height, rows


def predicted(kind, left, up, corner):
    if kind < 4:
        return (0, left, up, (left + up) // 2)[kind]
    guess = left + up - corner
    return min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]


def read_safetensors(path):
    """{name: (shape, floats)} of a file of float32 tensors."""
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", (path, name, entry)
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        out[name] = (entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
    return out


def drawing(colour, shape, size):
    ink, paper = COLOURS[colour], (245, 245, 245)

    def pixel(x, y):
        u, v = x / size, y / size
        inside = {
            "square": 0.3 < u < 0.7 and 0.3 < v < 0.7,
            "bar": 0.4 < v < 0.6,
            "frame": max(abs(u - 0.5), abs(v - 0.5)) > 0.35,
        }[shape]
        return ink if inside else paper

    return png(size, size + 4, pixel)


@lru_cache(maxsize=None)
def scratch():
    folder = Path(tempfile.mkdtemp(prefix="cantilever-e2e-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_used = 0


def fresh(name):
    """A path of its own below the scratch folder; nothing is there yet."""
    global _used
    _used += 1
    return scratch() / f"{_used:03}-{name}"


@lru_cache(maxsize=None)
def picture_set():
    """A folder with train.jsonl (24 rows), validation.jsonl and test.jsonl (8 each) and their pictures."""
    folder = scratch() / "set"
    (folder / "pictures").mkdir(parents=True)
    kinds = [(c, s, size) for size in (40, 70, 96, 120) for s in SHAPES for c in COLOURS]
    for split, part in (("train", kinds[:24]), ("validation", kinds[24:32]), ("test", kinds[32:40])):
        lines = []
        for colour, shape, size in part:
            name = f"pictures/{colour}-{shape}-{size}.png"
            (folder / name).write_bytes(drawing(colour, shape, size))
            lines.append(json.dumps({"image_path": name, "caption": f"a {colour} {shape} of size {size}"}))
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@lru_cache(maxsize=None)
def tiny_model():
    folder = scratch() / "tiny"
    done = run("init", "--output_dir", folder, "--size", "tiny", "--dropout", 0, "--captions_from",
               picture_set() / "train.jsonl", "--vocab_size", 280)
    assert done.returncode == 0, done.stderr
    return folder


def data_flags():
    return [flag for split in ("train", "validation", "test")
            for flag in (f"--{split}_file", picture_set() / f"{split}.jsonl")]


def train_flags(output, *more):
    return ["train", "--model_name_or_path", tiny_model(), *data_flags(), "--output_dir", output, "--max_seq_length", 16,
            "--per_device_train_batch_size", 4, "--per_device_eval_batch_size", 4, *more]


class ProgramTest(unittest.TestCase):
    """Checks that name what the program said when they fail."""

    maxDiff = None

    def succeeds(self, *arguments, **options):
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, 0, f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done

    def fails(self, status, *arguments, **options):
        """The one line of error; asserts the exit status and that nothing else looks like an error."""
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, status, f"{done.args}\n{done.stdout}\n{done.stderr}")
        errors = [line for line in done.stderr.splitlines() if line.startswith("cantilever: error: ")]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], errors[0])
        for word in ("terminate called", "what():", "c10::", "std::", "0x"):
            self.assertNotIn(word, done.stderr)
        return errors[0].removeprefix("cantilever: error: ")
