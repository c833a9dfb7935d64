"""Who may know whom: tools/lint/include_table.json against every include, and proof that it bites."""

import unittest

from planted_tree import ROOT, PlantedTree

import includes


class TheProduct(unittest.TestCase):
    maxDiff = None

    def test_keeps_the_table(self):
        self.assertEqual("\n".join(includes.problems(ROOT)), "")

    def test_was_looked_at(self):
        checker = includes.Checker(ROOT)
        rooms = {checker.room_of(p.relative_to(ROOT).as_posix()) for p in (ROOT / "cantilever").rglob("*.h")}
        self.assertGreater(len(rooms), 5)

    def test_rooms_of_the_table_exist(self):
        for room in includes.load_table()["rooms"]:
            self.assertTrue((ROOT / room).is_dir(), f"{room} is in the table and nowhere else")


class TheTable(unittest.TestCase):
    def setUp(self):
        self.rooms = includes.load_table()["rooms"]

    def test_names_rooms_and_libraries_that_it_has(self):
        libraries = set(includes.load_table()["libraries"])
        for name, room in self.rooms.items():
            self.assertLessEqual(set(room["rooms"]), set(self.rooms), name)
            self.assertLessEqual(set(room["libraries"]), libraries, name)

    def test_has_no_circle(self):
        for name, room in self.rooms.items():
            for other in room["rooms"]:
                self.assertNotIn(name, self.rooms[other]["rooms"], f"{name} and {other} know each other")

    def test_draws_the_torch_line(self):
        below = ["cantilever/base", "cantilever/io"] + [r for r in self.rooms if r.startswith("cantilever/data/")]
        self.assertEqual(len(below), 8)
        for room in below:
            self.assertNotIn("torch", self.rooms[room]["libraries"])
            for other in self.rooms[room]["rooms"]:
                self.assertIn(other, below)


class PlantedViolations(PlantedTree):
    def setUp(self):
        super().setUp()
        for name in ("base/error.h", "io/json.h", "ops/gelu.h", "data/batch_tensors.h", "data/order/order.h"):
            self.plant(f"cantilever/{name}")

    def problems(self):
        return includes.problems(self.root)

    def test_a_clean_tree_has_none(self):
        self.plant("cantilever/io/x.cpp", '#include "cantilever/base/error.h"\n#include <vector>\n#include <sys/mman.h>\n')
        self.plant("cantilever/data/loader/x.cpp", '#include "cantilever/data/order/order.h"\n')
        self.plant("cantilever/ops/x.h", "#include <ATen/core/Tensor.h>\n")
        self.assertEqual(self.problems(), [])

    def test_a_lower_room_that_knows_a_higher_one(self):
        self.plant("cantilever/base/x.cpp", '\n  #  include "cantilever/io/json.h"\n')
        self.assert_one_problem(self.problems(), "cantilever/base/x.cpp:2", "cantilever/base may not know cantilever/io")

    def test_torch_below_the_line(self):
        self.plant("cantilever/data/order/x.cpp", "#include <torch/types.h>\n")
        self.assert_one_problem(self.problems(), "may not know torch")

    def test_the_way_round_through_batch_tensors(self):
        self.plant("cantilever/data/order/x.cpp", '#include "cantilever/data/batch_tensors.h"\n')
        self.assert_one_problem(self.problems(), "cantilever/data/order may not know cantilever/data")

    def test_a_library_header_in_a_header(self):
        self.plant("cantilever/base/x.h", "#include <spdlog/spdlog.h>\n")
        self.assert_one_problem(self.problems(), "spdlog only in .cpp files")

    def test_a_library_in_a_file_that_is_not_listed(self):
        self.plant("cantilever/io/x.cpp", "#include <nlohmann/json.hpp>\n")
        self.assert_one_problem(self.problems(), "nlohmann-json only in cantilever/io/json.h")

    def test_an_unknown_library(self):
        self.plant("cantilever/base/x.cpp", "#include <boost/optional.hpp>\n")
        self.assert_one_problem(self.problems(), "neither a standard header")

    def test_an_own_header_in_angle_brackets_or_from_elsewhere(self):
        self.plant("cantilever/io/x.cpp", '#include <cantilever/base/error.h>\n#include "json.h"\n')
        self.assertEqual(len(self.problems()), 2)

    def test_a_folder_that_is_no_room(self):
        self.plant("cantilever/attic/x.cpp")
        self.assert_one_problem(self.problems(), "no room")


if __name__ == "__main__":
    unittest.main()
