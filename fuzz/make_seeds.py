#!/usr/bin/env python3
"""Starting inputs of the fuzz targets, one folder a run: small valid files of every kind but Parquet and
Arrow, which table_seeds.cpp writes.

    make_seeds.py FOLDER
"""

import argparse
import io
import json
import random
import struct
import tarfile
import zipfile
from pathlib import Path

from PIL import Image

CAPTION = "a small picture of \u00e9 and \"quotes\""


def picture(mode="RGB", size=(19, 13)):
    image = Image.new("RGB", size)
    source = random.Random(7)
    image.putdata([(source.randrange(256), 13 * (i % size[0]), 250) for i in range(size[0] * size[1])])
    return image.convert(mode)


def encoded(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def pictures():
    yield "jpeg", encoded(picture(), "JPEG", quality=90, subsampling=0)
    yield "jpeg", encoded(picture(size=(33, 35)), "JPEG", quality=60, subsampling=2)
    yield "jpeg", encoded(picture(size=(33, 9)), "JPEG", quality=60, subsampling=1, optimize=True)
    yield "jpeg", encoded(picture(), "JPEG", progressive=True)
    yield "jpeg", encoded(picture("L"), "JPEG", quality=100)
    yield "jpeg", encoded(picture("CMYK"), "JPEG")
    for mode in ("1", "L", "P", "RGB", "RGBA", "LA", "I"):
        yield "png", encoded(picture(mode), "PNG")
    yield "webp", encoded(picture(), "WEBP", quality=50)
    yield "webp", encoded(picture("RGBA"), "WEBP", lossless=True)
    yield "webp", encoded(picture("RGBA"), "WEBP", quality=30)
    yield "others", encoded(picture("P"), "GIF")
    yield "others", encoded(picture("L"), "GIF", interlace=0)
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        yield "others", encoded(picture(mode), "BMP") if mode != "RGBA" else encoded(picture(mode), "TIFF")
        yield "others", encoded(picture(mode), "TIFF")
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        yield "others", encoded(picture(), "TIFF", compression=compression)
    yield "others", encoded(picture("1"), "TIFF", compression="group4")


def tar_files():
    png = encoded(picture(), "PNG")
    for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as tar:
            for key in ("000", "folder/001.with.dots", "d" * 70 + "/" + "x" * 70):
                for ending, content in (("png", png), ("txt", CAPTION.encode()),
                                        ("json", json.dumps({"caption": CAPTION}).encode())):
                    member = tarfile.TarInfo(f"{key}.{ending}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
        yield out.getvalue()


def text_files():
    rows = [{"image": "1.png", "caption": CAPTION}, {"image": {"path": "2.png"}, "caption": ["a", "b"]},
            {"caption": None, "image": "../3.png"}]
    yield "jsonl", "\n".join(json.dumps(row) for row in rows).encode()
    yield "jsonl", json.dumps(rows).encode()
    yield "jsonl", json.dumps({"data": rows}).encode()
    yield "csv", b'image,caption\r\n1.png,"a ""b"", c"\r\n2.png,None\n'
    coco = {"info": {"year": 2017}, "licenses": [], "images": [
        {"id": 7, "file_name": "7.jpg", "height": 2, "width": 3}, {"id": 8, "file_name": "8.jpg"}],
        "annotations": [{"id": 1, "image_id": 7, "caption": "one"}, {"image_id": 7, "id": 2, "caption": "two"},
                        {"image_id": 9, "id": 3, "caption": "dangling"}]}
    yield "coco", json.dumps(coco).encode()


def tokenizer_file():
    letters = {chr(c): i + 5 for i, c in enumerate(range(33, 127))}
    vocab = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, **letters, "\u0120": 99, "\u0120a": 100,
             "at": 101}
    special = [{"id": i, "content": c, "single_word": False, "lstrip": c == "<mask>", "rstrip": False,
                "normalized": False, "special": True} for i, c in enumerate(("<s>", "<pad>", "</s>", "<unk>", "<mask>"))]
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                           "trim_offsets": True, "add_prefix_space": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": [["\u0120", "a"], ["a", "t"]]}}).encode()


def safetensors_file():
    header = json.dumps({"__metadata__": {"format": "pt"},
                         "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                         "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]}}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + bytes(32)


def torch_file():
    """A stored zip as torch.save writes it, made by hand: one float32 tensor of two values."""
    pickled = (b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storageq\x03"
               b"ctorch\nFloatStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x02tq\x07QK\x00K\x02\x85q\x08K\x01"
               b"\x85q\x09\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\rs.")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data/0", struct.pack("<2f", 1, 2))
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    seeds = [*pictures(), *text_files(), *(("tar", tar) for tar in tar_files()), ("tokenizer", tokenizer_file()),
             ("safetensors", safetensors_file()),
             ("torch", torch_file())]
    for number, (kind, content) in enumerate(seeds):
        (arguments.folder / kind).mkdir(parents=True, exist_ok=True)
        (arguments.folder / kind / f"seed-{number}").write_bytes(content)


if __name__ == "__main__":
    main()
