#!/usr/bin/env python3
"""Writes tests/golden/image/{transform,decode,colour}.bin: what torchvision and others make of tiny pictures.

    python make_transform_golden.py        (pillow 13.0, torch 2.11, torchvision 0.26, transformers 5.24; CPU with
                                            AVX2 and FMA)

transform.bin: int32 count, then for each case int32 width, height, side, semantics (0 tv-float-aa, 1 tv-u8,
2 tv-float-noaa, 3 pil-u8, 4 hf-processor) and float32 [3, side, side]. The pictures are not stored: support.h makes the
same ones (`synthetic_picture`).

colour.bin: int32 count, then for each case int32 operation (0 brightness, 1 contrast, 2 saturation, 3 hue,
4 grayscale), float64 factor, uint8 [3, 11, 13] and float32 [3, 11, 13]: the operation on synthetic_picture(13, 11) as
uint8 and as float (`to_tensor`, stretched to -0.1..1.1 as resizing overshoots).

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
from torchvision.transforms import functional as F
from torchvision.transforms.functional import to_tensor
from transformers import BridgeTowerImageProcessor

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


# Sides that are multiples of 32 and one that is not; padded, cropped, capped at 1333/800 of the side.
PROCESSOR_CASES = [(20, 13, 32), (45, 50, 32), (31, 31, 64), (50, 33, 64), (33, 50, 64), (70, 40, 40), (1, 1, 32)]


def transform_case(width, height, side, semantics):
    picture = synthetic_picture(width, height)
    finish = Compose([ConvertImageDtype(torch.float32), Normalize(MEAN, STD)])
    geometry = Compose([
        Resize([side], interpolation=InterpolationMode.BICUBIC, antialias=semantics != 2),
        CenterCrop(side),
    ])  # fmt: skip
    if semantics == 1:
        return finish(geometry(torch.from_numpy(picture).permute(2, 0, 1))).numpy()
    if semantics == 3:
        return finish(to_tensor(geometry(Image.fromarray(picture)))).numpy()
    if semantics == 4:
        processor = BridgeTowerImageProcessor(size={"shortest_edge": side}, crop_size={"shortest_edge": side})
        return processor(Image.fromarray(picture), return_tensors="np")["pixel_values"][0]
    return finish(geometry(to_tensor(picture))).numpy()


COLOUR_CASES = [
    (0, 0.0), (0, 0.6), (0, 1.7), (1, 0.0), (1, 0.3), (1, 1.45), (2, 0.0), (2, 0.55), (2, 1.8), (3, -0.5), (3, -0.17),
    (3, 0.0), (3, 0.08), (3, 0.5), (4, 0.0),
]  # fmt: skip
COLOUR_OPERATIONS = [
    F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue,
    lambda pixels, _: F.rgb_to_grayscale(pixels, num_output_channels=3),
]  # fmt: skip


def write_colour():
    levels = torch.from_numpy(synthetic_picture(13, 11)).permute(2, 0, 1).contiguous()
    fractions = levels.to(torch.float32) / 255 * 1.2 - 0.1
    with open(GOLDEN / "colour.bin", "wb") as file:
        file.write(struct.pack("<i", len(COLOUR_CASES)))
        for operation, factor in COLOUR_CASES:
            file.write(struct.pack("<id", operation, factor))
            file.write(COLOUR_OPERATIONS[operation](levels, factor).contiguous().numpy().tobytes())
            file.write(COLOUR_OPERATIONS[operation](fractions, factor).contiguous().numpy().astype("<f4").tobytes())


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
    cases = [(*case, semantics) for case in CASES for semantics in range(4)]
    cases += [(*case, 4) for case in PROCESSOR_CASES]
    with open(GOLDEN / "transform.bin", "wb") as file:
        file.write(struct.pack("<i", len(cases)))
        for case in cases:
            file.write(struct.pack("<4i", *case))
            file.write(transform_case(*case).astype("<f4").tobytes())


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
    write_colour()
    write_decode()
