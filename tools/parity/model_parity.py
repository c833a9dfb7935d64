"""Compare model, gradients and AdamW steps with Transformers, live.

    python tools/parity/model_parity.py --build build/release [--no-base] [--cases tiny,interpolate]

For each case: make a checkpoint (tools/reference/make_checkpoint.py), let Transformers and the build's
model_golden compute one pass, all gradients and AdamW steps from it, compare by name
(compare_tensors.py); then load the folder that model_golden saved in Transformers and compare it with the
original, weights and config.json. Pictures and captions are synthetic. Exit status 1 when anything
differs. The last case is base geometry with batch 2 (7 GB of memory, some minutes); --no-base leaves it out.
"""

import argparse
import contextlib
import io
import json
import os
import random
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "tools" / "reference"

# Name: options of make_checkpoint.py, rows, AdamW steps, learning rate.
CASES = {
    "add": (["--size", "tiny"], 4, 10, 1e-4),
    "scaled_add": (["--size", "tiny", "--set", "link_tower_type=scaled_add"], 4, 10, 1e-4),
    "interpolate": (["--size", "tiny", "--set", "link_tower_type=interpolate"], 4, 10, 1e-4),
    "heads-8": (["--size", "tiny", "--set", "text_config.num_attention_heads=8"], 4, 3, 1e-3),
    "wide-heads": (["--size", "tiny", "--set", "hidden_size=96", "--set", "text_config.hidden_size=96",
                    "--set", "vision_config.hidden_size=96", "--set", "text_config.num_attention_heads=2"],
                   3, 3, 1e-3),
    "deep": (["--size", "tiny", "--set", "text_config.num_hidden_layers=4", "--set",
              "vision_config.num_hidden_layers=5", "--set", "num_hidden_layers=3"], 3, 3, 1e-3),
    "odd-side": (["--size", "tiny", "--set", "vision_config.image_size=70", "--set",
                  "vision_config.share_layernorm=false", "--set", "num_hidden_layers=1"], 3, 3, 1e-3),
    "activations": (["--size", "tiny", "--set", "text_config.hidden_act=quick_gelu"], 3, 3, 1e-3),
    "small": (["--size", "small"], 4, 10, 1e-4),
}  # fmt: skip
# A fresh model of this depth with the library's deviation of 0.05 makes all tokens nearly equal: the gradients of
# its query weights are 1e-9 of the largest gradient, rounding noise in any program. 0.02 leaves 1e-4.
BASE = {"base": (["--size", "base", "--vocab-size", "2000", "--set", "initializer_factor=0.4", "--set",
                  "text_config.initializer_factor=0.4"], 2, 2, 1e-5)}


def write_pairs(folder: Path, count: int) -> Path:
    """Pictures that differ much from each other, so that the loss is well conditioned, and captions of many
    lengths."""
    from PIL import Image, ImageDraw

    draw = random.Random(3)
    words = [a + b for a in "bcdfglmnprst" for b in ("a", "e", "ion", "o", "un", "ip")]
    lines = []
    for i in range(count):
        side = draw.randrange(80, 400)
        picture = Image.new("RGB", (side + 17 * i, side), tuple(draw.randrange(256) for _ in range(3)))
        pen = ImageDraw.Draw(picture)
        for _ in range(3 + 4 * (i % 5)):
            box = sorted(draw.randrange(side) for _ in range(2)), sorted(draw.randrange(side) for _ in range(2))
            pen.ellipse((box[0][0], box[1][0], box[0][1], box[1][1]), fill=tuple(draw.randrange(256) for _ in range(3)))
        picture.save(folder / f"{i}.png")
        lines.append({"image_path": f"{i}.png", "caption": " ".join(draw.choices(words, k=1 + 5 * (i % 4)))})
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def run_script(name: str, *arguments) -> tuple[int, str]:
    """A script of tools/reference in this process, which has torch and transformers loaded already."""
    output = io.StringIO()
    before = sys.argv
    sys.argv = [name, *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(str(REFERENCE / name), run_name="__main__")
        status = 0
    except SystemExit as end:
        status = int(end.code or 0) if not isinstance(end.code, str) else 1
    finally:
        sys.argv = before
    return status, output.getvalue()


def run_program(*command) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def check_saved(checkpoint: Path, saved: Path) -> list[str]:
    """What Transformers finds different between a folder and the one that was written from it."""
    import torch
    from transformers import BridgeTowerForContrastiveLearning as Model

    ours, notes = Model.from_pretrained(saved, output_loading_info=True)
    theirs = Model.from_pretrained(checkpoint)
    problems = []
    left = {name for name in notes["missing_keys"] if ".pooler." not in name or "text_model" not in name}
    if left or notes["unexpected_keys"] or notes["mismatched_keys"]:
        problems.append(f"loading notes: {notes}")
    expected = theirs.state_dict()
    for name, value in ours.state_dict().items():
        if "text_model.pooler" not in name and not torch.equal(value, expected[name]):
            problems.append(f"{name} differs")
    with tempfile.TemporaryDirectory() as again:
        theirs.save_pretrained(again)
        if (Path(again) / "config.json").read_bytes() != (saved / "config.json").read_bytes():
            problems.append("config.json is not the one that save_pretrained writes")
    return problems


def compare(name: str, program: Path, pairs: Path, scratch: Path, case) -> bool:
    options, rows, steps, rate = case
    started = time.monotonic()
    checkpoint, golden = scratch / name, scratch / f"{name}-theirs.safetensors"
    ours, saved = scratch / f"{name}-ours.safetensors", scratch / f"{name}-saved"
    run_script("make_checkpoint.py", checkpoint, "--captions", pairs, "--jitter", 0.02, *options)
    parts = "input,output,hidden,gradient,training"
    large = name == "base"  # its parameters alone would double 2.6 GB of files
    run_script("dump_golden.py", checkpoint, "--pairs", pairs, "--image-root", pairs.parent, "--rows", f"0:{rows}",
               "--steps", steps, "--learning-rate", rate, "--out", golden, "--parts",
               parts if large else parts + ",parameter")  # fmt: skip
    run_program(program, checkpoint, golden, ours, "--steps", steps, "--learning-rate", rate, "--save", saved,
                *(["--no-parameters"] if large else []))  # fmt: skip
    status, table = run_script("compare_tensors.py", golden, ours, "--start", checkpoint)
    print(f"== {name}: {rows} pairs, {steps} AdamW steps at {rate:g}")
    print(table, end="")
    problems = check_saved(checkpoint, saved)
    for problem in problems:
        print(f"saved folder: {problem}")
    if not problems:
        print("saved folder: loads in Transformers, weights and config.json equal")
    print(f"{time.monotonic() - started:.1f} s", flush=True)
    for path in (golden, ours):
        path.unlink()
    return status == 0 and not problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--no-base", action="store_true", help="without base geometry")
    parser.add_argument("--cases", default=",".join(CASES))
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(REFERENCE))
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    program = args.build.resolve() / "tests" / "model_golden"
    if not program.exists():
        sys.exit(f"{program} is missing: build the target model_golden")
    cases = {name: CASES[name] for name in args.cases.split(",") if name}
    if not args.no_base:
        cases |= BASE
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        pairs = write_pairs(scratch, 60)
        different = [name for name, case in cases.items() if not compare(name, program, pairs, scratch, case)]
    print(f"{len(cases)} cases, different: {', '.join(different)}" if different else f"{len(cases)} cases EQUAL")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
