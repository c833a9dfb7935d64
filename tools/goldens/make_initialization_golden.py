"""Write tests/golden/model/initialization.json: mean and standard deviation of every parameter of a fresh model.

    python tools/goldens/make_initialization_golden.py tests/golden/model/initialization.json
"""

import json
import sys
from pathlib import Path

import torch
from transformers import BridgeTowerForContrastiveLearning

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
from make_checkpoint import make_config  # noqa: E402

# The three factors differ, to see which part of the configuration each parameter follows.
OVERRIDES = ["initializer_factor=0.5", "text_config.initializer_factor=2", "vision_config.initializer_factor=3",
             "vision_config.num_hidden_layers=3", "link_tower_type=interpolate", "logit_scale_init_value=1.5",
             "vision_config.share_layernorm=false"]  # fmt: skip


def main() -> None:
    config = make_config("tiny", 600, 0.0, OVERRIDES)
    torch.manual_seed(0)
    model = BridgeTowerForContrastiveLearning(config)
    rows = {name: {"mean": value.double().mean().item(), "std": value.double().std(correction=0).item()}
            for name, value in model.named_parameters()}  # fmt: skip
    content = {"config": json.loads(config.to_json_string()), "parameters": rows}
    Path(sys.argv[1]).write_text(json.dumps(content, indent=0) + "\n", encoding="utf-8")
    print(f"{len(rows)} parameters")


if __name__ == "__main__":
    main()
