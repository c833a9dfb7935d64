"""Writes permutations.txt: the start of torch's and numpy's permutations for some lengths and seeds.

    python make_permutations.py > permutations.txt        (made with torch 2.11.0, numpy 2.4.6)

A line: torch|numpy, n, seed, sum over i of (i + 1) * value[i] mod 2^64, the first values (at most 12).
"""

import numpy
import torch

LENGTHS = (1, 2, 3, 5, 17, 64, 1000, 5000)
SEEDS = (0, 1, 42, 43, 2**31, 2**32 - 1, 2**32 + 42, 2**63 + 9, 2**64 - 1)

for n in LENGTHS:
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        for name, values in (
            ("torch", torch.randperm(n, generator=generator).tolist()),
            ("numpy", numpy.random.default_rng(seed).permutation(n).tolist()),
        ):
            total = sum((i + 1) * value for i, value in enumerate(values)) % 2**64
            print(name, n, seed, total, *values[:12])
