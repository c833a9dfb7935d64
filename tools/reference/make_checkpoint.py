"""Write a BridgeTowerForContrastiveLearning checkpoint folder with random weights.

The folder holds what save_pretrained() of model, tokenizer and image processor writes, and beside it the tokenizer
files that Transformers 4 wrote and Transformers 5 leaves out: vocab.json, merges.txt, special_tokens_map.json.

    python make_checkpoint.py OUT --size tiny --tokenizer $CANTILEVER_CORPUS/roberta
    python make_checkpoint.py OUT --size small --captions $CANTILEVER_CORPUS/captions/captions.jsonl --vocab-size 4096
"""

import argparse
import json
import os
import shutil
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    BridgeTowerConfig,
    BridgeTowerForContrastiveLearning,
    BridgeTowerImageProcessor,
    RobertaTokenizer,
)

# Side of the picture, patch, widths and depths. text_* and vision_* go to the sub-configurations; vision heads are
# always vision width / 64 and the vision MLP is always four times as wide, so neither has a field.
SIZES = {
    "tiny": dict(width=64, cross_layers=2, text_layers=2, text_heads=4, text_ffn=128, vision_width=64,
                 vision_layers=2, picture=64, patch=16, contrastive=32),
    "small": dict(width=256, cross_layers=2, text_layers=4, text_heads=4, text_ffn=1024, vision_width=256,
                  vision_layers=4, picture=96, patch=16, contrastive=256),
    "base": dict(width=768, cross_layers=6, text_layers=12, text_heads=12, text_ffn=3072, vision_width=768,
                 vision_layers=12, picture=288, patch=16, contrastive=512),
    "large": dict(width=1024, cross_layers=6, text_layers=24, text_heads=16, text_ffn=4096, vision_width=1024,
                  vision_layers=24, picture=294, patch=14, contrastive=512),
}
DEFAULT_VOCAB = {"tiny": 600, "small": 4096, "base": 8192, "large": 8192}
LEADING_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]  # ids 0 to 3; <mask> takes the last id


def make_config(size: str, vocab_size: int, dropout: float = 0.0, overrides: list[str] = ()) -> BridgeTowerConfig:
    """The configuration of one size. An override is KEY=JSON, KEY may start with text_config. or vision_config."""
    s = SIZES[size]
    fields = {
        "hidden_size": s["width"],
        "num_attention_heads": s["text_heads"],
        "num_hidden_layers": s["cross_layers"],
        "contrastive_hidden_size": s["contrastive"],
        "logit_scale_init_value": 2.6592,
        "text_config": {
            "vocab_size": vocab_size,
            "hidden_size": s["width"],
            "num_hidden_layers": s["text_layers"],
            "num_attention_heads": s["text_heads"],
            "intermediate_size": s["text_ffn"],
            "hidden_dropout_prob": dropout,
            "attention_probs_dropout_prob": dropout,
        },
        "vision_config": {
            "hidden_size": s["vision_width"],
            "num_hidden_layers": s["vision_layers"],
            "patch_size": s["patch"],
            "image_size": s["picture"],
        },
    }
    for override in overrides:
        key, _, text = override.partition("=")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text  # a bare word is a string
        part, _, name = key.rpartition(".")
        (fields[part] if part else fields)[name] = value
    return BridgeTowerConfig(**fields)


def read_captions(path: Path, column: str):
    """The captions of a .jsonl file, or the lines of any other file."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)[column] if path.suffix == ".jsonl" else line.rstrip("\n")


def train_vocabulary(captions, vocab_size: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Byte-level BPE learned from captions, laid out the way RoBERTa's is."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learner.train_from_iterator(captions, trainers.BpeTrainer(
        vocab_size=vocab_size - 1, show_progress=False, special_tokens=LEADING_SPECIALS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    learned = json.loads(learner.to_str())["model"]
    vocab = dict(learned["vocab"])
    vocab["<mask>"] = len(vocab)
    return vocab, [tuple(pair) for pair in learned["merges"]]


def read_vocabulary(folder: Path) -> tuple[dict[str, int], list[tuple[str, str]]]:
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    return vocab, merges


def save_tokenizer(out: Path, vocab: dict, merges: list, source: Path | None) -> None:
    # Transformers 5 gives <mask> no lstrip when it builds the tokenizer itself; the published tokenizer.json has it.
    mask = AddedToken("<mask>", lstrip=True, rstrip=False, single_word=False, normalized=False, special=True)
    tokenizer = RobertaTokenizer(vocab=vocab, merges=merges, mask_token=mask, model_max_length=512)
    tokenizer.save_pretrained(out)
    if source is not None:
        for name in ("vocab.json", "merges.txt"):
            shutil.copyfile(source / name, out / name)
    else:
        tokenizer.backend_tokenizer.model.save(str(out))
    plain = dict(bos_token="<s>", cls_token="<s>", eos_token="</s>", pad_token="<pad>", sep_token="</s>",
                 unk_token="<unk>")
    plain["mask_token"] = dict(content="<mask>", lstrip=True, normalized=False, rstrip=False, single_word=False)
    (out / "special_tokens_map.json").write_text(json.dumps(plain, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def save_image_processor(out: Path, side: int) -> None:
    BridgeTowerImageProcessor(size={"shortest_edge": side}, crop_size={"shortest_edge": side}).save_pretrained(out)


def jitter(model: torch.nn.Module, scale: float) -> None:
    """Move what starts at 0 or 1 (biases, LayerNorm, scalars; with them the class embedding) off that value.

    A fresh model hides mistakes: swapping two zero biases changes nothing.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim < 2:
                parameter.add_(torch.randn(parameter.shape) * scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dropout", type=float, default=0.0, help="both dropout rates of the text configuration")
    parser.add_argument("--jitter", type=float, default=0.0,
                        help="standard deviation of noise added to every bias, LayerNorm parameter and scalar")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=JSON",
                        help="override a configuration field, e.g. link_tower_type=scaled_add, "
                             "text_config.num_attention_heads=8")
    parser.add_argument("--tokenizer", type=Path, help="folder with vocab.json and merges.txt")
    parser.add_argument("--captions", type=Path, help="text or .jsonl file to learn a small vocabulary from")
    parser.add_argument("--caption-column", default="caption")
    parser.add_argument("--vocab-size", type=int, help="size of the learned vocabulary")
    args = parser.parse_args()
    if (args.tokenizer is None) == (args.captions is None):
        parser.error("give --tokenizer or --captions, one of the two")

    if args.tokenizer is not None:
        vocab, merges = read_vocabulary(args.tokenizer)
    else:
        vocab, merges = train_vocabulary(read_captions(args.captions, args.caption_column),
                                         args.vocab_size or DEFAULT_VOCAB[args.size])

    config = make_config(args.size, len(vocab), args.dropout, args.overrides)
    torch.manual_seed(args.seed)
    model = BridgeTowerForContrastiveLearning(config)
    if args.jitter:
        jitter(model, args.jitter)

    os.makedirs(args.out, exist_ok=True)
    model.save_pretrained(args.out)
    save_tokenizer(args.out, vocab, merges, args.tokenizer)
    save_image_processor(args.out, config.vision_config.image_size)
    count = sum(p.numel() for p in model.parameters())
    print(f"{args.out}: {args.size}, {count:,} parameters, vocabulary {len(vocab):,}, seed {args.seed}")


if __name__ == "__main__":
    main()
