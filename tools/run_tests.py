#!/usr/bin/env python3
"""Runs every test of a build folder and closes with one line: N passed, N failed, N skipped.

    tools/run_tests.py build/release            C++ test binaries and the Python tests under tests/
    tools/run_tests.py build/tsan --no-python   C++ test binaries only
    tools/run_tests.py --only 'io|house'        tests binaries and folders whose name matches

The C++ binaries are those that CTest knows. Each binary runs in a process group of its own under a
time limit. A crash, a time-out, a binary that ran nothing and a non-zero exit without a failed test
count as one failure each. With CI=true a test that was skipped because the wider corpus is not there
(CANTILEVER_CORPUS) counts as failed: there it must be present.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_CORPUS = "CANTILEVER_CORPUS is not set"
GTEST_LINE = re.compile(r"^\[\s*(RUN|OK|FAILED|SKIPPED)\s*\] ([\w/]+\.[\w/]+)(?:.*\((\d+) ms\))?$")


@dataclass
class Test:
    name: str
    outcome: str  # passed, failed, skipped
    seconds: float = 0.0
    text: str = ""  # what a failure printed, or why it was skipped


@dataclass
class Suite:
    name: str
    command: list
    limit: float


def cpp_suites(build, limit):
    """The test binaries that CTest knows in a build folder."""
    listing = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=False
    )
    if listing.returncode != 0:
        sys.exit(f"run_tests: ctest cannot list the tests of {build}: {listing.stderr.strip()}")
    suites = []
    for test in json.loads(listing.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        suites.append(Suite(test["name"], test.get("command", []), properties.get("TIMEOUT", limit)))
    return suites


def python_suites(tests, limit):
    """One suite for each folder below tests/ that has *_test.py files."""
    folders = sorted({path.parent for path in tests.rglob("*_test.py")})
    this = str(Path(__file__).resolve())
    return [
        Suite(str(f.relative_to(tests.parent)), [sys.executable, this, "--python-folder", str(f)], limit)
        for f in folders
    ]


class Running:
    """The suite that runs now, so that a signal to this program reaches it as well."""

    process = None

    @classmethod
    def kill(cls):
        if cls.process is not None and cls.process.poll() is None:
            os.killpg(cls.process.pid, signal.SIGKILL)

    @classmethod
    def on_signal(cls, number, _frame):
        cls.kill()
        sys.exit(128 + number)


def run_limited(command, limit, env):
    """(exit status or None for a time-out, output, seconds)"""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            Running.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True, env=env,
            )
        except OSError as error:
            return 127, str(error), 0.0
        try:
            status = Running.process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        # Also what a test left behind in its process group.
        try:
            os.killpg(Running.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        Running.process.wait()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return status, text, time.monotonic() - start


def gtest_text_by_test(output):
    """What each test printed, and in their order the names of those that began and never ended."""
    texts, open_tests, current = {}, [], None
    for line in output.splitlines():
        match = GTEST_LINE.match(line.strip())
        if match and match[1] == "RUN":
            current = match[2]
            texts[current] = []
            open_tests.append(current)
        elif match and match[2] == current:
            open_tests.remove(current)
            current = None
        elif current is not None:
            texts[current].append(line)
    return {name: "\n".join(lines) for name, lines in texts.items()}, open_tests


def gtest_tests_from_json(report, texts):
    tests = []
    for suite in report.get("testsuites", []):
        for test in suite.get("testsuite", []):
            name = f'{suite["name"]}.{test["name"]}'
            if test.get("failures"):
                failures = "\n".join(f.get("failure", "") for f in test["failures"])
                outcome, text = "failed", texts.get(name) or failures
            elif test.get("result") == "SKIPPED":
                outcome, text = "skipped", texts.get(name, "")
            elif test.get("status") == "NOTRUN":
                outcome, text = "skipped", "disabled in the source"
            else:
                outcome, text = "passed", ""
            tests.append(Test(name, outcome, float(str(test.get("time", "0")).rstrip("s")), text))
    return tests


def gtest_tests_from_output(output, texts):
    """For a binary that died before it could write its report."""
    outcomes = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    tests = {}
    for line in output.splitlines():
        match = GTEST_LINE.match(line.strip())
        if match and match[1] in outcomes and match[3] is not None:
            outcome = outcomes[match[1]]
            text = "" if outcome == "passed" else texts.get(match[2], "")
            tests[match[2]] = Test(match[2], outcome, int(match[3]) / 1000, text)
    return list(tests.values())


def describe_exit(status, limit):
    if status is None:
        return f"ran past its limit of {limit:.0f} s"
    if status < 0:
        return f"died of signal {-status} ({signal.Signals(-status).name})"
    return f"exited with {status}"


def run_suite(suite, env):
    """Runs one binary or Python folder. Both leave a JSON report; when it is missing, the output tells."""
    if not suite.command:
        return [Test(suite.name, "failed", 0.0, "its binary was not built")], 0.0
    with tempfile.TemporaryDirectory() as folder:
        report_path = Path(folder) / "report.json"
        is_python = "--python-folder" in suite.command
        option = f"--report={report_path}" if is_python else f"--gtest_output=json:{report_path}"
        command = [*suite.command, option]
        status, output, seconds = run_limited(command, suite.limit, env)
        texts, unfinished = gtest_text_by_test(output)
        try:
            report = json.loads(report_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            report = None
    if report is None:
        tests = [] if is_python else gtest_tests_from_output(output, texts)
    elif is_python:
        tests = [Test(**test) for test in report]
    else:
        tests = gtest_tests_from_json(report, texts)

    where = f" in {unfinished[-1]}" if unfinished else ""
    tail = "\n".join(output.splitlines()[-60:])
    if status is None or status < 0 or report is None:
        # Without a report the process ended before its tests did, even with status 0.
        missing = "" if status is None or status < 0 else ", but left no report"
        text = f"{describe_exit(status, suite.limit)}{missing}{where}\n{tail}"
        tests.append(Test(suite.name, "failed", 0.0, text))
    elif status != 0 and not any(t.outcome == "failed" for t in tests):
        text = f"{describe_exit(status, suite.limit)}, though no test of it failed\n{tail}"
        tests.append(Test(suite.name, "failed", 0.0, text))
    elif not tests:
        tests.append(Test(suite.name, "failed", 0.0, f"ran no test\n{tail}"))
    for test in tests:
        test.name = test.name if test.name == suite.name else f"{suite.name}: {test.name}"
    return tests, seconds


class RecordingResult(unittest.TestResult):
    """Keeps one Test for each test method; failed subtests make their test failed."""

    def __init__(self):
        super().__init__()
        self.tests = []
        self.text = []
        self.skipped_because = None
        self.started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.text, self.skipped_because, self.started = [], None, time.monotonic()

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.text.append(self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        text = self._exc_info_to_string(err, test)
        if isinstance(test, unittest.TestCase):
            self.text.append(text)
        else:  # a module or class that could not be set up: no test of it starts
            self.tests.append(Test(str(test), "failed", 0.0, text))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.text.append(f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if isinstance(test, unittest.TestCase):
            self.skipped_because = reason
        else:
            self.tests.append(Test(str(test), "skipped", 0.0, reason))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.text.append("was expected to fail and did not")

    def stopTest(self, test):
        super().stopTest(test)
        outcome, text = "passed", ""
        if self.text:
            outcome, text = "failed", "\n".join(self.text)
        elif self.skipped_because is not None:
            outcome, text = "skipped", self.skipped_because
        name = test.id()
        self.tests.append(Test(name, outcome, time.monotonic() - self.started, text))


def run_python_folder(folder, report):
    """The child process of a Python suite: runs its *_test.py files and writes the report."""
    sys.path.insert(0, str(folder))
    sys.path.insert(0, str(ROOT))
    result = RecordingResult()
    loader = unittest.TestLoader()
    loader.discover(str(folder), pattern="*_test.py", top_level_dir=str(folder)).run(result)
    Path(report).write_text(json.dumps([asdict(t) for t in result.tests]), encoding="utf-8")
    return 1 if any(t.outcome == "failed" for t in result.tests) else 0


def is_failure_in_ci(test):
    return test.outcome == "skipped" and NO_CORPUS in test.text


def close(tests, ci, slowest=8):
    """Prints failures, skips, slow tests and the closing line; the exit status."""
    for test in tests:
        if ci and is_failure_in_ci(test):
            test.outcome, test.text = "failed", f"skipped in CI, where the corpus must be: {test.text}"
    failed = [t for t in tests if t.outcome == "failed"]
    for test in failed:
        print(f"\n--- failed: {test.name}\n{test.text.rstrip()}")
    reasons = {}
    for test in tests:
        if test.outcome == "skipped":
            reason = NO_CORPUS if NO_CORPUS in test.text else test.text.strip().splitlines()[-1:]
            reason = reason if isinstance(reason, str) else (reason[0] if reason else "no reason given")
            reasons.setdefault(reason, []).append(test.name)
    for reason, names in reasons.items():
        print(f"\nskipped {len(names)}: {reason} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})")
    timed = sorted((t for t in tests if t.seconds >= 1), key=lambda t: -t.seconds)[:slowest]
    if timed:
        print("\nslowest tests:")
        for test in timed:
            print(f"{test.seconds:8.1f} s  {test.name}")
    if failed:
        print("\nfailed: " + "\n        ".join(t.name for t in failed))
    count = {o: sum(t.outcome == o for t in tests) for o in ("passed", "failed", "skipped")}
    print(f"\n{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
    return 1 if failed or not count["passed"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--no-python", action="store_true", help="leave out the tests written in Python")
    parser.add_argument("--no-cpp", action="store_true", help="leave out the test binaries")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="folder of the Python tests")
    parser.add_argument("--only", default="", metavar="REGEX", help="suites whose name matches")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one suite (default 600)")
    parser.add_argument("--python-folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--report", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.python_folder:
        return run_python_folder(args.python_folder.resolve(), args.report)

    build = args.build.resolve()
    suites = [] if args.no_cpp else cpp_suites(build, args.limit)
    suites += [] if args.no_python else python_suites(args.tests.resolve(), args.limit)
    suites = [s for s in suites if re.search(args.only, s.name)]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, Running.on_signal)
    # The end-to-end tests in Python find the program through this.
    env = {**os.environ, "CANTILEVER_BUILD": str(build), "CANTILEVER_BINARY": str(build / "cantilever")}
    tests = []
    for suite in suites:
        ran, seconds = run_suite(suite, env)
        tests += ran
        failed = sum(t.outcome == "failed" for t in ran)
        print(f"{suite.name:24} {len(ran):5} tests {seconds:7.1f} s{f'   {failed} FAILED' if failed else ''}", flush=True)
    return close(tests, ci=os.environ.get("CI") == "true")


if __name__ == "__main__":
    sys.exit(main())
