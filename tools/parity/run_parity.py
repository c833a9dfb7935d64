"""Equal runs: the same training by train_reference.py (Transformers) and by the build, compared.

    CANTILEVER_CORPUS=DIR python tools/parity/run_parity.py --build build/release [--full] [--cases plain,paths]

Tiny and small checkpoints with --jitter, dropout 0, rows of the corpus' captions as Parquet (once with an Image
feature, once as plain {bytes, path}) and as jsonl with paths. Each case runs both programs with the same flags and
compares the output folders with compare_runs.py's limits: with Parquet everything (losses, gradient norms, learning
rates, results, weights), with paths what is logged (there the bytes of the resize differ already, see
tools/reference/README.md). The first case also compares the files: keys, order of samples, tensors of the first step,
and that Transformers loads what was saved and evaluates it to the same loss. Exit status 1 when anything differs or nothing ran.
"""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "tools" / "reference"
sys.path.insert(0, str(REFERENCE))

TRAIN, VALIDATION, TEST, BATCH = 76, 21, 13, 8  # 10 batches an epoch, the last of 4
KINDS = ("image", "plain", "paths")


@dataclass
class Case:
    """One training, told to both programs."""

    what: str
    size: str = "tiny"
    kind: str = "image"
    steps: int = 12
    rate: float = 1e-4
    flags: list = field(default_factory=list)
    resume_at: int = 0
    files: bool = False

    @property
    def name(self):
        return f"{self.what}-{self.size}-{self.kind}-{self.steps}"


# Windows of 3, 3, 3 and 1 batches; the rate starts at 0.
ACCUMULATION = ["--gradient_accumulation_steps", "3", "--warmup_steps", "3", "--weight_decay", "0.1"]
FROZEN = ["--freeze_vision_model", "True", "--weight_decay", "0.1"]
COSINE = ["--lr_scheduler_type", "cosine", "--warmup_steps", "0.2"]
POLYNOMIAL = ["--lr_scheduler_type", "polynomial", "--lr_scheduler_kwargs", '{"power": 2.0, "lr_end": 1e-6}']
RESTARTS = ["--lr_scheduler_type", "cosine_with_restarts", "--lr_scheduler_kwargs", '{"num_cycles": 2}']
# The pooler is in both models and reached by no loss: weight decay must leave it alone.
POOLER = ["--freeze_text_pooler", "False", "--freeze_text_model", "True", "--weight_decay", "0.1"]
SEEDS = ["--seed", "7", "--data_seed", "11", "--dataloader_drop_last", "True", "--logging_steps", "2",
         "--eval_strategy", "epoch", "--max_grad_norm", "0.5", "--adam_beta2", "0.98"]  # fmt: skip

SHORT = [
    Case("plain", files=True),
    Case("accumulation", kind="plain", flags=ACCUMULATION),
    Case("frozen", flags=FROZEN),
    Case("resume", kind="plain", resume_at=5),
    Case("schedule", steps=40, rate=1e-5, flags=COSINE),
    Case("plain", size="small", kind="plain"),
    Case("plain", kind="paths"),
]


def full_cases():
    cases = []
    for size in ("tiny", "small"):
        for i, (what, flags, resume_at) in enumerate((("plain", [], 0), ("accumulation", ACCUMULATION, 0),
                                                      ("frozen", FROZEN, 0), ("resume", [], 5),
                                                      ("schedule", COSINE, 0))):  # fmt: skip
            for steps, rate, shift in ((12, 1e-4, 0), (40, 1e-5, 1)):
                kind = KINDS[(i + shift) % 2]
                cases.append(Case(what, size, kind, steps, rate, flags, resume_at, files=what == "plain"))
            cases.append(Case(what, size, "paths", 12, 1e-4, flags, resume_at))
    cases.append(Case("resume-accumulation", kind="image", flags=ACCUMULATION, resume_at=6))
    cases.append(Case("polynomial", kind="plain", flags=POLYNOMIAL))
    cases.append(Case("restarts", flags=RESTARTS))
    cases.append(Case("pooler", flags=POOLER))
    cases.append(Case("seeds", kind="image", flags=SEEDS))
    return cases


def rgb_rows(corpus: Path, count: int):
    """Rows spread over the captions whose pictures are stored as RGB: Image features hand other modes on as they are,
    and the reference fails on four channels."""
    from PIL import Image

    lines = [json.loads(line) for line in (corpus / "captions.jsonl").read_text(encoding="utf-8").splitlines()]
    rows, seen = [], set()
    for line in lines[:: max(1, len(lines) // (6 * count))] + lines:
        path = line["image_path"]
        if path in seen:
            continue
        seen.add(path)
        with Image.open(corpus / path) as picture:
            if picture.mode == "RGB" and "exif" not in picture.info:
                rows.append({"image_path": path, "caption": line["caption"]})
        if len(rows) == count:
            return rows
    sys.exit(f"{corpus}: fewer than {count} RGB pictures")


def write_sets(corpus: Path, work: Path):
    """The same rows three times; a folder each, with train, validation and test."""
    import datasets
    import pyarrow
    import pyarrow.parquet

    rows = rgb_rows(corpus, TRAIN + VALIDATION + TEST)
    splits = {"train": rows[:TRAIN], "validation": rows[TRAIN : TRAIN + VALIDATION], "test": rows[TRAIN + VALIDATION :]}
    for kind in KINDS:
        (work / kind).mkdir()
    for split, part in splits.items():
        paths, captions = [str(corpus / row["image_path"]) for row in part], [row["caption"] for row in part]
        cells = [{"bytes": Path(path).read_bytes(), "path": Path(path).name} for path in paths]
        features = datasets.Features({"image": datasets.Image(), "caption": datasets.Value("string")})
        feature = datasets.Dataset.from_dict({"image": cells, "caption": captions}, features=features)
        feature.to_parquet(work / "image" / f"{split}.parquet")
        table = pyarrow.table({"image": cells, "caption": captions})
        pyarrow.parquet.write_table(table, work / "plain" / f"{split}.parquet")
        text = "".join(json.dumps(row) + "\n" for row in part)
        (work / "paths" / f"{split}.jsonl").write_text(text, encoding="utf-8")


def call(command, log: Path):
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run([str(part) for part in command], stdout=out, stderr=subprocess.STDOUT, cwd=REFERENCE,
                              check=False, stdin=subprocess.DEVNULL)  # fmt: skip
    if done.returncode != 0:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        raise RuntimeError(f"exit status {done.returncode} of {Path(str(command[1])).name}\n{tail}")


def flags_of(case: Case, corpus: Path, work: Path, output: Path):
    data = work / case.kind
    flags = ["--model_name_or_path", work / case.size, "--output_dir", output]
    if case.kind == "paths":
        flags += ["--train_file", data / "train.jsonl", "--validation_file", data / "validation.jsonl",
                  "--test_file", data / "test.jsonl", "--image_root", corpus]  # fmt: skip
    else:
        flags += ["--dataset_name", data, "--image_column", "image"]
    flags += ["--do_train", "--do_eval", "--do_predict", "--max_seq_length", 32, "--per_device_train_batch_size", BATCH,
              "--per_device_eval_batch_size", BATCH, "--max_steps", case.steps, "--learning_rate", case.rate,
              "--threads", 1]  # fmt: skip
    if "--logging_steps" not in case.flags:
        flags += ["--logging_steps", 1]
    flags += case.flags
    flags += ["--save_steps", case.resume_at] if case.resume_at else ["--save_strategy", "no"]
    return flags


def train_both(case: Case, program: Path, corpus: Path, work: Path):
    """Folders of the two finished runs."""
    folders = []
    for who, command in (("theirs", [sys.executable, "train_reference.py"]), ("ours", [program, "train"])):
        output = work / f"{case.name}-{who}"
        flags = flags_of(case, corpus, work, output)
        if case.files:
            flags += ["--dump_sample_order", "--dump_step_tensors", work / f"{case.name}-{who}-dump"]
        call([*command, *flags], Path(f"{output}.log"))
        if case.resume_at:
            start, output = output / f"checkpoint-{case.resume_at}", work / f"{case.name}-{who}-resumed"
            flags = flags_of(case, corpus, work, output) + ["--resume_from_checkpoint", start]
            call([*command, *flags], Path(f"{output}.log"))
        folders.append(output)
    return folders


def compare_folders(case: Case, theirs: Path, ours: Path, start: Path):
    """compare_runs.py's table; with paths only what is logged."""
    import compare_runs

    limits = argparse.Namespace(rtol=2e-5, grad_rtol=5e-4, lr_rtol=1e-12, atol=1e-5, lr_share=0.25, update_rtol=5e-4,
                                start=start, verbose=False)  # fmt: skip
    table = compare_runs.Table()
    compare_runs.compare_logs(table, theirs, ours, limits)
    if case.kind != "paths":
        compare_runs.compare_results(table, theirs, ours, limits)
        compare_runs.compare_weights(table, theirs, ours, limits)
    return table


def read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def shape_of(value):
    """A JSON value with its keys and without its numbers."""
    if isinstance(value, dict):
        return {key: shape_of(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [shape_of(inner) for inner in value]
    return type(value).__name__ if isinstance(value, float) else value


def compare_files(case: Case, theirs: Path, ours: Path, work: Path):
    """What is wrong with our files, one line each."""
    import transformers
    from transformers import AutoImageProcessor, AutoTokenizer, BridgeTowerForContrastiveLearning

    problems = []
    for name in ("train_results", "validation_results", "test_results", "all_results", "trainer_state"):
        left, right = (shape_of(read(folder / f"{name}.json")) for folder in (theirs, ours))
        if left != right:
            problems.append(f"{name}.json has other keys or types: {left} / {right}")
    for name in ("sample_order.json", "config.json", "preprocessor_config.json"):
        if read(theirs / name) != read(ours / name):
            problems.append(f"{name} differs")
    dumps = [work / f"{case.name}-{who}-dump" / "first_step.safetensors" for who in ("theirs", "ours")]
    done = subprocess.run([sys.executable, "compare_tensors.py", *map(str, dumps)], cwd=REFERENCE, check=False,
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode != 0:
        problems.append(f"tensors of the first step:\n{done.stdout}{done.stderr}")
    transformers.logging.set_verbosity_error()  # the missing text pooler is expected
    with contextlib.redirect_stderr(io.StringIO()):
        _, notes = BridgeTowerForContrastiveLearning.from_pretrained(ours, output_loading_info=True)
        pieces = [AutoTokenizer.from_pretrained(folder) for folder in (theirs, ours)]
        means = [AutoImageProcessor.from_pretrained(folder).image_mean for folder in (theirs, ours)]
    missing = [name for name in notes["missing_keys"] if "text_model.pooler." not in name]
    if missing or notes["unexpected_keys"] or notes["mismatched_keys"]:
        problems.append(f"Transformers loads the saved model with notes: {notes}")
    text = "A caption, with <mask> and émoji 🙂 " + "long " * 60
    if pieces[0](text)["input_ids"] != pieces[1](text)["input_ids"] or means[0] != means[1]:
        problems.append("the saved tokenizer or image processor differs")
    return problems + evaluate_saved(ours, work)


def evaluate_saved(ours: Path, work: Path):
    """Transformers loads model, tokenizer and image processor that we saved and evaluates them: as we did?"""
    output = work / "evaluated-by-theirs"
    call([sys.executable, "train_reference.py", "--model_name_or_path", ours, "--output_dir", output, "--dataset_name",
          work / "image", "--image_column", "image", "--do_eval", "--max_seq_length", 32,
          "--per_device_eval_batch_size", BATCH, "--threads", 1], Path(f"{output}.log"))  # fmt: skip
    left, right = (read(folder / "validation_results.json")["eval_loss"] for folder in (output, ours))
    if not abs(left - right) <= 2e-5 * abs(left):
        return [f"Transformers evaluates the saved folder to {left}, we to {right}"]
    return []


def largest(table, what):
    return next((row[4] for row in table.rows if row[0] == what and row[4]), "-")


def run_case(case: Case, program: Path, corpus: Path, work: Path):
    started = time.monotonic()
    try:
        theirs, ours = train_both(case, program, corpus, work)
        table = compare_folders(case, theirs, ours, work / case.size)
        problems = [" ".join(row) for row in table.rows if row[6] == "FAIL"]
        if case.files:
            problems += compare_files(case, theirs, ours, work)
    except RuntimeError as problem:
        table, problems = None, [str(problem)]
    numbers = [largest(table, what) if table else "-" for what in
               ("log loss", "log grad_norm", "log learning_rate", "eval_loss", "test_loss", "weights: apart / moved")]
    row = [case.what, case.size, case.kind, str(case.steps), f"{case.rate:g}", *numbers,
           "EQUAL" if not problems else "DIFFERENT"]  # fmt: skip
    for problem in problems:
        print(f"{case.name}: {problem}")
    print(f"{case.name}: {row[-1]}, {time.monotonic() - started:.0f} s", flush=True)
    return row


def print_table(rows):
    head = ["case", "size", "data", "steps", "lr", "loss", "grad norm", "rate", "eval", "test", "apart/moved", ""]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--full", action="store_true", help="every case for both sizes, both lengths and paths")
    parser.add_argument("--cases", help="only those whose name starts so: plain,resume-tiny")
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    args = parser.parse_args()
    program = args.build.resolve() / "cantilever"
    corpus = os.environ.get("CANTILEVER_CORPUS")
    if not corpus:
        sys.exit("CANTILEVER_CORPUS is not set: the rows come from its captions")
    if not program.exists():
        sys.exit(f"{program} is missing: build the target cantilever")
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                      HF_DATASETS_DISABLE_PROGRESS_BARS="1")  # fmt: skip
    cases = full_cases() if args.full else SHORT
    if args.cases:
        cases = [case for case in cases if case.name.startswith(tuple(args.cases.split(",")))]
    with tempfile.TemporaryDirectory() as scratch:
        work = (args.keep or Path(scratch)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        os.environ["HF_DATASETS_CACHE"] = str(work / "cache")
        captions = Path(corpus).resolve() / "captions"
        write_sets(captions, work)
        for size in sorted({case.size for case in cases}):
            call([sys.executable, "make_checkpoint.py", work / size, "--size", size, "--captions",
                  captions / "captions.jsonl", "--jitter", "0.02"], work / f"{size}.log")  # fmt: skip
        rows = [run_case(case, program, captions, work) for case in cases]
    print("\nlargest relative differences, theirs and ours:")
    print_table(rows)
    equal = sum(row[-1] == "EQUAL" for row in rows)
    print(f"{equal} of {len(rows)} runs EQUAL")
    return 0 if rows and equal == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
