"""ARCHITECTURE.md names every folder of the product and no other."""

import re
from pathlib import Path

TOPS = ("cantilever", "apps", "cmake", "tests", "tools", "bench", "docs")
NAMED = re.compile(r"`((?:%s)/[\w./-]*)`" % "|".join(TOPS))  # with a slash at its end: a folder


def has_files(folder):
    return any(p.is_file() and p.suffix != ".pyc" and not p.name.startswith(".") for p in folder.iterdir())


def folders(root):
    """The folders that the page must name: those of the product with files of their own, the tops
    beside it, and what stands one level below tests/ and tools/ unless it mirrors a room."""
    root = Path(root)
    named = set()
    for top in TOPS:
        if not (root / top).is_dir():
            continue
        below = [root / top, *(root / top).rglob("*")] if top == "cantilever" else [root / top]
        if top in ("tests", "tools"):
            below += (root / top).iterdir()
        for folder in below:
            name = folder.relative_to(root).as_posix()
            if not folder.is_dir() or folder.name == "__pycache__":
                continue
            mirrors = top == "tests" and (root / "cantilever" / folder.name).is_dir()
            whole = top in ("tests", "tools") and any(p.is_file() for p in folder.rglob("*"))
            if not mirrors and (whole or has_files(folder)):
                named.add(name)
    return named


def problems(root):
    root = Path(root)
    page = root / "ARCHITECTURE.md"
    if not page.is_file():
        return ["ARCHITECTURE.md is missing"]
    text = page.read_text(encoding="utf-8")
    names = set(NAMED.findall(text))
    named_folders = {name.rstrip("/") for name in names if name.endswith("/")}
    found = [f"ARCHITECTURE.md does not name `{f}/`" for f in sorted(folders(root) - named_folders)]
    found += [
        f"ARCHITECTURE.md names `{name}`, which does not exist"
        for name in sorted(names)
        if not (root / name).exists()
    ]
    return found
