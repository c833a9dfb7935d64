"""Writes the small torch.save files of tests/golden/io and what they hold as safetensors.

    python make_torch_zip_golden.py FOLDER      (torch 2.11, safetensors 0.8)
"""

import collections
import pathlib
import sys

import torch
from safetensors.torch import save_file


def make_tensors():
    torch.manual_seed(0)
    base = torch.randn(3, 4)
    storage = torch.arange(24, dtype=torch.float32)
    tensors = {
        "bool": torch.tensor([True, False, True]),
        "i8": torch.tensor([-128, 0, 127], dtype=torch.int8),
        "u8": torch.tensor([0, 1, 255], dtype=torch.uint8),
        "i16": torch.tensor([[-32768, 32767]], dtype=torch.int16),
        "u16": torch.tensor([65535, 1], dtype=torch.uint16),
        "i32": torch.tensor([-(2**31), 2**31 - 1], dtype=torch.int32),
        "u32": torch.tensor([2**32 - 1], dtype=torch.uint32),
        "i64": torch.tensor([[0, 1, 2, 3]], dtype=torch.int64),
        "u64": torch.tensor([2**63 + 5], dtype=torch.uint64),
        "f16": torch.tensor([1.5, -6e-8, 65504.0, float("inf")], dtype=torch.float16),
        "bf16": torch.tensor([1.5, -3e38, 1e-40, float("nan")], dtype=torch.bfloat16),
        "f32": base,
        "f64": torch.tensor([0.1, 1e300], dtype=torch.float64),
        "scalar": torch.tensor(3.25),
        "empty": torch.zeros(0, 5),
        "parameter": torch.nn.Parameter(torch.tensor([2.0, 4.0])),
        # One storage, several tensors.
        "shared.whole": storage,
        "shared.alias": storage,
        "shared.offset": storage[5:11].view(2, 3),
        "shared.transposed": storage.view(4, 6).t(),
        "shared.every_third": storage[1::3],
        "shared.cube": storage.view(2, 3, 4).permute(2, 0, 1),
        "expanded": torch.tensor([7.0]).expand(2, 3),
        "one_row": torch.arange(6.0).view(1, 6).expand(1, 6),
    }
    return tensors


def make_training_state():
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    groups = [{"params": [model.weight], "weight_decay": 0.1}, {"params": [model.bias]}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 / (1 + step))
    for _ in range(2):
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return model, optimizer, scheduler


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    tensors = make_tensors()
    state_dict = collections.OrderedDict(tensors)
    state_dict._metadata = collections.OrderedDict({"": {"version": 1}})
    torch.save(state_dict, folder / "state_dict.bin")
    plain = {name: t.detach().contiguous().clone() for name, t in tensors.items()}
    save_file(plain, folder / "state_dict.safetensors", metadata={"format": "pt"})

    few = {"a": torch.arange(3.0), "b": torch.tensor([[1, 2]], dtype=torch.int64)}
    torch.save(few, folder / "protocol4.bin", pickle_protocol=4)
    torch.save(few, folder / "legacy.bin", _use_new_zipfile_serialization=False)

    model, optimizer, scheduler = make_training_state()
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
    torch.save(scheduler.state_dict(), folder / "scheduler.pt")
    torch.save({"epoch": 3, "state_dict": model.state_dict()}, folder / "checkpoint.pt")
    torch.save(model, folder / "module.pt")
    torch.jit.save(torch.jit.script(model), folder / "script.pt")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
