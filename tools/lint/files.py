"""Rules that every file of the repository keeps: sizes, tabs, line ends, names of machines, READMEs."""

import re
import subprocess
from pathlib import Path

CODE = {".cpp", ".h", ".py", ".sh", ".cmake"}
# Above this a file holds two ideas. The exceptions are named with their reason.
MAX_LINES = 600
LONG_FILES = {
    "tools/reference/loaders/race_loaders.py": "one program for many peers, measured as it stands",
}
MAX_BYTES = 1_000_000
# Words put together here, so that this file keeps its own rules.
MACHINE_PATH = re.compile("|".join((r"/" + "work/", r"/" + "farm/", r"/" + "root/", r"/" + "tmp/[a-z]")))
REGISTRY = re.compile(r"\b(" + "|".join(("files.python" + "hosted", "py" + "pi.org", "download.py" + "torch", "deb.deb" + "ian")) + r")\b")
OPEN_ENDS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")


def tracked(root):
    """Files that git tracks or would add."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True,
    )
    return sorted(n for n in listing.stdout.split("\0") if n and (Path(root) / n).is_file())


def line_problems(name, text):
    suffix = Path(name).suffix
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{name}:{number}"
        if MACHINE_PATH.search(line):
            found.append(f"{where}: names a path of one machine")
        if REGISTRY.search(line):
            found.append(f"{where}: names the host of a registry")
        if suffix in CODE:
            if "\t" in line:
                found.append(f"{where}: has a tab")
            if line != line.rstrip():
                found.append(f"{where}: ends with blanks")
            if OPEN_ENDS.search(line):
                found.append(f"{where}: leaves something open; do it or file it")
    return found


def file_problems(root, name):
    data = (Path(root) / name).read_bytes()
    if len(data) > MAX_BYTES:
        return [f"{name}: {len(data)} bytes, the limit is {MAX_BYTES}"]
    if b"\0" in data:
        return []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return []
    found = line_problems(name, text)
    if Path(name).suffix in CODE:
        lines = text.count("\n")
        if lines > MAX_LINES and name not in LONG_FILES:
            found.append(f"{name}: {lines} lines, the limit is {MAX_LINES}: two ideas in one file?")
        if b"\r" in data:
            found.append(f"{name}: has carriage returns")
        if text and not text.endswith("\n"):
            found.append(f"{name}: does not end with a line end")
    if Path(name).suffix == ".h" and "#pragma once" not in text:
        found.append(f"{name}: has no #pragma once")
    return found


def readme_problems(root, names):
    rooms = {Path(n).parent for n in names if n.startswith("cantilever/") and Path(n).suffix in {".h", ".cpp"}}
    return [
        f"{room.as_posix()}: a room without README.md (flow, files, odd decisions)"
        for room in sorted(rooms)
        if not (Path(root) / room / "README.md").is_file()
    ]


def problems(root):
    names = tracked(root)
    found = [problem for name in names for problem in file_problems(root, name)]
    return found + readme_problems(root, names)
