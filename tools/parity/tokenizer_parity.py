"""Compare the tokenizer with the `tokenizers` library and Transformers, live.

    python tools/parity/tokenizer_parity.py build/release/tests/tokenizer_encode_lines

COMMAND is the executable (with leading arguments, quoted, if it needs some): `COMMAND FOLDER --hex` reads
a text a line as hexadecimal bytes and writes a JSON list of ids a line, `COMMAND --train SIZE OUT` learns a
vocabulary from JSON strings, `COMMAND FOLDER --save OUT` saves. The corpus (roberta/ and captions/) is
taken from --corpus or CANTILEVER_CORPUS. Exit status 1 when anything differs.
"""

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors, trainers  # noqa: E402
from transformers import AutoTokenizer, RobertaTokenizer  # noqa: E402
from transformers.utils import logging  # noqa: E402

logging.set_verbosity_error()

LEADING_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
failures = 0


def report(name: str, wrong: int, total: int, example: str = "") -> None:
    global failures
    failures += wrong > 0
    print(f"{'ok  ' if wrong == 0 else 'FAIL'} {name}: {total - wrong} of {total} equal{example}", flush=True)


# ---- texts ----------------------------------------------------------------------------------------------------

WORDS = ("a the dog cat's you're they've I'm we'll he'd o'clock 'tis rock'n'roll HELLO'S don't x'll'd 12 3.14 1,000 "
         "2nd naïve Straße 東京 привет مرحبا नमस्ते 한국어 ไทย e\u0301 ½ ² Ⅷ ٣٤ 1️⃣ 👍🏽 👨‍👩‍👧 🏳️‍🌈 🇩🇪 ¡ € — … _under_ C++ a/b #tag @me http://x.y/z?q=1").split()
BLANKS = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2009", "\u200b", "\u2028", "\x0b", "\x0c", "\x1c",
          "\x85", "\u180e", "\ufeff", "     "]
SPECIALS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "<mask", "mask>", "<", "</", "<<mask>>", "<s></s>", "<MASK>",
            " <mask>", "  <mask> ", "\u00a0<mask>\t", "<mask><mask>", "\n<mask>\n"]
TAILS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", "'", "''", "'x", "’s"]


def any_character(draw: random.Random) -> str:
    while True:
        top = draw.choice([0x80, 0x100, 0x800, 0x3000, 0x10000, 0x20000, 0x110000])
        code = draw.randrange(top)
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)


def make_text(draw: random.Random) -> bytes:
    def runs() -> str:
        return draw.choice(" \t\n0123456789.!'-aéя字🙂\x00" + chr(draw.randrange(0x20, 0x7F))) * draw.choice([2, 3, 7, 31, 64, 300])

    parts = [
        lambda: draw.choice(WORDS), lambda: draw.choice(WORDS) + draw.choice(TAILS), lambda: draw.choice(BLANKS),
        lambda: " ", lambda: draw.choice(SPECIALS), runs, lambda: any_character(draw),
        lambda: "".join(any_character(draw) for _ in range(draw.randrange(1, 12))),
        lambda: "".join(chr(draw.randrange(0x80)) for _ in range(draw.randrange(1, 12))),
    ]
    text = "".join(draw.choice(parts)() for _ in range(draw.randrange(0, 14))).encode("utf-8")
    if draw.random() < 0.25:  # broken bytes
        data = bytearray(text)
        for _ in range(draw.randrange(1, 5)):
            at = draw.randrange(len(data) + 1)
            data[at:at] = draw.choice([b"\xed\xa0\x80", b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf",
                                       b"\xf4\x90\x80\x80", b"\xe0\x80", bytes([draw.randrange(256)])])
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)):]
        text = bytes(data)
    return text


def all_code_points() -> list[bytes]:
    texts = []
    for start in range(0, 0x110000, 64):
        codes = [code for code in range(start, start + 64) if not 0xD800 <= code <= 0xDFFF]
        texts.append(" a".join(map(chr, codes)).encode("utf-8"))
        texts.append("1".join(map(chr, codes)).encode("utf-8"))
    return [text for text in texts if text]


def captions(corpus: Path) -> list[bytes]:
    texts = []
    with open(corpus / "captions/captions.jsonl", encoding="utf-8") as lines:
        texts += [json.loads(line)["caption"] for line in lines]
    with open(corpus / "captions/stamps_multilingual.jsonl", encoding="utf-8") as lines:
        for line in lines:
            texts += json.loads(line)["captions"].values()
    return [text.encode("utf-8") for text in texts]


# ---- running ours -----------------------------------------------------------------------------------------------

class Ours:
    def __init__(self, command: str):
        self.command = shlex.split(command)

    def run(self, arguments: list, text: str = "") -> str:
        done = subprocess.run([*self.command, *map(str, arguments)], input=text, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{self.command} {arguments}: {done.stderr}")
        return done.stdout

    def encode(self, folder: Path, texts: list[bytes], *arguments) -> list[list[int]]:
        lines = self.run([folder, "--hex", *arguments], "".join(text.hex() + "\n" for text in texts)).splitlines()
        return [json.loads(line) for line in lines]


def compare(ours: Ours, name: str, folder: Path, theirs, texts: list[bytes], *arguments) -> None:
    """theirs: str -> list of ids."""
    got = ours.encode(folder, texts, *arguments)
    wrong, example = 0, ""
    for text, ids in zip(texts, got):
        expected = theirs(text.decode("utf-8", "replace"))
        if ids != expected:
            wrong += 1
            example = example or f"; first: {text!r}\n     ours   {ids}\n     theirs {expected}"
    report(name, wrong + abs(len(texts) - len(got)), len(texts), example)


# ---- tokenizers to compare with ---------------------------------------------------------------------------------------

def read_vocabulary(folder: Path) -> tuple[dict, list]:
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
    return vocab, [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]


def save_reference(out: Path, vocab: dict, merges: list) -> None:
    mask = AddedToken("<mask>", lstrip=True, rstrip=False, single_word=False, normalized=False, special=True)
    RobertaTokenizer(vocab=vocab, merges=merges, mask_token=mask, model_max_length=512).save_pretrained(out)


def odd_tokenizer(draw: random.Random, folder: Path) -> Tokenizer:
    """Random merges over a small alphabet, among them different pairs that make the same piece."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if draw.random() < 0.5:
        alphabet = [c for c in alphabet if c in "abcdeĠ" or draw.random() < 0.9]
    pieces = LEADING_SPECIALS + alphabet
    known, merges = set(pieces), []
    parts = [c for c in "abcdeĠ"]
    for _ in range(draw.choice([5, 40, 200])):
        pair = (draw.choice(parts), draw.choice(parts))
        if len(pair[0] + pair[1]) > 12 or pair in merges:
            continue
        merges.append(pair)
        if pair[0] + pair[1] not in known:
            known.add(pair[0] + pair[1])
            pieces.append(pair[0] + pair[1])
            parts.append(pair[0] + pair[1])
    pieces += ["<mask>", "abab", "cde"] if "abab" not in known and "cde" not in known else ["<mask>"]
    unk = draw.choice([None, "<unk>"])
    tokenizer = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges, unk_token=unk,
                                     fuse_unk=draw.random() < 0.5, ignore_merges=draw.random() < 0.3))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=draw.random() < 0.5)
    extra = ["ab", "abc", "bc", "<x>", "<xy>", "é字", " b", "[e]"]
    tokens = [AddedToken(text, lstrip=draw.random() < 0.4, rstrip=draw.random() < 0.4, normalized=draw.random() < 0.4,
                         special=draw.random() < 0.5) for text in draw.sample(extra, draw.randrange(4))]
    known_tokens = [AddedToken(text, special=True, normalized=False, lstrip=text == "<mask>")
                    for text in LEADING_SPECIALS + ["<mask>"]]
    tokenizer.add_tokens(known_tokens + tokens)
    if draw.random() < 0.5:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    else:
        tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    document = json.loads(tokenizer.to_str())
    listed = document["model"]["merges"]
    for _ in range(draw.choice([0, 0, 1, 5])):  # a merge that stands twice, which the library's own files never have
        listed.insert(draw.randrange(len(listed) + 1), draw.choice(listed))
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def odd_text(draw: random.Random) -> bytes:
    length = draw.choice([3, 10, 40, 90])
    return "".join(draw.choice(["a", "b", "c", "d", "e", "a", "b", " ", "  ", "<x>", "<xy>", "é字", "[e]", "\t", "z", "é", "<mask>"])
                   for _ in range(draw.randrange(length))).encode()


# ---- the checks ----------------------------------------------------------------------------------------------------

def check_goldens(ours: Ours, corpus: Path, folder: Path) -> None:
    with open(corpus / "roberta/golden_token_ids.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows += json.loads((corpus / "roberta/special_token_text.json").read_text(encoding="utf-8"))
    expected = {row["text"]: row["input_ids"] for row in rows}
    texts = [row["text"].encode("utf-8") for row in rows]
    compare(ours, "stored goldens", folder, expected.__getitem__, texts)
    compare(ours, "stored goldens, vocab.json and merges.txt", corpus / "roberta", expected.__getitem__, texts)


def check_roberta(ours: Ours, corpus: Path, folder: Path, count: int) -> None:
    reference = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def theirs(text: str) -> list[int]:
        return reference.encode(text).ids

    draw = random.Random(1)
    made = [make_text(draw) for _ in range(count)]
    compare(ours, "RoBERTa, generated texts", folder, theirs, made)
    compare(ours, "RoBERTa, vocab.json and merges.txt", corpus / "roberta", theirs, made[:5000])
    compare(ours, "RoBERTa, every code point", folder, theirs, all_code_points())
    compare(ours, "RoBERTa, captions in 78 languages", folder, theirs, captions(corpus))
    compare(ours, "RoBERTa, 100,000 letters and more", folder, theirs,
            [b"a" * 100_000, b"".join(bytes([draw.randrange(97, 123)]) for _ in range(100_000)), b"".join(made)[:1_000_000]])
    transformers = AutoTokenizer.from_pretrained(folder)
    for length in (2, 3, 16, 128):
        compare(ours, f"Transformers, max_length {length}", folder,
                lambda text: transformers(text, max_length=length, truncation=True)["input_ids"], made[:2000],
                "--max-length", length)


def check_odd(ours: Ours, work: Path) -> None:
    for i in range(40):
        draw = random.Random(1000 + i)
        folder = work / f"odd{i}"
        reference = odd_tokenizer(draw, folder)
        texts = [odd_text(draw) for _ in range(300)]
        compare(ours, f"random vocabulary {i}", folder, lambda text: reference.encode(text).ids, texts)


def check_training(ours: Ours, corpus: Path, work: Path) -> None:
    draw = random.Random(5)
    shared = [text.decode() for text in captions(corpus)]
    with open(corpus / "captions/captions.jsonl", encoding="utf-8") as lines:
        plain = [json.loads(line)["caption"] for line in lines]
    noise = [make_text(draw).decode("utf-8", "replace") for _ in range(3000)]
    few = ["".join(draw.choice("aab c") for _ in range(draw.randrange(60))) for _ in range(300)]
    for name, texts, size in [("captions", plain, 600), ("captions", plain, 4096), ("captions", plain, 50000),
                              ("78 languages", shared, 8192), ("noise", noise, 3000), ("few letters", few, 2000),
                              ("nothing", [], 300)]:
        learner = Tokenizer(models.BPE())
        learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        learner.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=size - 1, show_progress=False, special_tokens=LEADING_SPECIALS,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
        learned = json.loads(learner.to_str())["model"]
        vocab = dict(learned["vocab"])
        vocab["<mask>"] = len(vocab)
        out = work / f"trained-{name.replace(' ', '-')}-{size}"
        ours.run(["--train", size, out], "".join(json.dumps(text) + "\n" for text in texts))
        got_vocab, got_merges = read_vocabulary(out)
        expected = [tuple(pair) for pair in learned["merges"]]
        wrong = sum(got_vocab.get(piece) != i for piece, i in vocab.items()) + abs(len(got_vocab) - len(vocab))
        report(f"training, {name} to {size}: vocabulary", wrong, len(vocab))
        wrong = sum(a != b for a, b in zip(got_merges, expected)) + abs(len(got_merges) - len(expected))
        report(f"training, {name} to {size}: merges", wrong, len(expected))
        if name == "captions":
            folder = work / f"reference-{size}"
            save_reference(folder, vocab, expected)
            check_saved_files(f"training, {name} to {size}", out, folder)


def check_saved_files(name: str, ours: Path, theirs: Path) -> None:
    for file in ("tokenizer.json", "tokenizer_config.json"):
        same = (ours / file).read_bytes() == (theirs / file).read_bytes()
        report(f"{name}: bytes of {file}", 0 if same else 1, 1)


def check_saving(ours: Ours, corpus: Path, folder: Path, work: Path) -> None:
    texts = [make_text(random.Random(9)).decode("utf-8", "replace") for _ in range(500)]
    reference = AutoTokenizer.from_pretrained(folder)
    for kind, source in (("tokenizer.json", folder), ("vocab.json", corpus / "roberta")):
        for length in (0, 128):
            out = work / f"saved-{kind}-{length}"
            ours.run([source, "--save", out, "--max-length", length])
            if length > 0:
                reference(["a"], max_length=length, truncation=True, padding="max_length")
                expected = work / f"expected-{kind}-{length}"
                reference.save_pretrained(expected)
            else:
                expected = folder
            same = (out / "tokenizer.json").read_bytes() == (expected / "tokenizer.json").read_bytes()
            report(f"saved from {kind}, length {length}: bytes of tokenizer.json", 0 if same else 1, 1)
            loaded = AutoTokenizer.from_pretrained(out)
            wrong = sum(loaded(text)["input_ids"] != reference(text)["input_ids"] for text in texts)
            report(f"saved from {kind}, length {length}: read by Transformers", wrong, len(texts))
            vocab, merges = read_vocabulary(out)
            same = (vocab, merges) == read_vocabulary(corpus / "roberta")
            report(f"saved from {kind}, length {length}: vocab.json and merges.txt", 0 if same else 1, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--corpus", type=Path, default=os.environ.get("CANTILEVER_CORPUS"))
    parser.add_argument("--count", type=int, default=30000, help="generated texts")
    args = parser.parse_args()
    if args.corpus is None:
        parser.error("give --corpus or set CANTILEVER_CORPUS")
    corpus = Path(args.corpus)
    ours = Ours(args.command)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        folder = work / "roberta"
        save_reference(folder, *read_vocabulary(corpus / "roberta"))
        check_goldens(ours, corpus, folder)
        check_roberta(ours, corpus, folder, args.count)
        check_odd(ours, work)
        check_training(ours, corpus, work)
        check_saving(ours, corpus, folder, work)
    print("all equal" if failures == 0 else f"{failures} checks differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
