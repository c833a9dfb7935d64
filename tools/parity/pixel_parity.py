#!/usr/bin/env python3
"""Compares decoded bytes with Pillow, finished pixels with torchvision, Pillow and Transformers.

    pixel_parity.py [--build BUILD | --program PIXEL_DUMP] [FOLDER...] [--sides 64 288] [--count 60]

Our side is the program `pixel_dump` of the build (tests/data/image/pixel_dump.cpp). FOLDERs are searched for JPEG and
PNG files by magic bytes; without any, $CANTILEVER_CORPUS is. Every file is decoded by both sides (outcome and bytes
must be equal, plain and upright). A spread of sizes and aspect ratios, together with synthetic pictures of awkward
sizes, goes through prepare_picture under every pixel semantics:

  tv-float-aa, tv-u8    torchvision's Resize (antialias) and CenterCrop of the float and the uint8 tensor: bit-equal
  tv-float-noaa         the same without antialias: within 0.05 of a level
  pil-u8                Resize and CenterCrop of the PIL picture: bit-equal
  hf-processor          Transformers' BridgeTowerImageProcessor at the same side: bit-equal, refusals too

and as bfloat16 (the float rounded) and as uint8 (whole levels exactly, fractions rounded). Without folder and corpus the
synthetic pictures are all there is. Prints the largest differences; the exit status is 1 when one is over its limit.
Bit-equality needs a CPU with AVX2 and FMA on the library's side.

Needs pillow 13, torch 2.11, torchvision 0.26, transformers 5.24.
"""

import argparse
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from PIL import Image, ImageOps
from torchvision.transforms import CenterCrop, Compose, ConvertImageDtype, InterpolationMode, Normalize, Resize
from torchvision.transforms.functional import to_tensor
from transformers import BridgeTowerImageProcessor

MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)
LIMIT_LEVELS = {"tv-float-aa": 0.0, "tv-float-noaa": 0.05, "tv-u8": 0.0, "pil-u8": 0.0, "hf-processor": 0.0}
WHOLE_LEVELS = ("tv-u8", "pil-u8", "hf-processor")

# Width, height: below, at and above the sides, one pixel thin, extreme aspect ratios, odd remainders.
SYNTHETIC_SIZES = [
    (1, 1), (1, 7), (7, 1), (1, 400), (400, 1), (3, 2), (20, 31), (31, 20), (63, 64), (64, 64), (64, 65), (65, 64),
    (64, 200), (287, 289), (288, 288), (288, 300), (301, 288), (289, 288), (300, 301), (500, 375), (375, 500),
    (640, 480), (480, 640), (641, 479), (1000, 30), (30, 1000), (2500, 16), (16, 2500), (1280, 961), (577, 576),
]  # fmt: skip


class Dump:
    """One pixel_dump process; answers in the order of the questions."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            [program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, path):
        """(width, height, format, mode, orientation, rest reader) or the error text."""
        self.process.stdin.write(os.fsencode(path) + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().decode(errors="replace").rstrip("\n")
        if not line:
            sys.exit(f"pixel_dump ended at {path}")
        if line.startswith("error "):
            return line[6:]
        _, width, height, kind, mode, orientation = line.split(" ")
        return int(width), int(height), kind, mode, int(orientation)

    def payload(self, size):
        data = self.process.stdout.read(size)
        if len(data) != size:
            sys.exit("pixel_dump ended early")
        return data

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def find_pictures(folders):
    found = []
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                with open(path, "rb") as file:
                    head = file.read(8)
                if head.startswith(b"\xff\xd8\xff") or head == b"\x89PNG\r\n\x1a\n":
                    found.append(path)
    return found


def reference_bytes(path, upright):
    """(size, bytes) or the exception."""
    try:
        with Image.open(path) as picture:
            picture.load()
            if upright:
                try:
                    picture = ImageOps.exif_transpose(picture)
                except SyntaxError:
                    pass  # a broken EXIF block; ours ignores it
            rgb = picture.convert("RGB")
            return rgb.size, rgb.tobytes()
    except Exception as error:  # noqa: BLE001  any failure counts as a refusal
        return error


def compare_decoding(program, paths, upright):
    dump = Dump(program, "decode", *(["upright"] if upright else []))
    equal = refused = 0
    wrong = []
    for path in paths:
        ours = dump.ask(path)
        theirs = reference_bytes(path, upright)
        ours_failed = isinstance(ours, str)
        data = None if ours_failed else dump.payload(ours[0] * ours[1] * 3)
        if ours_failed and isinstance(theirs, Exception):
            refused += 1
        elif ours_failed:
            wrong.append(f"{path}: refused here ({ours}), read by Pillow")
        elif isinstance(theirs, Exception):
            wrong.append(f"{path}: read here, refused by Pillow ({type(theirs).__name__}: {theirs})")
        elif theirs[0] != ours[:2]:
            wrong.append(f"{path}: {ours[:2]} here, {theirs[0]} by Pillow")
        elif theirs[1] != data:
            a = np.frombuffer(theirs[1], np.uint8).astype(int)
            b = np.frombuffer(data, np.uint8).astype(int)
            wrong.append(f"{path}: {np.mean(a != b):.2%} of bytes differ, by up to {abs(a - b).max()}")
        else:
            equal += 1
    dump.close()
    for line in wrong:
        print("  DIFFERS", line)
    print(
        f"decode{' upright' if upright else ''}: {len(paths)} files, {equal} equal, {refused} refused by both, "
        f"{len(wrong)} different"
    )
    return len(wrong)


def choose_spread(paths, count):
    """Real pictures spread over area and aspect ratio."""
    sized = []
    for path in paths:
        try:
            with Image.open(path) as picture:
                if picture.width * picture.height < 12_000_000:
                    picture.convert("RGB")
                    sized.append((picture.width / picture.height, picture.width * picture.height, path))
        except Exception:  # noqa: BLE001
            continue
    chosen = []
    for order in (sorted(sized), sorted(sized, key=lambda item: item[1])):
        step = max(1, len(order) // max(1, count // 2))
        chosen += [item[2] for item in order[::step]]
        chosen.append(order[-1][2])
    return list(dict.fromkeys(chosen))


def write_synthetic(folder):
    generator = np.random.default_rng(7)
    paths = []
    for width, height in SYNTHETIC_SIZES:
        noise = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
        if width % 2:  # half of them black and white only: the largest overshoot
            noise = (noise > 127).astype(np.uint8) * 255
        path = pathlib.Path(folder) / f"noise-{width}x{height}.png"
        Image.fromarray(noise).save(path)
        paths.append(path)
    return paths


def reference_pixels(rgb, side, semantics):
    """float32 [3, side, side], or the exception of the library."""
    if semantics == "hf-processor":
        processor = BridgeTowerImageProcessor(size={"shortest_edge": side}, crop_size={"shortest_edge": side})
        try:
            return processor(rgb, return_tensors="np")["pixel_values"][0]
        except Exception as error:  # noqa: BLE001  any failure counts as a refusal
            return error
    transform = Compose([
        Resize([side], interpolation=InterpolationMode.BICUBIC, antialias=semantics != "tv-float-noaa"),
        CenterCrop(side),
    ])  # fmt: skip
    finish = Compose([ConvertImageDtype(torch.float32), Normalize(MEAN, STD)])
    if semantics == "pil-u8":
        return finish(to_tensor(transform(rgb))).numpy()
    if semantics == "tv-u8":
        return finish(transform(torch.from_numpy(np.array(rgb)).permute(2, 0, 1))).numpy()
    return finish(transform(to_tensor(rgb))).numpy()


def to_bfloat16(pixels):
    return torch.from_numpy(np.ascontiguousarray(pixels)).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)


class Comparison:
    """One semantics at one side: three pixel_dump processes and what came of them."""

    def __init__(self, program, side, semantics):
        self.side, self.semantics = side, semantics
        self.dumps = {kind: Dump(program, "transform", side, semantics, kind) for kind in ("f32", "bf16", "u8")}
        self.worst, self.worst_path = 0.0, None
        self.pictures = self.bit_equal = self.refused = 0
        self.wrong = []

    def pixels(self, path, kind):
        answer = self.dumps[kind].ask(path)
        if isinstance(answer, str):
            return answer
        dtype = {"f32": np.float32, "bf16": np.uint16, "u8": np.uint8}[kind]
        size = 3 * self.side * self.side * np.dtype(dtype).itemsize
        return np.frombuffer(self.dumps[kind].payload(size), dtype).reshape(3, self.side, self.side)

    def compare(self, path, rgb):
        reference = reference_pixels(rgb, self.side, self.semantics)
        ours = self.pixels(path, "f32")
        self.pictures += 1
        if isinstance(ours, str) or isinstance(reference, Exception):
            if isinstance(ours, str) and isinstance(reference, Exception):
                self.refused += 1
            else:
                self.wrong.append(f"{path.name}: {ours if isinstance(ours, str) else repr(reference)}, on one side only")
            return
        std = np.array(STD, np.float64).reshape(3, 1, 1)
        mean = np.array(MEAN, np.float64).reshape(3, 1, 1)
        # Not a number is the worst difference there is, and no comparison would say so.
        levels = np.nan_to_num(np.abs(ours.astype(np.float64) - reference) * std * 255, nan=np.inf)
        self.bit_equal += int(np.array_equal(ours, reference))
        if levels.max() > self.worst or self.worst_path is None:
            self.worst, self.worst_path = float(levels.max()), path
        if not np.array_equal(self.pixels(path, "bf16"), to_bfloat16(ours)):
            self.wrong.append(f"{path.name}: bfloat16 is not the float32 rounded")
        exact = (reference.astype(np.float64) * std + mean) * 255
        off = np.abs(self.pixels(path, "u8") - exact.clip(0, 255)).max()
        if off > (0.001 if self.semantics in WHOLE_LEVELS else 0.5 + LIMIT_LEVELS[self.semantics] + 0.001):
            self.wrong.append(f"{path.name}: uint8 is off by {off:.4f}")

    def report(self):
        for dump in self.dumps.values():
            dump.close()
        failed = bool(self.wrong) or self.worst > LIMIT_LEVELS[self.semantics]
        name = self.worst_path.name if self.worst_path else "none"
        print(
            f"{self.semantics} side {self.side}: {self.pictures} pictures, {self.bit_equal} bit-equal, "
            f"{self.refused} refused by both, largest difference {self.worst:.6f} levels ({name})"
        )
        for line in self.wrong:
            print("  DIFFERS", line)
        return failed


def compare_transforms(program, paths, side):
    comparisons = [Comparison(program, side, semantics) for semantics in LIMIT_LEVELS]
    for path in paths:
        with Image.open(path) as picture:
            rgb = picture.convert("RGB")
        for comparison in comparisons:
            comparison.compare(path, rgb)
    return sum(comparison.report() for comparison in comparisons)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="build folder, for tests/pixel_dump in it")
    parser.add_argument("--program", help="the program itself")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--sides", type=int, nargs="+", default=[64, 288])
    parser.add_argument("--count", type=int, default=60, help="real pictures to transform, about")
    parser.add_argument("--skip-decode", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    program = options.program or os.path.join(options.build, "tests", "pixel_dump")
    corpus = os.environ.get("CANTILEVER_CORPUS")
    paths = find_pictures(options.folders or ([corpus] if corpus else []))
    if not paths:
        print("no folder given and CANTILEVER_CORPUS is not set: synthetic pictures only")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        synthetic = write_synthetic(folder)
        if not options.skip_decode:
            failures += compare_decoding(program, paths + synthetic, upright=False)
            failures += compare_decoding(program, paths + synthetic, upright=True)
        chosen = (choose_spread(paths, options.count) if paths else []) + synthetic
        for side in options.sides:
            failures += compare_transforms(program, chosen, side)
    print("PASS" if failures == 0 else f"FAIL ({failures})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
