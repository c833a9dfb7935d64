#!/usr/bin/env python3
"""Compares what is read of GIF, WebP, TIFF, BMP, ICO and PPM with Pillow.

    format_parity.py [--build BUILD | --program FORMAT_DUMP] [--damaged 150] [--only tiff] [--seed 1]

Our side is the program `format_dump` of the build (tests/data/image/format_dump.cpp). Files are made here, by Pillow in
its modes and settings and by hand (bitmap headers, run lengths, TIFF directories). Every sound file must come out with
Pillow's size, mode and bytes, or be refused by both. Of every file DAMAGED damaged copies are made (cut short, bytes
changed); those must agree too, save where LIMITS says that the libraries differ. Prints the counts; exit status 1
when something disagrees.

Needs pillow 13.
"""

import argparse
import collections
import io
import logging
import os
import random
import subprocess
import sys
import warnings

from _format_files import bmp_files, gif_files, ico_files, ppm_files, webp_files
from _format_tiffs import tiff_files
from PIL import Image, ImageOps

MAX_PIXELS = 4_000_000
# Share of damaged copies that may come out differently, by format. Debian has libwebp 1.2.4 and libtiff 4.5.0, Pillow 13
# brings 1.6.0 and 4.7.2; the other formats are read by our own code.
LIMITS = {"webp": 0.002, "tiff": 0.005}
# Refused here by design, though Pillow reads them: CIE L*a*b* needs colour management, and libtiff 4.5 wants a width in
# one of the types that the specification names.
REFUSED_HERE = ("samples of kind LAB", 'Incompatible type for "ImageWidth"')


class Dump:
    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            [program, str(MAX_PIXELS), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, data):
        """(size, mode, pixels) or the error text."""
        self.process.stdin.write(b"%d\n" % len(data) + data)
        self.process.stdin.flush()
        line = self.process.stdout.readline().decode(errors="replace").rstrip("\n")
        if not line:
            sys.exit("format_dump ended")
        if line.startswith("error "):
            return line[6:]
        _, width, height, _, mode, _ = line.split(" ")
        size = int(width), int(height)
        return size, mode, self.process.stdout.read(size[0] * size[1] * 3)


def reference(data, upright):
    try:
        with Image.open(io.BytesIO(data)) as picture:
            mode = picture.mode
            picture.load()
            if upright:
                try:
                    picture = ImageOps.exif_transpose(picture)
                except SyntaxError:
                    pass  # a broken EXIF block; ours ignores it
            rgb = picture.convert("RGB")
            return rgb.size, mode, rgb.tobytes()
    except Exception as error:  # noqa: BLE001  any failure counts as a refusal
        return f"{type(error).__name__}: {error}"


FILES = {"gif": gif_files, "bmp": bmp_files, "ico": ico_files, "ppm": ppm_files, "webp": webp_files, "tiff": tiff_files}


def damaged(generator, data, count):
    for i in range(count):
        if i % 3 == 0:
            yield data[: generator.randrange(len(data))]
            continue
        copy = bytearray(data)
        for _ in range(generator.choice((1, 1, 2, 5))):
            # Half of them in the header.
            at = generator.randrange(min(len(copy), 64) if generator.random() < 0.5 else len(copy))
            copy[at] = generator.randrange(256) if generator.random() < 0.6 else copy[at] ^ 1 << generator.randrange(8)
        yield bytes(copy)


class Comparison:
    def __init__(self, program, keep):
        self.plain = Dump(program)
        self.upright = Dump(program, "upright")
        self.counts = collections.Counter()
        self.keep = keep

    def compare(self, name, data, upright):
        """Nothing, or what is different."""
        ours = (self.upright if upright else self.plain).ask(data)
        theirs = reference(data, upright)
        refused = isinstance(ours, str), isinstance(theirs, str)
        if all(refused):
            self.counts["refused"] += 1
            return None
        if refused[0] and any(reason in ours for reason in REFUSED_HERE):
            self.counts["refused here"] += 1
            return None
        if not any(refused) and ours == theirs:
            self.counts["equal"] += 1
            return None
        if refused[0]:
            what = f"refused here ({ours}), read by Pillow {theirs[:2]}"
        elif refused[1]:
            what = f"read here {ours[:2]}, refused by Pillow ({theirs[:200]})"
        elif ours[:2] != theirs[:2]:
            what = f"{ours[:2]} here, {theirs[:2]} by Pillow"
        else:
            unequal = [abs(a - b) for a, b in zip(ours[2], theirs[2]) if a != b]
            what = f"{len(unequal)} of {len(ours[2])} bytes differ, by up to {max(unequal)}"
        self.counts["different"] += 1
        if self.keep:
            path = os.path.join(self.keep, f"{self.counts['different']}.bin")
            with open(path, "wb") as out:
                out.write(data)
            name = f"{name} [{path}]"
        return f"{name}: {what}"


def run_format(kind, program, options):
    comparison = Comparison(program, options.keep)
    generator = random.Random(options.seed)
    files = list(FILES[kind]())
    differences = [
        found
        for name, data in files
        for upright in ((False, True) if kind in ("webp", "tiff") else (False,))
        if (found := comparison.compare(name, data, upright))
    ]
    for line in differences:
        print(f"  DIFFERS {kind} {line}")
    sound = comparison.counts.copy()
    comparison.counts.clear()
    broken = [
        found
        for name, data in files
        if not isinstance(reference(data, False), str)
        for copy in damaged(generator, data, options.damaged)
        if (found := comparison.compare(f"damaged {name}", copy, False))
    ]
    for line in broken[: options.show]:
        print(f"  differs {kind} {line}")
    total = sum(comparison.counts.values())
    share = len(broken) / max(1, total)
    failed = bool(differences) or share > LIMITS.get(kind, 0)
    print(
        f"{kind}: {len(files)} files, {sound['equal']} times equal, {sound['refused']} times refused by both, "
        f"{sound['refused here']} refused here, {len(differences)} different; {total} damaged, {comparison.counts['equal']} equal, "
        f"{comparison.counts['refused']} refused by both, {len(broken)} different ({share:.3%}, at most "
        f"{LIMITS.get(kind, 0):.1%} allowed){': FAIL' if failed else ''}",
        flush=True,
    )
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="build folder, for tests/format_dump in it")
    parser.add_argument("--program", help="the program itself")
    parser.add_argument("--damaged", type=int, default=12, help="damaged copies of every file")
    parser.add_argument("--only", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10, help="differing damaged copies to print, a format")
    parser.add_argument("--keep", help="folder for files that differ")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2
    # libtiff of Pillow's complains on standard error.
    sys.stderr = os.fdopen(os.dup(2), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    program = options.program or os.path.join(options.build, "tests", "format_dump")
    failed = sum(run_format(kind, program, options) for kind in options.only)
    print(f"{len(options.only) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
