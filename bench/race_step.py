"""Race Cantilever's training step against Transformers': pairs of runs, one after the other, in turn.

    python3 bench/race_step.py --python .deps/python/bin/python --pairs 5 -- --size base --batch 4 \\
        --text-length 128 --caption-tokens 128 --threads 2

Arguments after -- go to both programs (bench_step and tools/reference/race.py). A pair is one process
of each; which goes first alternates. The ratio is Transformers' median step divided by ours, so above
1 means faster. Appends one row (JSON line) with every pair to bench/rows/step.jsonl.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def run(command: list[str]) -> dict:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr[-2000:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--python", default=str(ROOT / ".deps" / "python" / "bin" / "python"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--malloc-tuned", action="store_true", help="give the peer tuned malloc")
    parser.add_argument("--rows", type=Path, default=ROOT / "bench" / "rows" / "step.jsonl")
    parser.add_argument("shared", nargs="*", help="after --: arguments for both programs")
    args = parser.parse_args()

    ours = [str(args.build / "bench" / "bench_step"), *args.shared]
    peer = [args.python, str(ROOT / "tools" / "reference" / "race.py"), *args.shared]
    if args.malloc_tuned:
        peer.append("--malloc-tuned")
    pairs = []
    for number in range(args.pairs):
        order = ("ours", "peer") if number % 2 == 0 else ("peer", "ours")
        pair = {name: run(ours if name == "ours" else peer) for name in order}
        ratio = pair["peer"]["step_seconds_median"] / pair["ours"]["step_seconds_median"]
        pairs.append({"ratio": ratio, **pair})
        print(f"pair {number + 1}: ours {pair['ours']['step_seconds_median']:.3f} s, Transformers "
              f"{pair['peer']['step_seconds_median']:.3f} s, ratio {ratio:.3f}", flush=True)

    ratios = sorted(pair["ratio"] for pair in pairs)
    memory = [pair["ours"]["peak_rss_bytes"] / pair["peer"]["peak_rss_bytes"] for pair in pairs]
    row = {
        "what": "training step against Transformers eager",
        "command": "bench/race_step.py " + " ".join(sys.argv[1:]).replace(args.python, "PYTHON"),
        "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(), "cores": os.cpu_count(),
        "ratio_median": statistics.median(ratios), "ratio_min": ratios[0], "ratio_max": ratios[-1],
        "peak_memory_ratio_median": statistics.median(memory), "pairs": pairs,
    }
    args.rows.parent.mkdir(parents=True, exist_ok=True)
    with args.rows.open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(row) + "\n")
    print(f"ratio: median {row['ratio_median']:.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}; "
          f"peak memory {row['peak_memory_ratio_median']:.2f} of Transformers'")


if __name__ == "__main__":
    main()
