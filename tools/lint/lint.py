#!/usr/bin/env python3
"""The rules of the house that need no compiler: includes, ARCHITECTURE.md, files. Exit status 1 when
one is broken. `make lint` runs this and the formatter."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import architecture
import files
import includes

ROOT = Path(__file__).resolve().parent.parent.parent


def main():
    found = []
    for check in (includes, architecture, files):
        found += check.problems(ROOT)
    for problem in found:
        print(problem)
    print(f"lint: {len(found)} problems" if found else "lint: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
