"""Write tests/golden/model: what Transformers computes for small models, for the tests that run without Python.

    OMP_NUM_THREADS=1 python tools/goldens/make_model_goldens.py tests/golden/model

A case is NAME.json (the configuration as save_pretrained writes it) and NAME.safetensors. A checkpoint would be
megabytes, since vision heads need a width of 64; so parameters and pixels come from a formula that the test
knows, too (`formula` below), and gradients are stored as samples:

    input.input_ids, input.attention_mask, output.*, hidden.*, training.*    as tools/reference/dump_golden.py
    gradient.NAME     largest absolute element, L2 norm, product with `formula(NAME + ".probe")`, then up to 24
                      elements at equal distances from the first
    parameter.NAME    the same of the parameter after the AdamW steps

Also config-*.json: configurations as an older version or a user may have written them, beside what Transformers
writes after reading them; activations.json: every activation at some points.
"""

import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import BridgeTowerConfig, BridgeTowerForContrastiveLearning
from transformers.activations import ACT2CLS, ACT2FN

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
from dump_golden import first_pass, train  # noqa: E402
from make_checkpoint import make_config  # noqa: E402

SMALL = ["text_config.vocab_size=40", "text_config.max_position_embeddings=16", "text_config.intermediate_size=48",
         "vision_config.image_size=32", "contrastive_hidden_size=24"]  # fmt: skip
CASES = {
    "add": [],
    "scaled_add": ["link_tower_type=scaled_add"],
    "interpolate": ["link_tower_type=interpolate"],
    "heads": ["text_config.num_attention_heads=8", "text_config.hidden_act=quick_gelu"],
    "uneven": ["hidden_size=96", "text_config.hidden_size=96", "vision_config.hidden_size=96",
               "text_config.num_attention_heads=2", "text_config.num_hidden_layers=1", "num_hidden_layers=1",
               "vision_config.image_size=40", "text_config.hidden_act=gelu_new", "layer_norm_eps=1e-6",
               "text_config.pad_token_id=3", "text_config.layer_norm_eps=1e-7"],
}  # fmt: skip
STEPS, RATE, DECAY = 10, 1e-4, 0.01
SAMPLES = 24
MASK32 = np.uint64(0xFFFFFFFF)


def fnv(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def philox(count: int, key: int) -> np.ndarray:
    """The first `count` 32-bit numbers of the Philox4x32-10 stream of a 64-bit key."""
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    counter = [blocks & MASK32, blocks >> np.uint64(32), np.zeros_like(blocks), np.zeros_like(blocks)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * counter[0], np.uint64(0xCD9E8D57) * counter[2]
        counter = [(p1 >> np.uint64(32)) ^ counter[1] ^ np.uint64(k0), p1 & MASK32,
                   (p0 >> np.uint64(32)) ^ counter[3] ^ np.uint64(k1), p0 & MASK32]  # fmt: skip
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(counter, 1).reshape(-1)[:count]


def formula(name: str, shape, base: float, scale: float) -> torch.Tensor:
    """base + scale * u, u uniform in [-1/2, 1/2) with 24 bits."""
    count = int(np.prod(shape, dtype=np.int64))
    unit = (philox(count, fnv(name)) >> np.uint64(8)).astype(np.float32) * np.float32(2**-24) - np.float32(0.5)
    return torch.from_numpy((np.float32(base) + np.float32(scale) * unit).astype(np.float32)).reshape(shape)


def fill(model) -> None:
    """What starts constant stays near it (scale 1/8); the rest has a standard deviation of 0.07."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            constant = parameter.numel() == 1 or bool((parameter == parameter.flatten()[0]).all())
            base = parameter.flatten()[0].item() if constant else 0.0
            parameter.copy_(formula(name, parameter.shape, base, 0.125 if constant else 0.25))


def samples(name: str, tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().double().flatten()
    probe = formula(name + ".probe", flat.shape, 0.0, 1.0).double()
    picked = flat[:: max(1, flat.numel() // SAMPLES)][:SAMPLES]
    return torch.cat([torch.stack([flat.abs().max(), flat.norm(), flat @ probe]), picked])


def make_case(out: Path, name: str, overrides: list[str]) -> None:
    config = make_config("tiny", 40, 0.0, SMALL + overrides)
    model = BridgeTowerForContrastiveLearning(config)
    model.bridgetower.text_model.pooler = None
    fill(model)
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        (out / f"{name}.json").write_bytes((Path(folder) / "config.json").read_bytes())

    pad, side = config.text_config.pad_token_id, config.vision_config.image_size
    ids = torch.full((3, 9), pad)
    for row, length in enumerate((5, 7, 3)):
        ids[row, :length] = torch.tensor([0] + [5 + (7 * row + 3 * j) % 30 for j in range(length - 2)] + [2])
    batch = {"pixel_values": formula("pixel_values", (3, 3, side, side), 0.0, 4.0), "input_ids": ids,
             "attention_mask": (ids != pad).long(), "return_loss": True}  # fmt: skip
    tensors = first_pass(model, batch)
    tensors.update(train(model, batch, SimpleNamespace(
        weight_decay=DECAY, learning_rate=RATE, adam_epsilon=1e-8, steps=STEPS, max_grad_norm=1.0)))
    stored = {}
    for key, tensor in tensors.items():
        part, _, rest = key.partition(".")
        if part in ("gradient", "parameter"):
            stored[key] = samples(rest, tensor)
        elif key != "input.pixel_values":
            stored[key] = tensor.detach()
    stored = {key: tensor.contiguous().clone() for key, tensor in stored.items()}
    path = out / f"{name}.safetensors"
    save_file(stored, path)
    path.chmod(0o644)
    print(f"{path.name}: {len(stored)} tensors, {path.stat().st_size:,} bytes, loss {tensors['output.loss']:.6f}, "
          f"after {STEPS} steps {tensors['training.loss'][-1]:.6f}")


CONFIGS = {
    # As 4.2x wrote them: whole sub-configurations with every common key.
    "v4-long": {
        "model_type": "bridgetower", "_name_or_path": "somewhere", "torch_dtype": "float32", "drop_rate": 0.1,
        "transformers_version": "4.29.2", "is_encoder_decoder": False, "text_config_dict": None,
        "vision_config_dict": None, "head_hidden_scale": 2, "contrastive_hidden_size": 16,
        "logit_scale_init_value": 2.6592, "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
        "architectures": ["BridgeTowerForContrastiveLearning"], "return_dict": True, "output_attentions": False,
        "text_config": {
            "model_type": "bridgetower_text_model", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 40,
            "num_attention_heads": 4, "intermediate_size": 48, "torch_dtype": None, "architectures": None,
            "is_encoder_decoder": False, "chunk_size_feed_forward": 0, "id2label": {"0": "LABEL_0", "1": "LABEL_1"},
            "label2id": {"LABEL_0": 0, "LABEL_1": 1}, "output_hidden_states": False, "problem_type": None,
            "position_embedding_type": "absolute", "classifier_dropout": None, "initializer_range": 0.02,
            "transformers_version": "4.29.2", "_name_or_path": "", "bos_token_id": 0, "eos_token_id": 2,
            "tie_word_embeddings": True, "use_cache": True, "is_decoder": False, "add_cross_attention": False},
        "vision_config": {
            "model_type": "bridgetower_vision_model", "hidden_size": 64, "num_hidden_layers": 2, "image_size": 32,
            "architectures": ["BridgeTowerVisionModel"], "return_dict": True, "problem_type": None,
            "_name_or_path": ""}},
    # Almost everything left at the defaults, as the published large fine-tune.
    "short": {
        "model_type": "bridgetower", "contrastive_hidden_size": 8, "logit_scale_init_value": 1,
        "initializer_factor": 1.0, "text_config": {"vocab_size": 100, "initializer_factor": 2},
        "a_key_of_ours": {"kept": [1, 2.5, None, True]}},
}  # fmt: skip


def make_configs(out: Path) -> None:
    for name, written in CONFIGS.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(json.dumps(written))
            config = BridgeTowerConfig.from_pretrained(folder)
            config.save_pretrained(folder)
            read_back = (Path(folder) / "config.json").read_text()
        (out / f"config-{name}.json").write_text(
            json.dumps({"written": written, "transformers": json.loads(read_back), "text": read_back}, indent=1) + "\n")


def make_activations(out: Path) -> None:
    x = torch.cat([torch.linspace(-12, 12, 97), torch.tensor([1e-4, -1e-4, 0.0])])
    rows = {"x": x.tolist()}
    for name in ACT2CLS:
        if name not in ("prelu", "xielu"):  # these two have parameters of their own
            rows[name] = ACT2FN[name](x).tolist()
    (out / "activations.json").write_text(json.dumps(rows) + "\n")


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, overrides in CASES.items():
        make_case(out, name, overrides)
    make_configs(out)
    make_activations(out)


if __name__ == "__main__":
    main()
