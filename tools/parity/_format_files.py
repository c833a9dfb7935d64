"""Files in GIF, BMP, ICO, PPM and WebP for format_parity.py, as (name, bytes): by Pillow and by hand."""

import io
import itertools
import random
import struct

from PIL import Image


def saved(picture, kind, **options):
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def pictures(size=(37, 23)):
    """One picture in every mode Pillow has, with noise and flat parts."""
    generator = random.Random(size[0] * 1000 + size[1])
    rgb = Image.new("RGB", size, (200, 30, 60))
    for y in range(size[1]):
        for x in range(size[0]):
            if (x // 6 + y // 5) % 3:
                rgb.putpixel((x, y), (x * 6 % 256, y * 11 % 256, generator.randrange(256)))
    alpha = Image.linear_gradient("L").resize(size)
    rgba = rgb.copy()
    rgba.putalpha(alpha)
    grey = rgb.convert("L")
    grey_alpha = grey.copy()
    grey_alpha.putalpha(alpha)
    return {
        "1": rgb.convert("1"),
        "L": grey,
        "LA": grey_alpha,
        "P": rgb.quantize(61),
        "P-web": rgb.convert("P"),
        "P-2": rgb.quantize(2),
        "P-4": rgb.quantize(4),
        "P-16": rgb.quantize(16),
        "PA": rgba.convert("PA"),
        "RGB": rgb,
        "RGBA": rgba,
        "CMYK": rgb.convert("CMYK"),
        "YCbCr": rgb.convert("YCbCr"),
        "I": grey.convert("I").point(lambda i: i * 3 - 100),
        "F": grey.convert("F").point(lambda i: i * 1.7 - 60.25),
        "I;16": Image.frombytes("I;16", size, generator.randbytes(size[0] * size[1] * 2)),
    }


# --- GIF


def gif_block_data(data, bits):
    """Picture data of literal codes only: a clear code before the table grows."""
    out, buffer, held = bytearray(), 0, 0
    codes = []
    for i, value in enumerate(data):
        if i % ((1 << bits) - 2) == 0:
            codes.append(1 << bits)
        codes.append(value)
    codes.append((1 << bits) + 1)
    for code in codes:
        buffer |= code << held
        held += bits + 1
        while held >= 8:
            out.append(buffer & 255)
            buffer >>= 8
            held -= 8
    out.append(buffer & 255)
    blocks = b"".join(bytes([len(part)]) + part for part in (out[i : i + 255] for i in range(0, len(out), 255)))
    return bytes([bits]) + blocks + b"\0"


def gif_by_hand(screen, frame, size, *, palette=None, local=None, before=b"", interlaced=False, bits=3, background=0):
    def table(colours):
        return b"".join(bytes(colour) for colour in colours)

    def flags(colours):
        return 0x80 | (len(colours).bit_length() - 2) if colours else 0

    data = b"GIF89a" + struct.pack("<HHBBB", *screen, flags(palette), background, 0)
    data += table(palette) if palette else b""
    data += before
    data += b"," + struct.pack("<HHHHB", *frame, *size, flags(local) | (0x40 if interlaced else 0))
    data += table(local) if local else b""
    indices = bytes((x * y + x) % (1 << bits) for y in range(size[1]) for x in range(size[0]))
    return data + gif_block_data(indices, bits) + b";"


def gif_files():
    for name, picture in pictures().items():
        if name in ("CMYK", "YCbCr", "I", "F", "I;16", "PA"):
            continue
        yield f"{name}", saved(picture, "GIF")
        yield f"{name} plain", saved(picture, "GIF", interlace=False, optimize=True)
    shapes = pictures((9, 5))
    yield "animation", saved(shapes["P"], "GIF", save_all=True, append_images=[shapes["RGB"], shapes["L"]], loop=0)
    yield "transparent", saved(shapes["P"], "GIF", transparency=3)
    yield "comment", saved(shapes["RGB"], "GIF", comment=b"a" * 600)
    for size in ((1, 1), (1, 9), (9, 1), (2, 2), (3, 7), (300, 2), (90, 90)):
        yield f"noise {size}", saved(pictures(size)["P"], "GIF")
    colours = [(i * 30, 255 - i * 20, i * 7) for i in range(8)]
    grey = [(i, i, i) for i in range(8)]
    control = b"!\xf9\x04\x01\0\0\x05\0"
    for (name, palette, local), before, interlaced in itertools.product(
        (
            ("global", colours, None),
            ("local", None, colours),
            ("both", grey, colours),
            ("local ramp", colours, grey),
            ("none", None, None),
        ),
        (b"", control),
        (False, True),
    ):
        options = {"palette": palette, "local": local, "before": before, "interlaced": interlaced}
        for screen, frame, size in (
            ((6, 11), (0, 0), (6, 11)),
            ((10, 12), (2, 1), (5, 9)),
            ((3, 3), (2, 1), (5, 9)),
            ((0, 0), (0, 0), (4, 4)),
        ):
            yield f"{name} {screen} {frame} {size} {before[:1]} {interlaced}", gif_by_hand(screen, frame, size, **options)
    for number, before in enumerate((
        b"!\xff\x0bNETSCAPE2.0\x03\x01\x02\0\0",
        b"!\xff\x0bNETSCAPE2.0\0",
        b"!\xf9\0",
        b"!\xf9\x02\x01\0\0",
        b"!\xf9\x03\x01\0\0\0",
        b"!\xf9\x03\0\0\0\0",
        b"!\xfe\x03abc\0",
        b"!\xfe\0",
        b"!\x01\x03abc\0",
        b"junk",
        b"\0\0\0",
        control + b"!\xf9\x04\0\0\0\x02\0",
    )):  # fmt: skip
        yield f"before {number}", gif_by_hand((6, 6), (0, 0), (6, 6), palette=colours, before=before)
    whole = gif_by_hand((6, 6), (0, 0), (6, 6), palette=colours)
    yield "no trailer", whole[:-1]
    yield "no terminator", whole[:-2]
    yield "two pictures, first short", whole[:-9] + b"\x01\x0f" + whole[30:] * 2
    yield "end code in a long file", whole[:-9] + b"\x03\x0f\x0f\x0f\0" + bytes(70000)
    yield "empty frame", gif_by_hand((6, 6), (0, 0), (0, 6), palette=colours)


# --- BMP


def bmp_by_hand(width, height, bits, data, *, header=40, compression=0, palette=b"", colours=0, masks=b"", gap=b"",
                top_down=False, offset=None):  # fmt: skip
    if header == 12:
        body = struct.pack("<HHHH", width, height, 1, bits)
    else:
        body = struct.pack("<iiHHIIIIII", width, -height if top_down else height, 1, bits, compression, len(data), 2835,
                           2835, colours, 0)  # fmt: skip
        body += (masks if header > 40 else b"").ljust(header - 40, b"\0")
        if header == 40:
            body += masks
    place = 14 + 4 + len(body) + len(palette) + len(gap) if offset is None else offset
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, place) + struct.pack("<I", header) + body + palette + gap + data


def bmp_rle(generator, width, height, rle4):
    """Run lengths with every kind of escape, sound in the main."""
    out = bytearray()
    for _ in range(height):
        x = 0
        while x < width:
            kind = generator.randrange(4)
            length = min(generator.randrange(1, 20), width - x)
            if kind == 0 and length >= 3:
                stored = (length + 1) // 2 if rle4 else length
                out += bytes([0, length]) + generator.randbytes(stored) + b"\0" * (stored % 2)
            elif kind == 1:
                out += bytes([0, 2, length, 0])
            else:
                out += bytes([length, generator.randrange(256)])
            x += length
        out += b"\0\0"
    return bytes(out + b"\0\1")


def bmp_files():
    for name, picture in pictures().items():
        if name in ("1", "L", "P", "P-2", "P-4", "P-16", "RGB", "RGBA"):
            yield f"saved {name}", saved(picture, "BMP")
            yield f"dib {name}", saved(picture, "DIB")
    generator = random.Random(5)
    width, height = 13, 7

    def rows(bits):
        return generator.randbytes((width * bits + 31) // 32 * 4 * height)

    for bits, header in itertools.product((1, 2, 4, 8, 16, 24, 32, 64), (12, 40, 52, 56, 64, 108, 124, 16)):
        entry = 3 if header == 12 else 4
        palette = generator.randbytes(entry << bits) if bits <= 8 else b""
        yield f"{bits} bits, header {header}", bmp_by_hand(width, height, bits, rows(bits), header=header, palette=palette)
        if header != 12:
            yield f"{bits} bits, header {header}, top down", bmp_by_hand(
                width, height, bits, rows(bits), header=header, palette=palette, top_down=True
            )
    for bits in (1, 4, 8):
        for colours in (1, 2, 3, 5, 16, 200, 256, 257, 300, 65536, 65537):
            for ramp in (False, True):
                step = 255 if colours == 2 else 1
                entries = [bytes([i * step & 255] * 3) + b"\0" for i in range(min(colours, 70000))]
                palette = b"".join(entries) if ramp else generator.randbytes(4 * len(entries))
                for compression in (0, 1, 2):
                    data = rows(bits) if compression == 0 else bmp_rle(generator, width, height, compression == 2)
                    yield f"{bits} bits, {colours} colours, ramp {ramp}, compression {compression}", bmp_by_hand(
                        width, height, bits, data, palette=palette, colours=colours, compression=compression
                    )
    known = [
        (0xFF0000, 0xFF00, 0xFF, 0x0), (0xFF000000, 0xFF0000, 0xFF00, 0x0), (0xFF000000, 0xFF00, 0xFF, 0x0),
        (0xFF000000, 0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000, 0xFF000000),
        (0xFF0000, 0xFF00, 0xFF, 0xFF000000), (0xFF000000, 0xFF00, 0xFF, 0xFF0000), (0, 0, 0, 0),
        (0xF800, 0x7E0, 0x1F, 0), (0x7C00, 0x3E0, 0x1F, 0), (0xF00, 0xF0, 0xF, 0), (0x3FF00000, 0xFFC00, 0x3FF, 0),
    ]  # fmt: skip
    for bits, header, masks in itertools.product((8, 16, 24, 32), (40, 52, 56, 64, 108, 124), known):
        count = 3 if header == 40 else 4
        yield f"{bits} bits, header {header}, masks {masks}", bmp_by_hand(
            width, height, bits, rows(bits), header=header, compression=3, masks=struct.pack("<4I", *masks)[: 4 * count]
        )
    for compression in (4, 5, 6, 11):
        yield f"compression {compression}", bmp_by_hand(width, height, 24, rows(24), compression=compression)
    for number in range(12):
        rle4 = number % 2 == 1
        size = generator.randrange(1, 60), generator.randrange(1, 30)
        yield f"rle {number}", bmp_by_hand(
            *size, 4 if rle4 else 8, bmp_rle(generator, *size, rle4), compression=2 if rle4 else 1,
            palette=generator.randbytes(64 if rle4 else 1024), top_down=number % 3 == 0,
        )  # fmt: skip
    for compression in (1, 2):
        for bits in (1, 4, 8, 16, 24):
            yield f"rle {compression} of {bits} bits", bmp_by_hand(
                5, 4, bits, bmp_rle(generator, 5, 4, compression == 2), compression=compression,
                palette=generator.randbytes(4 << bits) if bits <= 8 else b"",
            )  # fmt: skip
        for number, data in enumerate((
            b"\x05\x21\0\0\x05\x22\0\1", b"\x05\x21\x05\x22\x05\x23", b"\x09\x21\0\0\x09\x22", b"\0\2\3\1\x05\x23\0\1",
            b"\0\2\xff\xff", b"\0\x0a" + bytes(range(10)), b"\0\x09" + bytes(range(9)) + b"\0\0\5", b"\x05\x21\0\x05\1",
            b"\x02\x21\0\x06\x12\x34\x56\0\x02\x21", b"\x01\x21\0\0\x01\x22\0\0",
        )):  # fmt: skip
            for shift in (b"", b"\0"):
                yield f"rle {compression} case {number} {len(shift)}", bmp_by_hand(
                    5, 2, 8, data, compression=compression, palette=generator.randbytes(1024), gap=shift
                )
    yield "gap", bmp_by_hand(width, height, 24, rows(24), gap=b"abcde")
    yield "offset 0", bmp_by_hand(width, height, 24, rows(24), offset=0)
    yield "offset behind the header", bmp_by_hand(width, height, 8, generator.randbytes(2000), offset=54)
    yield "height 0", bmp_by_hand(width, 0, 24, rows(24))
    yield "last row unpadded", bmp_by_hand(13, 7, 24, rows(24))[:-1]
    yield "last row cut", bmp_by_hand(13, 7, 24, rows(24))[:-2]


# --- ICO


def ico_by_hand(entries):
    """Entries: (width, height, colours, bits, bytes)."""
    head = b"\0\0\1\0" + struct.pack("<H", len(entries))
    place = len(head) + 16 * len(entries)
    data = b""
    for width, height, colours, bits, body in entries:
        head += struct.pack("<BBBBHHII", width, height, colours, 0, 1, bits, len(body), place + len(data))
        data += body
    return head + data


def ico_files():
    many = pictures((64, 64))
    for name in ("1", "L", "P", "RGB", "RGBA"):
        yield f"png {name}", saved(many[name], "ICO")
        yield f"bmp {name}", saved(many[name], "ICO", bitmap_format="bmp", sizes=[(16, 16), (48, 48)])
    generator = random.Random(3)

    def body(width, height, bits, mask=None):
        raw = bmp_by_hand(width, 2 * height, bits, generator.randbytes((width * bits + 31) // 32 * 4 * height),
                          palette=generator.randbytes(4 << bits) if bits <= 8 else b"")[14:]  # fmt: skip
        return raw + (generator.randbytes((width + 31) // 32 * 4 * height) if mask is None else mask)

    for bits in (1, 4, 8, 16, 24, 32):
        for told in (0, bits, 32, 1):
            yield f"{bits} bits told {told}", ico_by_hand([(17, 9, 0, told, body(17, 9, bits))])
        yield f"{bits} bits, no mask", ico_by_hand([(17, 9, 0, bits, body(17, 9, bits, b""))])
    yield "choice", ico_by_hand([(8, 8, 2, 0, body(8, 8, 1)), (8, 8, 0, 24, body(8, 8, 24)), (8, 8, 16, 0, body(8, 8, 4))])
    yield "wrong size", ico_by_hand([(30, 30, 0, 24, body(8, 8, 24))])
    yield "odd height", ico_by_hand([(8, 8, 0, 24, bmp_by_hand(8, 9, 24, generator.randbytes(500))[14:])])
    yield "height 1", ico_by_hand([(8, 8, 0, 24, bmp_by_hand(8, 1, 24, generator.randbytes(500))[14:])])
    yield "empty", ico_by_hand([])
    yield "outside", b"\0\0\1\0\1\0\x08\x08\0\0\1\0\x18\0\x10\0\0\0\xff\xff\0\0"


# --- PPM


def ppm_files():
    for name, picture in pictures().items():
        if name in ("1", "L", "I", "I;16", "RGB", "RGBA", "F"):
            yield f"saved {name}", saved(picture, "PPM")
    generator = random.Random(8)
    for kind, largest in itertools.product((b"P5", b"P6"), (1, 100, 254, 255, 256, 1000, 65534, 65535, 65536, 0)):
        size = 5 * 3 * (3 if kind == b"P6" else 1) * (2 if largest > 255 else 1)
        yield f"{kind} {largest}", b"%s\n5 3\n%d\n" % (kind, largest) + generator.randbytes(size)
    for kind, largest in itertools.product((b"P2", b"P3"), (1, 7, 255, 256, 65535)):
        count = 5 * 3 * (3 if kind == b"P3" else 1)
        values = [generator.randrange(largest + 1) for _ in range(count)]
        yield f"{kind} {largest}", b"%s\n5 3 %d\n" % (kind, largest) + b" ".join(b"%d" % v for v in values)
    for number, text in enumerate((
        b"P1\n3 2\n101 010", b"P1 3 2 101010", b"P1\n3 2\n10101", b"P1\n3 2\n1010102", b"P1\n3 2\n101010 x",
        b"P1\n# c\n3 2 # d\n1#x\n01010", b"P1\n3#\n1 2\n" + b"1" * 62, b"P2\n1 1 255\n12#c\n3", b"P2\n1 1 255\n300",
        b"P2\n1 1 255\n-1", b"P2\n1 1 255\n+7", b"P2\n1 1 255\n1_0", b"P2\n1 1 255\n1__0", b"P2 2 1 255 1 2 junk",
        b"P2 2 1 255 1 2 longerthantenletters", b"P2 2 1 255 1 2 longerthantenletters ", b"P2 2 1 255 1",
        b"P2 2 1 255 00000000001 2", b"P5 +2 1 255\nab", b"P5 2 -1 255\nab", b"P5 2 1_0 255\n" + b"a" * 20,
        b"P5 12345678901 1 255\n", b"P5 0 1 255\n", b"P5 x 1 255\n", b"P6\t2\r1\x0b255\x0cabcdef", b"P6", b"P6\n", b"P6\n2",
        b"P6#2\n", b"P4\n9 2\n\1\2\3\4", b"P4\n9 2\n\1\2\3", b"P4 9 2#x\n \1\2\3\4", b"Pf\n2 1\n-1.0\n" + struct.pack("<2f", 3.5, 700),
        b"Pf\n2 1\n+2e0\n" + struct.pack(">2f", -3.5, 254.99), b"Pf\n2 1\n0\n" + bytes(8), b"Pf\n2 1\nnan\n" + bytes(8),
        b"Pf\n1 2\ninf\n" + bytes(8), b"Pf\n1 2\n-1\n" + struct.pack("<2f", float("nan"), 9.5), b"PF\n1 1\n-1\n" + bytes(12),
        b"P7\n", b"P1\n3 2\n1 0 1#\n#\n 0 1 0#", b"P2\n2 1\n255\n1#" + b"c" * 1_100_000 + b"\n2 3",
        b"P1\n2 1\n" + b" " * ((1 << 20) - 1) + b"10x", b"P1\n2 1\n" + b" " * ((1 << 20) - 2) + b"10x",
    )):  # fmt: skip
        yield f"case {number}", text


# --- WebP


def webp_files():
    for name, picture in pictures().items():
        if name in ("I", "F", "I;16", "PA"):
            continue
        yield f"lossy {name}", saved(picture, "WEBP", quality=70)
        yield f"lossless {name}", saved(picture, "WEBP", lossless=True)
        if name in ("RGBA", "LA"):
            yield f"exact {name}", saved(picture, "WEBP", lossless=True, exact=True)
            yield f"lossy exact {name}", saved(picture, "WEBP", quality=50, exact=True, alpha_quality=30)
    for size in ((1, 1), (1, 17), (17, 1), (2, 3), (16, 16), (15, 33), (64, 65), (130, 70)):
        for method, quality in ((0, 0), (3, 50), (6, 100)):
            yield f"size {size} {method}", saved(pictures(size)["RGBA"], "WEBP", method=method, quality=quality)
            yield f"lossless size {size} {method}", saved(
                pictures(size)["RGBA"], "WEBP", method=method, quality=quality, lossless=True
            )
    frames = [pictures()["RGBA"], pictures()["RGB"].transpose(Image.Transpose.ROTATE_180), pictures()["RGBA"].rotate(30)]
    for options in ({}, {"lossless": True}, {"allow_mixed": True}, {"background": (255, 0, 0, 255)}, {"minimize_size": True}):
        yield f"animation {options}", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], **options)
    # A first frame that does not fill the canvas.
    blank = Image.new("RGBA", (37, 23), (0, 0, 0, 0))
    blank.paste((9, 200, 30, 255), (10, 8, 20, 16))
    yield "small first frame", saved(blank, "WEBP", save_all=True, append_images=frames[1:2], lossless=True, minimize_size=True)
    rgb = pictures()["RGB"]
    for orientation in range(10):
        exif = Image.Exif()
        exif[274] = orientation
        yield f"orientation {orientation}", saved(rgb, "WEBP", exif=exif)
    yield "xmp", saved(rgb, "WEBP", xmp=b'<x tiff:Orientation="6"/>')
    yield "profile", saved(rgb, "WEBP", icc_profile=b"profile")
    plain = saved(rgb, "WEBP")
    yield "trailing", plain + b"abc"
    yield "odd size told", plain[:4] + struct.pack("<I", len(plain) - 9) + plain[8:]
    yield "no chunk known", b"RIFF" + struct.pack("<I", 16) + b"WEBPVP9 " + struct.pack("<I", 4) + b"abcd"
