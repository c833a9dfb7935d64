"""Race the tokenizer against the `tokenizers` library on the shared captions, one thread each, in turns.

    python tools/parity/tokenizer_speed.py build/release/tests/tokenizer_encode_lines

COMMAND FOLDER --repeat N must read JSON strings and print the seconds of each of N passes as a JSON list. Every
call that the library offers is timed and the fastest one counts. Prints captions per second and the ratio of
the medians. Exit status 1 when the ratio is below --least.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import tokenizers  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from tokenizer_parity import read_vocabulary, save_reference  # noqa: E402


def time_ours(command: list[str], folder: Path, texts: list[str], passes: int) -> list[float]:
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([*command, str(folder), "--repeat", str(passes)], input=lines, capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


def time_theirs(call, passes: int) -> list[float]:
    seconds = []
    for _ in range(passes):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--corpus", type=Path, default=os.environ.get("CANTILEVER_CORPUS"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passes", type=int, default=10, help="over all captions, in each round")
    parser.add_argument("--least", type=float, default=1.0, help="smallest ratio that passes")
    args = parser.parse_args()
    if args.corpus is None:
        parser.error("give --corpus or set CANTILEVER_CORPUS")
    with open(Path(args.corpus) / "captions/captions.jsonl", encoding="utf-8") as lines:
        texts = [json.loads(line)["caption"] for line in lines]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_reference(folder, *read_vocabulary(Path(args.corpus) / "roberta"))
        reference = Tokenizer.from_file(str(folder / "tokenizer.json"))
        calls = {
            "encode": lambda: [reference.encode(text).ids for text in texts],
            "encode_batch": lambda: [encoding.ids for encoding in reference.encode_batch(texts)],
            "encode_batch_fast": lambda: [encoding.ids for encoding in reference.encode_batch_fast(texts)],
        }
        ours, first, theirs = [], [], {name: [] for name in calls}
        for _ in range(args.rounds):
            seconds = time_ours(shlex.split(args.command), folder, texts, args.passes)
            first.append(seconds[0])
            ours += seconds
            for name, call in calls.items():
                theirs[name] += time_theirs(call, args.passes)
    count = len(texts)
    median = statistics.median(ours)
    print(f"{count} captions, {args.rounds} rounds of {args.passes} passes, one thread, tokenizers {tokenizers.__version__}")
    print(f"ours: {count / median:,.0f} captions/s (first pass of a process, empty caches: {count / statistics.median(first):,.0f})")
    for name, seconds in theirs.items():
        print(f"tokenizers {name}: {count / statistics.median(seconds):,.0f} captions/s")
    ratio = min(statistics.median(seconds) for seconds in theirs.values()) / median
    print(f"ratio to the library's fastest call: {ratio:.2f}")
    return 0 if ratio >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
