"""Make the demo's picture-caption set: emoji pictures with their Unicode names, as Parquet.

    PYTHONPATH=.deps/site python3 tools/demo/make_emoji_set.py OUT [--test-pairs 300] [--seed 7]

Pictures are the bitmaps of Debian's fonts-noto-color-emoji, names those of Debian's unicode-data
(emoji-test.txt). OUT gets data/{train,validation,test}-00000-of-00001.parquet with the columns
image {bytes, path} (a `datasets` Image feature) and caption, and README.md with what it holds.

All variants of one emoji (skin tone, sex, hair, direction) stand on the same side of the split:
otherwise the held-back pictures would nearly all have a twin among those trained on.
"""

import argparse
import io
import json
import random
import sys
from collections import defaultdict
from pathlib import Path

from fontTools.ttLib import TTFont
from PIL import Image

# pyarrow works without NumPy but refuses one that is too old, and Debian's is: hide it.
sys.modules["numpy"] = None
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
NAMES = Path("/usr/share/unicode/emoji/emoji-test.txt")

SKIN_TONES = set(range(0x1F3FB, 0x1F400))
HAIR = set(range(0x1F9B0, 0x1F9B4))
DROPPED = SKIN_TONES | HAIR | {0x200D, 0xFE0F, 0x2640, 0x2642, 0x27A1}
# Code points that differ in sex or age alone; the first stands for all.
SAME = [
    (0x1F9D1, 0x1F468, 0x1F469),  # person, man, woman
    (0x1F9D2, 0x1F466, 0x1F467),  # child, boy, girl
    (0x1F9D3, 0x1F474, 0x1F475),  # older person, old man, old woman
    (0x1FAC5, 0x1F934, 0x1F478),  # person with crown, prince, princess
    (0x1FAC4, 0x1FAC3, 0x1F930),  # pregnant person, man, woman
    (0x1F46B, 0x1F46C, 0x1F46D),  # couples holding hands
    (0x1F385, 0x1F936),           # Santa Claus, Mrs. Claus
    (0x1F57A, 0x1F483),           # man dancing, woman dancing
]
REPRESENTATIVE = {code: same[0] for same in SAME for code in same}


def read_names(path: Path) -> list[tuple[tuple[int, ...], str]]:
    """(code points, name) of every fully-qualified emoji, in the file's order."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        codes, _, rest = line.partition(";")
        if not rest.strip().startswith("fully-qualified"):
            continue
        name = rest.split("#", 1)[1].split(" ", 3)[3]  # "# PICTURE E1.0 name"
        found.append((tuple(int(code, 16) for code in codes.split()), name.strip()))
    return found


def family_of(codes: tuple[int, ...]) -> tuple[int, ...]:
    """What all variants of one emoji have in common."""
    kept = [REPRESENTATIVE.get(code, code) for code in codes if code not in DROPPED]
    people = [code for code in kept if code in (0x1F9D1, 0x1F9D2)]
    if len(people) > 1:  # families, couples and kisses are one emoji whoever is in them
        kept = [0x1F46A] if len(people) == len(kept) else [c for c in kept if c not in people]
    return tuple(kept) or tuple(codes)


class EmojiFont:
    """Bitmaps of a colour font by code point sequence, through its cmap and ligatures."""

    def __init__(self, path: Path):
        font = TTFont(path, lazy=True)
        self.cmap = font.getBestCmap()
        self.bitmaps = font["CBDT"].strikeData[0]
        self.ligatures = defaultdict(list)
        for lookup in font["GSUB"].table.LookupList.Lookup:
            for table in lookup.SubTable:
                if hasattr(table, "ligatures"):
                    for first, entries in table.ligatures.items():
                        for entry in entries:
                            self.ligatures[(first, *entry.Component)].append(entry.LigGlyph)

    def png(self, codes: tuple[int, ...]) -> bytes | None:
        glyphs = tuple(self.cmap[c] for c in codes if c != 0xFE0F and c in self.cmap)
        full = tuple(self.cmap[c] for c in codes if c in self.cmap)
        candidates = [*self.ligatures.get(glyphs, []), *self.ligatures.get(full, [])]
        if len(glyphs) == 1:
            candidates.append(glyphs[0])
        for glyph in candidates:
            if glyph in self.bitmaps:
                return self.bitmaps[glyph].imageData
        return None


def on_white(png: bytes) -> bytes:
    """The picture without its alpha channel: what lies under transparent pixels is not part of it."""
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    flat = Image.new("RGBA", picture.size, (255, 255, 255, 255))
    flat.alpha_composite(picture)
    out = io.BytesIO()
    flat.convert("RGB").save(out, "PNG", optimize=False)
    return out.getvalue()


def split_families(pairs, test_pairs: int, validation_pairs: int, seed: int):
    """Whole families, shuffled, into test until it is full, then validation, then train."""
    families = defaultdict(list)
    for index, (codes, _, _) in enumerate(pairs):
        families[family_of(codes)].append(index)
    order = sorted(families)
    random.Random(seed).shuffle(order)
    splits = {"test": [], "validation": [], "train": []}
    room = {"test": test_pairs, "validation": validation_pairs}
    for family in order:
        members = families[family]
        # A family goes where it fits whole; one that would take over half of a split goes to train.
        target = next((name for name in room
                       if len(splits[name]) + len(members) <= room[name]
                       and len(members) * 2 <= room[name]), "train")
        splits[target] += members
    return splits, len(families)


def write_split(path: Path, pairs) -> None:
    struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = [{"bytes": png, "path": "_".join(f"{c:x}" for c in codes) + ".png"}
            for codes, _, png in pairs]
    table = pa.table({"image": pa.array(rows, struct),
                      "caption": pa.array([name for _, name, _ in pairs], pa.string())})
    features = {"image": {"_type": "Image"}, "caption": {"dtype": "string", "_type": "Value"}}
    table = table.replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path, row_group_size=500)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--test-pairs", type=int, default=300)
    parser.add_argument("--validation-pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    for path, package in ((FONT, "fonts-noto-color-emoji"), (NAMES, "unicode-data")):
        if not path.is_file():
            sys.exit(f"{path} is missing: install the Debian package {package}")

    font = EmojiFont(FONT)
    pairs = [(codes, name, png) for codes, name in read_names(NAMES)
             if (png := font.png(codes)) is not None]
    if len(pairs) < 1500:
        sys.exit(f"only {len(pairs)} emoji of {NAMES} have a bitmap in {FONT}")
    pairs = [(codes, name, on_white(png)) for codes, name, png in pairs]
    splits, families = split_families(pairs, args.test_pairs, args.validation_pairs, args.seed)
    folder = args.out / "data"
    folder.mkdir(parents=True, exist_ok=True)
    for name, members in splits.items():
        write_split(folder / f"{name}-00000-of-00001.parquet", [pairs[i] for i in sorted(members)])
    counts = {name: len(members) for name, members in splits.items()}
    (args.out / "README.md").write_text(
        f"# Emoji and their names\n\n{len(pairs)} pairs in {families} families of variants: "
        + ", ".join(f"{count} {name}" for name, count in counts.items())
        + f". Split seed {args.seed}. Pictures: fonts-noto-color-emoji (OFL 1.1); names: Unicode "
          "data (Unicode licence).\n", encoding="utf-8")
    print(f"{args.out}: {len(pairs)} pairs in {families} families: {counts}")


if __name__ == "__main__":
    main()
