"""TIFF files for format_parity.py, as (name, bytes): by Pillow and by hand."""

import itertools
import random
import struct
import zlib

from _format_files import pictures, saved


def packbits(data):
    return b"".join(bytes([len(part) - 1]) + part for part in (data[i : i + 128] for i in range(0, len(data), 128)))


def tiff_by_hand(tags, strips, *, order="<", big=False, magic=None, offsets_tag=273, counts_tag=279):
    """Tags: {number: (type, values)}; strips are stored and named in it."""
    word, size = ("Q", 8) if big else ("I", 4)
    mark = b"II" if order == "<" else b"MM"
    head = mark + struct.pack(order + "H", 43 if big else 42) if magic is None else magic
    if big:
        head += struct.pack(order + "HH", 8, 0)
    place = len(head) + size
    body = b""
    offsets = []
    for strip in strips:
        offsets.append(place + len(body))
        body += strip
    tags = dict(tags)
    if strips and offsets_tag:
        tags.setdefault(offsets_tag, (4, offsets))
        tags.setdefault(counts_tag, (4, [len(strip) for strip in strips]))
    formats = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I", 16: "Q"}
    entries = b""
    for tag, (kind, values) in sorted(tags.items()):
        if isinstance(values, bytes):
            data, count = values, len(values)
        else:
            data, count = struct.pack(f"{order}{len(values)}{formats[kind]}", *values), len(values)
        if len(data) > size:
            data, body = struct.pack(order + word, place + len(body)), body + data
        entries += struct.pack(order + "HH" + word, tag, kind, count) + data.ljust(size, b"\0")
    directory = struct.pack(order + ("Q" if big else "H"), len(tags)) + entries + bytes(size)
    return head + struct.pack(order + word, place + len(body)) + body + directory


def tiff_saved():
    compressions = (None, "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "jpeg", "group3", "group4",
                    "tiff_ccitt", "lzma", "zstd", "webp", "tiff_sgilog", "tiff_raw_16")  # fmt: skip
    for compression in compressions:
        for name, picture in pictures().items():
            try:
                options = {} if compression is None else {"compression": compression}
                yield f"saved {compression} {name}", saved(picture, "TIFF", **options)
                if compression in (None, "tiff_lzw", "tiff_adobe_deflate"):
                    yield f"saved {compression} {name} predictor", saved(picture, "TIFF", tiffinfo={317: 2}, **options)
                    yield f"saved {compression} {name} strips", saved(picture, "TIFF", strip_size=200, **options)
            except Exception:  # noqa: BLE001  Pillow cannot write that pair
                continue
    rgb = pictures()["RGB"]
    for orientation in range(1, 9):
        for compression in (None, "tiff_lzw"):
            yield f"orientation {orientation} {compression}", saved(
                rgb, "TIFF", tiffinfo={274: orientation}, **({"compression": compression} if compression else {})
            )
    yield "pages", saved(rgb, "TIFF", save_all=True, append_images=[pictures((5, 5))["L"]])
    yield "big", saved(rgb, "TIFF", big_tiff=True)
    for quality in (5, 60, 95):
        yield f"jpeg {quality}", saved(rgb, "TIFF", compression="jpeg", quality=quality)
        yield f"jpeg ycc {quality}", saved(rgb.convert("YCbCr"), "TIFF", compression="jpeg", quality=quality)
    yield "ycc lzw", saved(rgb.convert("YCbCr"), "TIFF", compression="tiff_lzw")


def tiff_kinds():
    """Photometric, samples, bits, extra, format: those of Pillow's table and some that are not in it."""
    for photometric, samples in ((0, 1), (1, 1), (3, 1)):
        for bits in (1, 2, 4, 8, 12, 16, 32):
            yield photometric, samples, bits, None, None
    for bits in (8, 16, 32):
        for sample_format in (2, 3):
            yield 1, 1, bits, None, sample_format
            yield 0, 1, bits, None, sample_format
    for bits in (8, 16):
        for photometric, base in ((1, 1), (2, 3), (3, 1), (5, 4), (6, 3), (8, 3)):
            yield photometric, base, bits, None, None
            for extra in ((0,), (1,), (2,), (999,), (0, 0), (1, 0), (2, 0), (0, 0, 0), (1, 0, 0), (2, 0, 0)):
                yield photometric, base + len(extra), bits, extra, None
        yield 2, 4, bits, None, None
        yield 6, 1, bits, None, None


def tiff_kinds_by_hand():
    generator = random.Random(11)
    width, height = 11, 6
    for photometric, samples, bits, extra, sample_format in tiff_kinds():
        for order, fill, compressed, planar in itertools.product("<>", (1, 2), (False, True), (1, 2)):
            tags = {
                256: (3, [width]), 257: (3, [height]), 258: (3, [bits] * samples), 259: (3, [8 if compressed else 1]),
                262: (3, [photometric]), 277: (3, [samples]), 278: (3, [4]), 284: (3, [planar]),
            }  # fmt: skip
            if fill == 2:
                tags[266] = (3, [2])
            if extra is not None:
                tags[338] = (3, extra)
            if sample_format is not None:
                tags[339] = (3, [sample_format] * samples)
            if photometric == 3:
                tags[320] = (3, [generator.randrange(65536) for _ in range(3 << min(bits, 8))])
            row = (width * bits * (samples if planar == 1 else 1) + 7) // 8
            strips = []
            for _ in range(samples if planar == 2 else 1):
                for rows in (4, 2):
                    data = generator.randbytes(row * rows)
                    if sample_format == 3 and bits == 32:
                        values = [generator.uniform(-50, 400) for _ in range(len(data) // 4)]
                        data = struct.pack(f"{order}{len(values)}f", *values)
                    strips.append(zlib.compress(data) if compressed else data)
            name = f"kind {photometric} {samples}x{bits} extra {extra} format {sample_format} {order} fill {fill}"
            yield f"{name} compressed {compressed} planar {planar}", tiff_by_hand(tags, strips, order=order)


def tiff_layouts_by_hand():
    generator = random.Random(12)
    width, height = 37, 21
    base = {256: (3, [width]), 257: (3, [height]), 258: (3, [8, 8, 8]), 262: (3, [2]), 277: (3, [3])}

    def tiles(across, down, samples):
        return [generator.randbytes(across * down * samples) for _ in range(-(-width // across) * -(-height // down))]

    for across, down in ((16, 16), (48, 16), (16, 32), (64, 64), (37, 21), (20, 10)):
        for compression, pack in ((1, bytes), (8, zlib.compress), (32773, packbits)):
            for planar in (1, 2):
                tags = base | {259: (3, [compression]), 322: (3, [across]), 323: (3, [down]), 284: (3, [planar])}
                stored = tiles(across, down, 3) if planar == 1 else sum((tiles(across, down, 1) for _ in range(3)), [])
                yield f"tiles {across} {down} {compression} planar {planar}", tiff_by_hand(
                    tags, [pack(tile) for tile in stored], offsets_tag=324, counts_tag=325
                )
    whole = generator.randbytes(width * height * 3)
    raw = base | {259: (3, [1])}
    for rows in (1, 5, 21, 22, 1000, 0xFFFFFFFF):
        strips = [whole[i : i + rows * width * 3] for i in range(0, len(whole), rows * width * 3)]
        yield f"rows {rows}", tiff_by_hand(raw | {278: (4, [rows])}, strips)
        packed = [zlib.compress(strip) for strip in strips]
        yield f"rows {rows} deflate", tiff_by_hand(base | {259: (3, [8]), 278: (4, [rows])}, packed)
    yield "rows 0", tiff_by_hand(raw | {278: (4, [0])}, [whole])
    yield "rows 0 deflate", tiff_by_hand(base | {259: (3, [8]), 278: (4, [0])}, [zlib.compress(whole)])
    yield "few strips", tiff_by_hand(raw | {278: (4, [5])}, [whole[: width * 15]] * 2)
    yield "many strips", tiff_by_hand(raw | {278: (4, [7])}, [whole[i : i + width * 21] for i in range(0, 800, 100)])
    yield "three pictures in one place", tiff_by_hand(raw | {278: (4, [21])}, [whole, whole[::-1], whole])
    yield "two pictures, rows above height", tiff_by_hand(raw | {278: (4, [40])}, [whole, whole[::-1]])
    cmyk = {256: (3, [9]), 257: (3, [9]), 258: (3, [8] * 4), 262: (3, [5]), 277: (3, [4]), 278: (3, [3]), 259: (3, [1])}
    yield "few strips of cmyk", tiff_by_hand(cmyk, [generator.randbytes(108)])
    yield "no offsets", tiff_by_hand(raw, [])
    yield "big endian big", tiff_by_hand(raw, [whole], order=">", big=True)
    yield "big", tiff_by_hand(raw, [whole], big=True)
    yield "big deflate", tiff_by_hand(base | {259: (3, [8])}, [zlib.compress(whole)], big=True)
    for magic in (b"MM*\0", b"II\0*", b"II*\0", b"MM\0*"):
        order = "<" if magic[:2] == b"II" else ">"
        yield f"magic {magic}", tiff_by_hand(raw, [whole], order=order, magic=magic)
        yield f"magic {magic} deflate", tiff_by_hand(
            base | {259: (3, [8])}, [zlib.compress(whole)], order=order, magic=magic
        )


def tiff_tags_by_hand():
    generator = random.Random(13)
    width, height = 8, 6
    whole = generator.randbytes(width * height * 3)
    base = {256: (3, [width]), 257: (3, [height]), 258: (3, [8, 8, 8]), 259: (3, [1]), 262: (3, [2]), 277: (3, [3])}
    changes = {
        "width long": {256: (4, [width])}, "width byte": {256: (1, [width])}, "width two": {256: (3, [width, 3])},
        "width signed": {256: (9, [width])}, "width negative": {256: (8, [-width])}, "width float": {256: (11, [8.0])},
        "width long8": {256: (16, [width])}, "width ifd": {256: (13, [width])}, "width zero": {256: (3, [0])},
        "width huge": {256: (4, [0xFFFFFFFF])}, "bits one": {258: (3, [8])}, "bits four": {258: (3, [8, 8, 8, 8])},
        "bits two": {258: (3, [8, 8])}, "bits byte": {258: (1, [8])}, "bits mixed": {258: (3, [8, 16, 8])},
        "samples 0": {277: (3, [0])}, "samples 7": {277: (3, [7])}, "samples 4": {277: (3, [4])}, "samples two": {277: (3, [3, 1])},
        "photometric two": {262: (3, [2, 2])}, "compression 99": {259: (3, [99])}, "fill 3": {266: (3, [3])},
        "planar 3": {284: (3, [3])}, "format mixed": {339: (3, [1, 1, 2])}, "format four": {339: (3, [1] * 4)},
        "format 4": {339: (3, [4])}, "wmp": {0xBC01: (3, [1])}, "extra planar": {284: (3, [2]), 338: (3, [0]), 277: (3, [4])},
        "xmp": {700: (1, b'<x tiff:Orientation="6"/>')}, "xmp and tag": {700: (1, b'<x tiff:Orientation="6"/>'), 274: (3, [3])},
        "xmp undefined": {700: (7, b"<tiff:Orientation>8</tiff:Orientation>")}, "orientation byte": {274: (1, [6])},
        "orientation long": {274: (4, [6])}, "orientation two": {274: (3, [5, 1])}, "ascii": {270: (2, b"hello\0")},
        "unknown type": {40000: (20, b"abcd")}, "no photometric": {262: (20, b"ab")},
    }  # fmt: skip
    for name, change in changes.items():
        yield f"tag {name}", tiff_by_hand(base | change, [whole])
        yield f"tag {name} deflate", tiff_by_hand({259: (3, [8])} | {k: v for k, v in (base | change).items() if k != 259},
                                                   [zlib.compress(whole)])  # fmt: skip
    grey = {256: (3, [width]), 257: (3, [height]), 258: (3, [8]), 259: (3, [1]), 262: (3, [3])}
    for count in (1, 3, 48, 768, 771, 1500):
        colours = [generator.randrange(65536) for _ in range(count)]
        yield f"palette {count}", tiff_by_hand(grey | {320: (3, colours)}, [whole])
    yield "palette long", tiff_by_hand(grey | {320: (4, [300 * i for i in range(768)])}, [whole])
    yield "palette missing", tiff_by_hand(grey, [whole])
    yield "tag data outside", tiff_by_hand(base | {273: (4, [8])}, [whole])[:-20]


def tiff_files():
    yield from tiff_saved()
    yield from tiff_kinds_by_hand()
    yield from tiff_layouts_by_hand()
    yield from tiff_tags_by_hand()
