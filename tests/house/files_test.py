"""The rules for files: the product keeps them, and proof that each bites."""

import subprocess
import unittest

from planted_tree import ROOT, PlantedTree

import files


class TheProduct(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if not (ROOT / ".git").exists():
            self.skipTest("not a git checkout: there is no list of the product's files")

    def test_keeps_the_rules(self):
        self.assertEqual("\n".join(files.problems(ROOT)), "")


class PlantedViolations(PlantedTree):
    def problems(self):
        subprocess.run(["git", "init", "--quiet", str(self.root)], check=True)
        return files.problems(self.root)

    def test_a_clean_tree_has_none(self):
        self.plant("cantilever/base/x.h", "#pragma once\n")
        self.plant("cantilever/base/README.md", "# base\n")
        self.plant("Makefile", "all:\n\ttrue\n")
        self.assertEqual(self.problems(), [])

    def test_a_room_without_readme(self):
        self.plant("cantilever/io/json.h", "#pragma once\n")
        self.assert_one_problem(self.problems(), "cantilever/io", "without README.md")

    def test_a_tab_and_trailing_blanks(self):
        self.plant("tools/x.py", "if 1:\n\tpass\nx = 1 \n")
        problems = self.problems()
        self.assertEqual(len(problems), 2)
        self.assertIn("tools/x.py:2: has a tab", problems)

    def test_a_path_of_one_machine(self):
        for path in ("/" + "work/x", "/" + "root/x", "/" + "tmp/x"):
            self.plant("README.md", f"see {path}\n")
            self.assert_one_problem(self.problems(), "README.md:1", "path of one machine")

    def test_the_host_of_a_registry(self):
        self.plant("tools/x.sh", "curl https://" + "py" + "pi.org/simple\n")
        self.assert_one_problem(self.problems(), "host of a registry")

    def test_a_long_file(self):
        self.plant("tools/x.py", "x = 1\n" * (files.MAX_LINES + 1))
        self.assert_one_problem(self.problems(), "two ideas")

    def test_a_heavy_file(self):
        self.plant("tests/x.bin", "\0" * (files.MAX_BYTES + 1))
        self.assert_one_problem(self.problems(), "bytes, the limit is")

    def test_a_header_without_guard(self):
        self.plant("tests/support/x.h", "int f();\n")
        self.assert_one_problem(self.problems(), "#pragma once")

    def test_something_left_open(self):
        self.plant("tools/x.py", "# TO" + "DO: later\n")
        self.assert_one_problem(self.problems(), "leaves something open")

    def test_no_line_end_and_carriage_returns(self):
        self.plant("tools/x.py").write_bytes(b"x = 1\r\ny = 2")
        problems = self.problems()
        self.assertIn("tools/x.py: has carriage returns", problems)
        self.assertIn("tools/x.py: does not end with a line end", problems)

    def test_an_ignored_file_is_not_looked_at(self):
        self.plant(".gitignore", "build/\n")
        self.plant("build/x.py", "\t\n")
        self.assertEqual(self.problems(), [])


if __name__ == "__main__":
    unittest.main()
