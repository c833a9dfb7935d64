"""Say what the demo learned: losses before and after, retrieval against chance, where the files are.

    python3 tools/demo/report.py out/demo

Exits with 1 when text-to-image R@5 on the held-back pairs is below five times chance: then the demo has
not shown what it promises.
"""

import json
import sys
from pathlib import Path

PROMISED = 5.0


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def recall_rows(before: dict, after: dict):
    for direction in ("text_to_image", "image_to_text"):
        for k in (1, 5, 10):
            key, chance = f"recall_at_{k}", after[direction][f"chance_at_{k}"]
            yield (f"{direction.replace('_', ' ')} R@{k}", before[direction][key],
                   after[direction][key], chance)


def main() -> None:
    folder = Path(sys.argv[1])
    before = read(folder / "before" / "search" / "search_results.json")
    after = read(folder / "search" / "search_results.json")
    train = read(folder / "trained" / "train_results.json")
    loss_before = read(folder / "before" / "validation_results.json")["eval_loss"]
    loss_after = read(folder / "trained" / "validation_results.json")["eval_loss"]

    print(f"\n{after['rows']} held-back pairs, no variant of them seen in training; "
          f"{train['train_runtime']:.0f} s of training at "
          f"{train['train_samples_per_second']:.0f} pairs/s\n")
    print(f"{'':24}{'before':>9}{'after':>9}{'chance':>9}{'after / chance':>17}")
    print(f"{'validation loss':24}{loss_before:9.3f}{loss_after:9.3f}")
    for name, first, last, chance in recall_rows(before, after):
        print(f"{name:24}{100 * first:8.1f}%{100 * last:8.1f}%{100 * chance:8.1f}%"
              f"{last / chance:16.1f}x")
    side = after["text_to_image"]
    print(f"{'text to image, rank':24}{before['text_to_image']['median_rank']:9.0f}"
          f"{side['median_rank']:9.0f}{side['gallery'] / 2:9.0f}   (median of {side['gallery']})")

    print("\nFiles:")
    for path, what in ((folder / "search" / "contact_sheet.png", "best five pictures a caption"),
                       (folder / "loss.png", "loss curve"),
                       (folder / "trained", "the trained model and its result files"),
                       (folder / "emoji" / "data", "the set, as Parquet")):
        print(f"  {path}  {what}")

    times = side["recall_at_5"] / side["chance_at_5"]
    if times < PROMISED:
        sys.exit(f"text to image R@5 is {times:.1f} times chance, below the {PROMISED:.0f} that the "
                 "demo promises: something is wrong with the training")


if __name__ == "__main__":
    main()
