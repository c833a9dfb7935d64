"""Race `cantilever bench loader` against the Python input pipelines on a folder of pictures.

    python3 bench/race_loader.py --python .deps/race/bin/python -- --pictures FOLDER --rounds 7 \\
        --only 'hf-script,sj-*,tv-u8,decode-sj'

Arguments after -- go to tools/reference/loaders/race_loaders.py, which runs all contestants in
interleaved rounds, compares their pixels, and says in its README what each column means and which
packages the peers need. Appends one row (JSON line) with all contestants to bench/rows/loader.jsonl.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RACE = ROOT / "tools" / "reference" / "loaders" / "race_loaders.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "cantilever")
    parser.add_argument("--python", default=str(ROOT / ".deps" / "race" / "bin" / "python"))
    parser.add_argument("--name", default="", help="what the pictures are, for the row")
    parser.add_argument("--rows", type=Path, default=ROOT / "bench" / "rows" / "loader.jsonl")
    parser.add_argument("race", nargs="+", help="after --: arguments of the race")
    args = parser.parse_args()

    only = args.race.index("--only") + 1 if "--only" in args.race else None
    race = [part + ",cantilever" if i == only else part for i, part in enumerate(args.race)]
    ours = f"cantilever={args.program.resolve()} bench loader --threads $RACE_THREADS"
    result = subprocess.run([args.python, str(RACE), "race", *race, "--extra", ours],
                            stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"the race failed with exit status {result.returncode}")
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    machine = next(row for row in rows if row["row"] == "machine")
    # What the machine's folders are called is nobody's business.
    machine["pictures"] = args.name or machine.get("pictures")
    settings = [part for i, part in enumerate(args.race)
                if part != "--pictures" and not Path(part).exists()]
    row = {"what": f"input pipelines, {args.name}".rstrip(", "), "date": time.strftime("%Y-%m-%d"),
           "command": "bench/race_loader.py -- --pictures FOLDER " + " ".join(settings),
           "machine": machine, "contestants": [row for row in rows if row["row"] == "loader"]}
    args.rows.parent.mkdir(parents=True, exist_ok=True)
    with args.rows.open("a", encoding="utf-8") as stored:
        stored.write(json.dumps(row) + "\n")
    for entry in row["contestants"]:
        if entry["name"] == "cantilever" and "error" not in entry:
            print(f"cantilever, {entry['threads']} threads: {entry['of_decode']:.2f} of decoding alone "
                  f"(median {entry['of_decode_median']:.2f}), {entry['x_hf']:.2f} times the reference "
                  f"(median {entry['x_hf_median']:.2f}), {entry['cpu_ms_per_image']:.3f} ms of CPU a "
                  f"picture, pixels differ by at most {entry.get('max_diff')} levels")


if __name__ == "__main__":
    main()
