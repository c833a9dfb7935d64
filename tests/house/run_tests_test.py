"""The test runner itself: what it counts, and that nothing broken passes."""

import os
import subprocess
import sys
import time
import unittest

from planted_tree import ROOT, PlantedTree

import run_tests

# A stand-in for a GoogleTest binary: prints and reports what it is told.
FAKE_GTEST = """#!/usr/bin/env python3
import json, os, signal, sys, time
report = next(a.split(":", 1)[1] for a in sys.argv if a.startswith("--gtest_output=json:"))
def write(tests):
    suites = [{"name": "S", "testsuite": tests}] if tests else []
    open(report, "w").write(json.dumps({"testsuites": suites}))
def ran(name, **more):
    return {"name": name, "status": "RUN", "result": "COMPLETED", "time": "0.5s", **more}
"""


class Runner(PlantedTree):
    def binary(self, name, body):
        path = self.plant(f"build/{name}", FAKE_GTEST + body)
        path.chmod(0o755)
        with open(self.root / "build" / "CTestTestfile.cmake", "a", encoding="utf-8") as file:
            file.write(f'add_test({name} "{path}")\n')

    def run_tests(self, *options, ci="false", **env):
        (self.root / "build").mkdir(exist_ok=True)
        (self.root / "tests").mkdir(exist_ok=True)
        (self.root / "build" / "CTestTestfile.cmake").touch()
        done = subprocess.run(
            [sys.executable, str(ROOT / "tools" / "run_tests.py"), str(self.root / "build"),
             "--tests", str(self.root / "tests"), *options],
            capture_output=True, text=True, check=False, env={**os.environ, "CI": ci, **env},
        )
        self.output = done.stdout + done.stderr
        return done.returncode, done.stdout.splitlines()[-1] if done.stdout else ""

    def assert_closes(self, result, status, line):
        self.assertEqual(result, (status, line), self.output)


class Binaries(Runner):
    def test_passed_and_skipped(self):
        self.binary("io", 'print("[ RUN      ] S.b\\nx.cpp:1: Skipped\\nno such font\\n[  SKIPPED ] S.b (0 ms)")\n'
                          'write([ran("a"), ran("b", result="SKIPPED")])\n')
        self.assert_closes(self.run_tests(), 0, "1 passed, 0 failed, 1 skipped")
        self.assertIn("no such font", self.output)

    def test_a_failure_shows_what_it_printed(self):
        self.binary("io", 'print("[ RUN      ] S.a\\nseen: 7\\n[  FAILED  ] S.a (3 ms)")\n'
                          'write([ran("a", failures=[{"failure": "wrong"}])]); sys.exit(1)\n')
        self.assert_closes(self.run_tests(), 1, "0 passed, 1 failed, 0 skipped")
        self.assertIn("--- failed: io: S.a\nseen: 7", self.output)

    def test_a_crash_keeps_what_had_passed_and_names_the_test(self):
        self.binary("io", 'print("[ RUN      ] S.a\\n[       OK ] S.a (2 ms)\\n[ RUN      ] S.b", flush=True)\n'
                          "os.kill(os.getpid(), signal.SIGSEGV)\n")
        self.assert_closes(self.run_tests(), 1, "1 passed, 1 failed, 0 skipped")
        self.assertIn("signal 11 (SIGSEGV) in S.b", self.output)

    def test_a_hang_ends_with_all_that_it_started(self):
        self.binary("io", 'import subprocess\nsubprocess.Popen(["sleep", "60"])\n'
                          'print("[ RUN      ] S.slow", flush=True)\ntime.sleep(60)\n')
        start = time.monotonic()
        self.assert_closes(self.run_tests("--limit", "1"), 1, "0 passed, 1 failed, 0 skipped")
        self.assertLess(time.monotonic() - start, 20)
        self.assertIn("ran past its limit of 1 s in S.slow", self.output)

    def test_a_binary_that_ran_nothing(self):
        self.binary("io", "write([])\n")
        self.assert_closes(self.run_tests(), 1, "0 passed, 1 failed, 0 skipped")
        self.assertIn("ran no test", self.output)

    def test_an_exit_status_without_a_failed_test(self):
        self.binary("io", 'write([ran("a")]); sys.exit(3)\n')
        self.assert_closes(self.run_tests(), 1, "1 passed, 1 failed, 0 skipped")
        self.assertIn("exited with 3", self.output)

    def test_an_exit_with_0_before_the_report(self):
        self.binary("io", 'print("[ RUN      ] S.a\\n[       OK ] S.a (2 ms)\\n[ RUN      ] S.b", flush=True)\n'
                          "sys.exit(0)\n")
        self.assert_closes(self.run_tests(), 1, "1 passed, 1 failed, 0 skipped")
        self.assertIn("left no report in S.b", self.output)

    def test_a_sanitizer_that_ends_the_process_early(self):
        self.binary("io", 'print("ERROR: AddressSanitizer: heap-use-after-free"); sys.exit(1)\n')
        self.assert_closes(self.run_tests(), 1, "0 passed, 1 failed, 0 skipped")
        self.assertIn("heap-use-after-free", self.output)

    def test_a_binary_that_was_not_built(self):
        self.binary("io", "")
        (self.root / "build" / "io").unlink()
        self.assert_closes(self.run_tests(), 1, "0 passed, 1 failed, 0 skipped")

    def test_nothing_at_all(self):
        self.assert_closes(self.run_tests(), 1, "0 passed, 0 failed, 0 skipped")

    def test_a_missing_corpus_counts_as_failed_in_ci_only(self):
        self.binary("io", 'print("[ RUN      ] S.b\\nx.cpp:1: Skipped\\nCANTILEVER_CORPUS is not set\\n'
                          '[  SKIPPED ] S.b (0 ms)")\nwrite([ran("a"), ran("b", result="SKIPPED")])\n')
        self.assert_closes(self.run_tests(), 0, "1 passed, 0 failed, 1 skipped")
        self.assert_closes(self.run_tests(ci="true"), 1, "1 passed, 1 failed, 0 skipped")


class PythonFolders(Runner):
    def test_each_kind_of_outcome(self):
        self.plant("tests/e2e/x_test.py", """import os, unittest
class T(unittest.TestCase):
    def test_passes(self): self.assertTrue(os.path.isdir(os.environ["CANTILEVER_BUILD"]))
    def test_fails(self): self.assertEqual(1, 2)
    def test_breaks(self): raise RuntimeError("boom")
    def test_is_skipped(self): self.skipTest("no reason")
    def test_fails_in_parts(self):
        for i in range(3):
            with self.subTest(i=i): self.assertEqual(i, 0)
""")
        self.assert_closes(self.run_tests(), 1, "1 passed, 3 failed, 1 skipped")
        self.assertIn("boom", self.output)
        self.assert_closes(self.run_tests("--no-python"), 1, "0 passed, 0 failed, 0 skipped")

    def test_a_class_that_cannot_be_set_up(self):
        self.plant("tests/e2e/x_test.py", """import unittest
class T(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("no server")
    def test_a(self): pass
""")
        self.assert_closes(self.run_tests(), 1, "0 passed, 1 failed, 0 skipped")
        self.assertIn("no server", self.output)

    def test_a_file_that_cannot_be_imported(self):
        self.plant("tests/e2e/x_test.py", "import no_such_module\n")
        self.assert_closes(self.run_tests(), 1, "0 passed, 1 failed, 0 skipped")

    def test_only_picks_by_name(self):
        self.plant("tests/a/x_test.py", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n")
        self.plant("tests/b/x_test.py", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): 1 / 0\n")
        self.assert_closes(self.run_tests("--only", "tests/a"), 0, "1 passed, 0 failed, 0 skipped")


class GtestOutput(unittest.TestCase):
    def test_parameters_in_names_and_noise_between(self):
        output = (
            "[ RUN      ] A/B.C/0\nnoise\n[  FAILED  ] A/B.C/0, where GetParam() = 3 (4 ms)\n"
            "[ RUN      ] A.D\n[       OK ] A.D (1 ms)\n"
        )
        texts, unfinished = run_tests.gtest_text_by_test(output)
        self.assertEqual((texts["A/B.C/0"], unfinished), ("noise", []))
        outcomes = [(t.name, t.outcome, t.seconds) for t in run_tests.gtest_tests_from_output(output, texts)]
        self.assertEqual(outcomes, [("A/B.C/0", "failed", 0.004), ("A.D", "passed", 0.001)])


if __name__ == "__main__":
    unittest.main()
