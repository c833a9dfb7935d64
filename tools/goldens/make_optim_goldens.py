"""Write tests/optim/goldens: learning rates of Transformers' schedules and the parameters that it decays.

    python tools/goldens/make_optim_goldens.py tests/optim/goldens
"""

import json
import sys
from pathlib import Path

import torch
from transformers import BridgeTowerForContrastiveLearning, Trainer
from transformers.optimization import get_scheduler

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
from make_checkpoint import make_config  # noqa: E402

# Type, learning rate, warm-up, total steps, --lr_scheduler_kwargs.
SCHEDULES = [
    ("linear", 5e-5, 0, 10, {}), ("linear", 1e-4, 3, 10, {}), ("linear", 3e-4, 7, 7, {}), ("linear", 1e-5, 12, 7, {}),
    ("constant", 1e-5, 3, 10, {}), ("constant_with_warmup", 1e-5, 4, 10, {}), ("constant_with_warmup", 1e-5, 0, 3, {}),
    ("cosine", 5e-5, 0, 10, {}), ("cosine", 1e-4, 3, 23, {}), ("cosine", 1e-4, 3, 23, {"num_cycles": 1.25}),
    ("cosine_with_restarts", 1e-4, 2, 20, {}), ("cosine_with_restarts", 1e-4, 2, 20, {"num_cycles": 3}),
    ("polynomial", 1e-4, 2, 20, {}), ("polynomial", 1e-4, 0, 15, {"power": 2.5, "lr_end": 1e-6}),
    ("inverse_sqrt", 1e-4, 5, 20, {}), ("inverse_sqrt", 1e-4, 0, 20, {}), ("inverse_sqrt", 1e-4, 5, 20, {"timescale": 9}),
    ("cosine_with_min_lr", 1e-4, 2, 20, {"min_lr": 1e-5}), ("cosine_with_min_lr", 1e-4, 0, 9, {"min_lr_rate": 0.3}),
    ("cosine_with_min_lr", 1e-4, 1, 9, {"min_lr_rate": 0.1, "num_cycles": 1.5}),
    ("cosine_warmup_with_min_lr", 1e-4, 4, 20, {"min_lr": 1e-5}),
    ("cosine_warmup_with_min_lr", 1e-4, 4, 20, {"min_lr_rate": 0.2, "warmup_lr_rate": 0.05}),
    ("cosine_warmup_with_min_lr", 1e-4, 1, 20, {"min_lr_rate": 0.2, "warmup_lr_rate": 0.05}),
    ("warmup_stable_decay", 1e-4, 3, 20, {"num_decay_steps": 6}),
    ("warmup_stable_decay", 1e-4, 3, 20, {"num_decay_steps": 6, "warmup_type": "cosine", "decay_type": "linear",
                                          "min_lr_ratio": 0.1}),
    ("warmup_stable_decay", 1e-4, 3, 20, {"num_decay_steps": 5, "num_stable_steps": 4, "warmup_type": "1-sqrt",
                                          "decay_type": "1-sqrt", "min_lr_ratio": 0.05}),
    ("warmup_stable_decay", 1e-4, 0, 20, {"num_decay_steps": 8, "num_cycles": 1.5}),
]  # fmt: skip


def rates(kind: str, rate: float, warmup: int, total: int, kwargs: dict) -> list[float]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    schedule = get_scheduler(kind, optimizer, warmup, total, kwargs)
    result = []
    for _ in range(total + 4):
        result.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return result


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rows = [{"type": kind, "learning_rate": rate, "warmup_steps": warmup, "total_steps": total, "kwargs": kwargs,
             "rates": rates(kind, rate, warmup, total, kwargs)}
            for kind, rate, warmup, total, kwargs in SCHEDULES]  # fmt: skip
    (out / "schedules.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")

    names = {}
    for link in ("scaled_add", "interpolate"):
        model = BridgeTowerForContrastiveLearning(make_config("tiny", 50, 0.0, [
            f"link_tower_type={link}", "vision_config.share_layernorm=false"]))  # fmt: skip
        decayed = set(Trainer.get_decay_parameter_names(None, model))
        names.update((name, name in decayed) for name, _ in model.named_parameters())
    (out / "decayed.json").write_text(json.dumps(names, indent=0) + "\n")
    print(f"{len(rows)} schedules, {len(names)} parameters, {sum(names.values())} decayed")


if __name__ == "__main__":
    main()
