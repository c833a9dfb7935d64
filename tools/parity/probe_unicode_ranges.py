"""Write the table of letters, numbers and blanks as the `tokenizers` library sees them.

    python tools/parity/probe_unicode_ranges.py cantilever/data/text/unicode_ranges.inc

Each code point is put beside a known character and given to the byte-level pre-tokenizer: whether
the two stay in one piece says which class of the GPT-2 pattern the code point belongs to. With
--check the file is compared instead of written.
"""

import argparse
import sys
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

CLASSES = ["Letter", "Number", "Space"]


def probe() -> dict[str, list[int]]:
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)
    stripper = Tokenizer(models.BPE(vocab={"x": 0}, merges=[], unk_token="x"))
    stripper.add_special_tokens([AddedToken("<m>", lstrip=True)])

    def together(text: str) -> bool:
        return len(splitter.pre_tokenize_str(text)) == 1

    found = {name: [] for name in CLASSES}
    for code in range(0x110000):
        if 0xD800 <= code <= 0xDFFF:
            continue  # no UTF-8 text holds a surrogate
        character = chr(code)
        kinds = [name for name, sample in zip(CLASSES, ["a", "1", "\t"]) if together(sample + character)]
        other = together("!" + character)
        assert len(kinds) + other == 1, f"U+{code:04X} is {kinds}, other {other}"
        blank = len(stripper.encode(character + "<m>", add_special_tokens=False).ids) == 1
        assert blank == (kinds == ["Space"]), f"U+{code:04X}: an added token strips other blanks"
        if kinds:
            found[kinds[0]].append(code)
    return found


def ranges(codes: list[int]) -> list[tuple[int, int]]:
    result = []
    for code in codes:
        if result and result[-1][1] == code - 1:
            result[-1] = (result[-1][0], code)
        else:
            result.append((code, code))
    return result


def render(found: dict[str, list[int]]) -> str:
    lines = [
        "// Written by `python tools/parity/probe_unicode_ranges.py cantilever/data/text/unicode_ranges.inc`",
        f"// from tokenizers {tokenizers.__version__}. First and last code point of each range.",
        "// clang-format off",
    ]
    for name in CLASSES:
        spans = ranges(found[name])
        lines += ["", f"constexpr CodeRange k{name}Ranges[] = {{  // {len(found[name])} code points"]
        line = "   "
        for first, last in spans:
            item = f" {{0x{first:X}, 0x{last:X}}},"
            if len(line) + len(item) > 100:
                lines.append(line)
                line = "   "
            line += item
        lines += [line, "};"]
    lines += ["", "// clang-format on", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    args = parser.parse_args()
    text = render(probe())
    if args.check:
        def code(content: str) -> list[str]:
            return [line for line in content.splitlines() if not line.startswith("//")]
        same = code(args.file.read_text(encoding="utf-8")) == code(text)
        print(f"{args.file}: {'equal to' if same else 'DIFFERS from'} what tokenizers {tokenizers.__version__} does")
        return 0 if same else 1
    args.file.write_text(text, encoding="utf-8")
    print(f"{args.file}: {text.count('{0x')} ranges from tokenizers {tokenizers.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
