#!/usr/bin/env python3
"""Writes tests/golden/image/{transform,decode}.bin: what torchvision and Pillow make of tiny pictures.

    python make_transform_golden.py        (pillow 13.0, torch 2.11, torchvision 0.26; CPU with AVX2 and FMA)

transform.bin: int32 count, then for each case int32 width, height, side, semantics (0 tv-float-aa, 1 tv-u8) and
float32 [3, side, side]. The pictures are not stored: golden_file.h makes the same ones (`synthetic_picture`).

decode.bin: int32 count, then for each picture a name (int32 length, bytes), the encoded file (int32 length, bytes),
int32 upright (1: PIL.ImageOps.exif_transpose first), int32 width, int32 height and the RGB bytes.
"""

import io
import pathlib
import struct

import numpy as np
import torch
from PIL import Image, ImageOps
from torchvision.transforms import CenterCrop, Compose, ConvertImageDtype, InterpolationMode, Normalize, Resize
from torchvision.transforms.functional import to_tensor

MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "image"

# Reduced, enlarged, equal, equal in one direction, one pixel thin, long; odd and even crop remainders.
CASES = [
    (20, 13, 8), (13, 20, 8), (37, 24, 8), (5, 3, 8), (3, 5, 8), (8, 8, 8), (8, 11, 8), (13, 8, 8), (1, 1, 4),
    (1, 9, 4), (40, 3, 4), (2, 61, 4), (91, 70, 8),
]  # fmt: skip


def synthetic_picture(width, height):
    """Bytes of a 32-bit linear congruential generator, every fourth pixel black or white."""
    state = width * 1009 + height
    values = []
    for index in range(width * height):
        for _ in range(3):
            state = (state * 1664525 + 1013904223) % 2**32
            byte = state >> 24
            values.append((255 if byte > 127 else 0) if index % 4 == 3 else byte)
    return np.array(values, np.uint8).reshape(height, width, 3)


def transform_case(width, height, side, semantics):
    transform = Compose([
        Resize([side], interpolation=InterpolationMode.BICUBIC, antialias=True),
        CenterCrop(side),
        ConvertImageDtype(torch.float32),
        Normalize(MEAN, STD),
    ])  # fmt: skip
    picture = synthetic_picture(width, height)
    if semantics == 1:
        return transform(torch.from_numpy(picture).permute(2, 0, 1)).numpy()
    return transform(to_tensor(picture)).numpy()


def encode(picture, kind, **options):
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def smooth_picture(width, height):
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    red = 127 + 120 * np.sin(x / 3) * np.cos(y / 4)
    green = 255 * x / max(1, width - 1)
    blue = 255 * ((x // 4 + y // 4) % 2)
    return Image.fromarray(np.stack([red, green, blue], -1).clip(0, 255).astype(np.uint8))


def orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return exif


def decode_cases():
    rgb = smooth_picture(23, 17)
    yield "baseline-420.jpg", encode(rgb, "JPEG", quality=75, subsampling=2), False
    yield "baseline-422.jpg", encode(rgb, "JPEG", quality=90, subsampling=1), False
    yield "baseline-444.jpg", encode(rgb, "JPEG", quality=95, subsampling=0), False
    yield "progressive.jpg", encode(rgb, "JPEG", quality=80, progressive=True), False
    yield "grey.jpg", encode(rgb.convert("L"), "JPEG", quality=80), False
    yield "cmyk.jpg", encode(rgb.convert("CMYK"), "JPEG", quality=90), False
    yield "palette.png", encode(rgb.quantize(11), "PNG"), False
    yield "palette-transparent.png", encode(rgb.quantize(9), "PNG", transparency=b"\x00\x80\xff"), False
    yield "grey-alpha.png", encode(rgb.convert("LA"), "PNG"), False
    grey16 = Image.fromarray(np.arange(0, 600, 4, dtype=np.uint16).reshape(10, 15))
    yield "grey-16.png", encode(grey16, "PNG"), False
    yield "bilevel.png", encode(rgb.convert("1"), "PNG"), False
    alpha = rgb.copy()
    alpha.putalpha(smooth_picture(23, 17).convert("L"))
    yield "rgba.png", encode(alpha, "PNG"), False
    small = smooth_picture(5, 3)
    for value in range(1, 9):
        yield f"orientation-{value}.png", encode(small, "PNG", exif=orientation(value)), True
    yield "orientation-6.jpg", encode(smooth_picture(21, 9), "JPEG", quality=90, exif=orientation(6)), True


def write_transform():
    with open(GOLDEN / "transform.bin", "wb") as file:
        file.write(struct.pack("<i", len(CASES) * 2))
        for width, height, side in CASES:
            for semantics in (0, 1):
                file.write(struct.pack("<4i", width, height, side, semantics))
                file.write(transform_case(width, height, side, semantics).astype("<f4").tobytes())


def write_decode():
    cases = list(decode_cases())
    with open(GOLDEN / "decode.bin", "wb") as file:
        file.write(struct.pack("<i", len(cases)))
        for name, encoded, upright in cases:
            picture = Image.open(io.BytesIO(encoded))
            if upright:
                picture = ImageOps.exif_transpose(picture)
            rgb = picture.convert("RGB")
            for block in (name.encode(), encoded):
                file.write(struct.pack("<i", len(block)) + block)
            file.write(struct.pack("<3i", upright, *rgb.size) + rgb.tobytes())


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    write_transform()
    write_decode()
