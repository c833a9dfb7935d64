#!/usr/bin/env python3
"""Writes training_arguments_5_24.json: name, default and kind of every transformers.TrainingArguments.

    python make_training_arguments.py      in an environment with transformers 5.24
"""

import dataclasses
import json
from pathlib import Path

import transformers
from transformers import TrainingArguments


def default_of(field):
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    value = field.default
    return getattr(value, "value", value)


def main():
    assert transformers.__version__.startswith("5.24."), transformers.__version__
    rows = [
        {"name": field.name, "default": default_of(field), "type": str(field.type).replace("<class '", "").replace("'>", "")}
        for field in dataclasses.fields(TrainingArguments)
        if field.init
    ]
    out = Path(__file__).with_name("training_arguments_5_24.json")
    out.write_text(json.dumps({"transformers": "5.24", "arguments": rows}, indent=1) + "\n", encoding="utf-8")
    print(f"{out.name}: {len(rows)} arguments")


if __name__ == "__main__":
    main()
