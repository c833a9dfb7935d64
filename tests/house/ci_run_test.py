"""The gate adds up what its stages ran, and nothing broken passes it."""

import os
import re
import shutil
import subprocess
import unittest

from planted_tree import ROOT, PlantedTree

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")


class Gate(PlantedTree):
    def gate(self, corpus=True, **stages):
        """Runs .ci/run in a tree whose make targets are the given shell commands."""
        checkout = self.root / "checkout"
        (checkout / ".ci").mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / ".ci" / "run", checkout / ".ci" / "run")
        if corpus:
            (self.root / "shared" / "data").mkdir(parents=True, exist_ok=True)
        commands = {"test": "echo 5 passed, 0 failed, 1 skipped", "parity": "echo 2 passed, 0 failed, 0 skipped",
                    "sanitize": "true", "fuzz": "true", "lint": "true",
                    **stages}
        text = "".join(f"{name}:\n\t@{command}\n" for name, command in commands.items())
        self.plant("checkout/Makefile", f".PHONY: {' '.join(commands)}\n{text}")
        env = {k: v for k, v in os.environ.items() if k not in ("CANTILEVER_CORPUS", "MAKEFLAGS", "MAKELEVEL")}
        done = subprocess.run(["bash", str(checkout / ".ci" / "run")], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, cwd="/", env=env)
        self.output = done.stdout + done.stderr
        lines = done.stdout.splitlines()
        # Whoever reads the last closing line, or any of them, reads the same one.
        self.assertEqual([line for line in lines if CLOSING.match(line)], lines[-1:], self.output)
        return done.returncode, lines[-1]

    def test_sums_the_stages_and_the_lines_within_one(self):
        sanitize = "echo 3 passed, 0 failed, 0 skipped; echo noise; echo 4 passed, 0 failed, 1 skipped"
        self.assertEqual(self.gate(sanitize=sanitize), (0, "14 passed, 0 failed, 2 skipped"))

    def test_a_failed_test(self):
        result = self.gate(test="echo 5 passed, 1 failed, 0 skipped; exit 1")
        self.assertEqual(result, (1, "7 passed, 1 failed, 0 skipped"))
        self.assertIn("broken stages: test", self.output)

    def test_a_stage_that_breaks_without_a_count(self):
        self.assertEqual(self.gate(lint="echo bad; exit 1"), (1, "7 passed, 1 failed, 1 skipped"))

    def test_a_failure_that_the_exit_status_hides(self):
        self.assertEqual(self.gate(parity="echo 0 passed, 1 failed, 0 skipped"), (1, "5 passed, 1 failed, 1 skipped"))

    def test_no_test_at_all(self):
        status, line = self.gate(test="true", parity="true")
        self.assertEqual((status != 0, line), (True, "0 passed, 0 failed, 0 skipped"))

    def test_later_stages_run_after_a_broken_one(self):
        self.gate(test="exit 2", lint="echo the linter was here")
        self.assertIn("the linter was here", self.output)

    def test_the_corpus_beside_the_checkout(self):
        show = 'echo "corpus: $$CANTILEVER_CORPUS"'
        self.gate(lint=show)
        self.assertIn(f"corpus: {self.root.resolve()}/shared/data\n", self.output)

    def test_without_a_corpus(self):
        self.gate(corpus=False, lint='echo "corpus: $$CANTILEVER_CORPUS, CI: $$CI"')
        self.assertIn("corpus: , CI: true\n", self.output)


class Shares(unittest.TestCase):
    def test_the_minutes_of_the_stages_stay_below_80(self):
        minutes = re.findall(r"^stage \w+ (\d+) ", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertGreaterEqual(len(minutes), 3)
        self.assertLess(sum(map(int, minutes)), 80)


if __name__ == "__main__":
    unittest.main()
