"""ARCHITECTURE.md names every folder of the product and no other, and proof that the check bites."""

import unittest

from planted_tree import ROOT, PlantedTree

import architecture


class TheProduct(unittest.TestCase):
    maxDiff = None

    def test_is_on_the_page(self):
        self.assertEqual("\n".join(architecture.problems(ROOT)), "")

    def test_has_folders(self):
        found = architecture.folders(ROOT)
        self.assertLessEqual({"cantilever/base", "cantilever/data/text", "apps", "tools/setup", "tests/house"}, found)


class PlantedViolations(PlantedTree):
    def setUp(self):
        super().setUp()
        self.plant("cantilever/base/error.h")
        self.plant("tests/base/error_test.cpp")
        self.plant("tools/setup/setup.sh")
        self.page = "`cantilever/base/` `tests/` `tools/` `tools/setup/`\n"

    def problems(self):
        self.plant("ARCHITECTURE.md", self.page)
        return architecture.problems(self.root)

    def test_a_clean_tree_has_none(self):
        self.assertEqual(self.problems(), [])

    def test_a_folder_that_the_page_leaves_out(self):
        self.plant("cantilever/data/image/decode.h")
        self.assert_one_problem(self.problems(), "does not name `cantilever/data/image/`")

    def test_a_tests_folder_that_mirrors_no_room(self):
        self.plant("tests/fuzz/corpus/one.jpg")
        self.assert_one_problem(self.problems(), "does not name `tests/fuzz/`")

    def test_a_folder_that_does_not_exist(self):
        self.page += "`cantilever/distributed/`\n"
        self.assert_one_problem(self.problems(), "names `cantilever/distributed/`, which does not exist")

    def test_a_file_that_does_not_exist(self):
        self.page += "`tools/setup/setup.sh` `tools/setup/teardown.sh`\n"
        self.assert_one_problem(self.problems(), "names `tools/setup/teardown.sh`, which does not exist")

    def test_a_folder_without_files_need_not_be_named(self):
        (self.root / "cantilever" / "empty").mkdir()
        self.plant("cantilever/base/__pycache__/x.pyc")
        self.assertEqual(self.problems(), [])

    def test_a_missing_page(self):
        self.assert_one_problem(architecture.problems(self.root), "is missing")


if __name__ == "__main__":
    unittest.main()
