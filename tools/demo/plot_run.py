"""Draw the loss curve of a run: trainer_state.json to a PNG.

    python3 tools/demo/plot_run.py RUN_FOLDER OUT.png
"""

import argparse
import json
import math
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 960, 540
LEFT, RIGHT, TOP, BOTTOM = 80, 30, 56, 64
INK, GRID = (40, 40, 40), (225, 225, 225)
SERIES = {"loss": ("training loss", (31, 119, 180)), "eval_loss": ("validation loss", (214, 39, 40))}
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
SCALE = 2  # drawn larger and reduced: smooth lines without a drawing library


def font(size: int):
    if FONT.is_file():
        return ImageFont.truetype(str(FONT), size * SCALE)
    return ImageFont.load_default()


def read_series(state: dict) -> dict[str, list[tuple[float, float]]]:
    series = {key: [(entry["step"], entry[key]) for entry in state["log_history"]
                    if isinstance(entry.get(key), (int, float)) and math.isfinite(entry[key])]
              for key in SERIES}
    return {key: points for key, points in series.items() if points}


def round_step(span: float, parts: int) -> float:
    """A distance of 1, 2 or 5 times a power of ten that cuts span into about `parts`."""
    if span <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(span / parts))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * parts >= span)


def ticks(low: float, high: float, parts: int) -> list[float]:
    step = round_step(high - low, parts)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


class Plot:
    def __init__(self, x_range, y_range):
        self.image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), (255, 255, 255))
        self.draw = ImageDraw.Draw(self.image)
        self.x_range, self.y_range = x_range, y_range

    def place(self, x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = self.x_range, self.y_range
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        return ((LEFT + (x - x0) / (x1 - x0) * (right - LEFT)) * SCALE,
                (bottom - (y - y0) / (y1 - y0) * (bottom - TOP)) * SCALE)

    def text(self, x, y, text, size=13, anchor="mm", fill=INK):
        self.draw.text((x * SCALE, y * SCALE), text, fill, font(size), anchor=anchor)

    def axes(self, x_label: str):
        for y in ticks(*self.y_range, 6):
            (x0, at), (x1, _) = self.place(self.x_range[0], y), self.place(self.x_range[1], y)
            self.draw.line((x0, at, x1, at), GRID, SCALE)
            self.text(LEFT - 8, at / SCALE, f"{y:g}", anchor="rm")
        for x in ticks(*self.x_range, 8):
            at, bottom = self.place(x, self.y_range[0])
            self.draw.line((at, bottom, at, bottom + 5 * SCALE), INK, SCALE)
            self.text(at / SCALE, bottom / SCALE + 16, f"{x:g}")
        corner, right = self.place(self.x_range[0], self.y_range[0]), self.place(
            self.x_range[1], self.y_range[0])
        self.draw.line((*corner, *right), INK, SCALE)
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20, x_label)

    def line(self, points, colour, dots: bool):
        placed = [self.place(x, y) for x, y in points]
        if len(placed) > 1:
            self.draw.line([value for point in placed for value in point], colour, 2 * SCALE,
                           joint="curve")
        if dots or len(placed) == 1:
            for x, y in placed:
                radius = 4 * SCALE
                self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), colour)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    state_path = args.run / "trainer_state.json"
    if not state_path.is_file():
        sys.exit(f"{state_path} is missing: is {args.run} the --output_dir of a finished run?")
    series = read_series(json.loads(state_path.read_text(encoding="utf-8")))
    if "loss" not in series:
        sys.exit(f"{state_path} has no logged loss; was --logging_steps larger than the run?")
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    high = max(ys) * 1.05 or 1.0
    plot = Plot((0, max(xs)), (0, high))
    plot.axes("optimiser step")
    plot.text(LEFT, 26, "Contrastive loss", 17, "lm")
    at = WIDTH - RIGHT
    for key, points in series.items():
        label, colour = SERIES[key]
        plot.line(points, colour, dots=key == "eval_loss")
        plot.text(at, 26, label, 13, "rm", colour)
        at -= 150
    plot.image.resize((WIDTH, HEIGHT), Image.LANCZOS).save(args.out)
    print(f"{args.out}: {len(series['loss'])} logged steps")


if __name__ == "__main__":
    main()
