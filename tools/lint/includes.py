"""Every #include of cantilever/ and apps/ against include_table.json."""

import json
import re
from pathlib import Path

TABLE = Path(__file__).with_name("include_table.json")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
HEADERS = {".h", ".hpp", ".cuh"}
SOURCES = {".cpp", ".cc", ".cu"}


def load_table(path=TABLE):
    return json.loads(path.read_text(encoding="utf-8"))


def matches(include, prefix):
    return include.startswith(prefix) if prefix.endswith("/") else include == prefix


class Checker:
    def __init__(self, root, table=None):
        self.root = Path(root)
        self.table = table or load_table()
        self.rooms = sorted(self.table["rooms"], key=len, reverse=True)

    def room_of(self, path):
        """The room of a path relative to the root, or None."""
        return next((room for room in self.rooms if path.startswith(room + "/")), None)

    def problems(self):
        found = []
        for top in ("cantilever", "apps"):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in HEADERS | SOURCES:
                    found += self.problems_of(path)
        return found

    def problems_of(self, path):
        name = path.relative_to(self.root).as_posix()
        room = self.room_of(name)
        if room is None:
            return [f"{name}: its folder is no room of tools/lint/include_table.json"]
        text = path.read_text(encoding="utf-8")
        found = []
        for match in INCLUDE.finditer(text):
            reason = self.refusal(name, room, match[1] == '"', match[2])
            if reason:
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name}:{line}: includes {match[2]}: {reason}")
        return found

    def refusal(self, name, room, quoted, include):
        """Why this file may not include that, or None."""
        if quoted:
            if not (self.root / include).is_file():
                return "no such file (own headers are named from the repository root)"
            target = self.room_of(include)
            if target is None:
                return "its folder is no room of tools/lint/include_table.json"
            if target != room and target not in self.table["rooms"][room]["rooms"]:
                return f"{room} may not know {target}"
            return None
        if include.startswith("cantilever/"):
            return 'own headers are included with "quotes"'
        if "/" not in include and not include.endswith((".h", ".hpp")):
            return None  # the standard library
        if any(matches(include, prefix) for prefix in self.table["system"]):
            return None
        return self.library_refusal(name, room, include)

    def library_refusal(self, name, room, include):
        for library, prefixes in self.table["libraries"].items():
            if not any(matches(include, prefix) for prefix in prefixes):
                continue
            allowed = self.table["rooms"][room]["libraries"].get(library)
            if allowed is None:
                return f"{room} may not know {library}"
            if allowed == "anywhere" or Path(name).suffix in SOURCES and allowed == "cpp":
                return None
            if isinstance(allowed, list):
                return None if name in allowed else f"{library} only in {', '.join(allowed)}"
            return f"{library} only in .cpp files of {room}"
        return "neither a standard header nor of a library that the table knows"


def problems(root):
    return Checker(root).problems()
