"""The bars. What is over one today may stay until it is mended, and may not become more: see `ratchet.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.house import measure, ratchet
from tests.house.__main__ import summary, table
from tests.house.ratchet import grown, load, more, wider, written_more
from tests.house.tree import Tree, tree
from tests.house.writes import writes

REMEDY = "\nTo see all places: python -m tests.house --places. What fell is kept by: python -m tests.house --update"


@pytest.fixture(scope="module")
def source() -> Tree:
    return tree()


@pytest.fixture(scope="module")
def today(source: Tree) -> ratchet.Figures:
    return ratchet.figures(source)


def _fail_if(found: list[str], bar: str) -> None:
    if found:
        pytest.fail(f"{bar}:\n" + "\n".join(found) + REMEDY, pytrace=False)


@pytest.mark.parametrize("whens", measure.WHENS)
def test_no_further_module_joins_a_circle_of_imports(whens: str, source: Tree, today: ratchet.Figures) -> None:
    recorded, now = load()["circles"][whens], today["circles"][whens]
    found: list[str] = []
    if wider(recorded, now):
        joined = sorted(set(now["modules"]) - set(recorded["modules"]))
        links = [
            link
            for circle in measure.circles(source, measure.WHENS[whens])
            if not set(joined).isdisjoint(circle.modules)
            for link in measure.links(source, circle, measure.WHENS[whens])
        ]
        found = [f"joined: {', '.join(joined)}", *links]
    _fail_if(found, f"imports in a circle, {whens}")


def test_no_function_grows_over_60_lines(source: Tree, today: ratchet.Figures) -> None:
    over = grown(load()["long functions"], today["long functions"])
    found = [f"{one.place}: {one.lines} lines" for one in measure.long_functions(source) if one.name in over]
    _fail_if(found, f"functions of more than {measure.LONGEST_FUNCTION} lines, and longer than before")


def test_no_module_grows_over_600_lines(source: Tree, today: ratchet.Figures) -> None:
    over = grown(load()["long modules"], today["long modules"])
    modules = [one for one in measure.long_modules(source) if one.name.split(".")[-1] in over]
    found = [f"{one.path}: {one.lines} lines" for one in modules]
    _fail_if(found, f"modules of more than {measure.LONGEST_MODULE} lines, and longer than before")


def test_no_class_grows_over_20_public_methods(source: Tree, today: ratchet.Figures) -> None:
    over = grown(load()["broad classes"], today["broad classes"])
    classes = [one for one in measure.broad_classes(source) if one.name in over]
    found = [f"{one.place}: {len(one.methods)}: {', '.join(sorted(one.methods))}" for one in classes]
    _fail_if(found, f"classes with more than {measure.MOST_METHODS} public methods, and more than before")


def test_no_package_writes_more_into_other_objects(source: Tree, today: ratchet.Figures) -> None:
    over = written_more(load()["writes"], today["writes"])
    found = [
        str(one)
        for one in writes(source)
        for package, names in over.items()
        if not one.through_self and one.function.module.package == package and one.function.name in names
    ]
    _fail_if(found or [f"in {one or 'the tree'}" for one in over], "more writes into other objects")


def test_no_more_is_written_through_self(source: Tree, today: ratchet.Figures) -> None:
    over = more(load()["writes through self"], today["writes through self"])
    found = [str(one) for one in writes(source) if one.through_self and one.function.name in over]
    _fail_if(found, "more writes into objects that are reached through self")


def test_no_module_reaches_further_into_private_parts_of_another(source: Tree, today: ratchet.Figures) -> None:
    over = more(load()["private reach"], today["private reach"])
    _fail_if([one.place for one in measure.private_reach(source) if one.name in over], "private parts of other modules")


def test_tools_tasks_and_toolkit_use_what_users_have(source: Tree, today: ratchet.Figures) -> None:
    over = more(load()["not public"], today["not public"])
    found = [
        f"{module.path}:{one.line} imports {one.name} of {one.source}, which antiphon does not export"
        for one, module in measure.not_public(source)
        if f"{module.package}: {one.name}" in over
    ]
    _fail_if(found, "our own tools need what users do not have")


# -- that the measures measure


def _tree(folder: Path, **files: str) -> Tree:
    (folder / "antiphon").mkdir()
    for name, text in {"__init__": "", **files}.items():
        (folder / "antiphon" / f"{name}.py").write_text(text)
    return tree(folder)


def _written(folder: Path, text: str) -> list[str]:
    return [f"{'self: ' if one.through_self else ''}{one.what}" for one in writes(_tree(folder, m=text))]


def test_circles_are_found_through_types_and_local_imports(tmp_path: Path) -> None:
    of = _tree(
        tmp_path,
        a="from antiphon import b\n",
        b="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from antiphon.a import X\n",
        c="from antiphon.a import X\ndef f():\n    from antiphon.d import g\n",
        d="from antiphon import c\n",
    )
    found = {name: [one.modules for one in measure.circles(of, whens)] for name, whens in measure.WHENS.items()}

    assert found["run time"] == []
    assert found["with types"] == [("antiphon.a", "antiphon.b")]
    assert sorted(found["with local"]) == [("antiphon.a", "antiphon.b"), ("antiphon.c", "antiphon.d")]


@pytest.mark.parametrize(
    "line",
    [
        "x.y = 1", "x.y += 1", "del x.y", "x.y[0] = 1", "x.y.z = 1", "x.items.append(1)", "setattr(x, 'y', 1)",
        "a, x.y = 1, 2", "given.append(1)", "given[0] = 1", "y = x.turn; y.z = 1", "for x.y in (): pass",
        "object.__setattr__(x, 'y', 1)", "y = find(); y.z = 1",
    ],
)  # fmt: skip
def test_a_write_into_another_object_counts(line: str, tmp_path: Path) -> None:
    text = "class A:\n    items: list[int]\n    y: dict[int, int]\n" + f"def f(x, given: list[int]):\n    {line}\n"
    assert len(_written(tmp_path, text)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "self.y = 1", "self.items.append(1)", "y = Thing(); y.z = 1", "y = []; y.append(1)", "TABLE[1] = 2", "y = 1",
        "y = copy.copy(x); y.z = 1", "x.speeches.add(1)", "y = [*x]; y[0] = 1", "x.y == 1",
    ],
)  # fmt: skip
def test_what_is_ones_own_does_not_count(line: str, tmp_path: Path) -> None:
    text = "TABLE = {}\nclass A:\n    items: list[int]\n" + f"    def f(self, x):\n        {line}\n"
    assert _written(tmp_path, text) == []


def test_a_name_that_is_also_bound_to_what_was_there_is_not_made_here(tmp_path: Path) -> None:
    assert _written(tmp_path, "def f(x):\n    y = Thing()\n    y = x.y\n    y.z = 1\n") == ["y.z = 1"]


def test_a_setter_in_disguise_counts(tmp_path: Path) -> None:
    text = 'class A:\n    def set_y(self, y):\n        """Doc."""\n        self.y = y\n    def stop(self): self.y = 1\n'
    assert _written(tmp_path, text) == ["a setter"]


def test_a_write_through_self_is_counted_apart(tmp_path: Path) -> None:
    text = "class A:\n    def f(self):\n        self.x.y = 1\n"
    assert _written(tmp_path, text) == ["self: self.x.y = 1"]


def test_methods_of_our_own_bases_count_and_those_of_an_agent_do_not(tmp_path: Path) -> None:
    methods = "".join(f"    def m{number}(self): ...\n" for number in range(15))
    more_methods = "".join(f"    def n{number}(self): ...\n" for number in range(15))
    of = _tree(
        tmp_path,
        a=f"class Base:\n{methods}class Agent:\n{methods}",
        b=f"from antiphon.a import Agent, Base\nclass X(Base):\n{more_methods}class Y(Agent):\n{more_methods}",
    )
    assert [(one.name, len(one.methods)) for one in measure.broad_classes(of)] == [("X", 30)]


def test_private_parts_of_another_module_are_seen(tmp_path: Path) -> None:
    of = _tree(
        tmp_path,
        a="class A:\n    def _inner(self): ...\n",
        b="class B:\n    def f(self, a):\n        a._inner(); self._inner(); a.__class__\n",
    )
    assert [one.name for one in measure.private_reach(of)] == ["_inner"]


# -- that the ratchet holds, and lets move


def test_what_moved_or_got_another_name_has_not_grown() -> None:
    assert grown({"A.f": 70, "B.g": 100}, {"A.f": 70, "C.h": 100}) == {}
    assert grown({"A.f": 70, "B.g": 100}, {"A.f": 71, "B.g": 99}) == {"A.f": 71}
    assert grown({"A.f": 70}, {"A.f": 70, "B.g": 61}) == {"B.g": 61}


def test_a_new_place_counts_if_all_together_are_more() -> None:
    assert more({"_a": 2}, {"_a": 1, "_b": 1}) == []
    assert more({"_a": 2}, {"_a": 2, "_b": 1}) == ["_b"]


def test_a_module_of_a_circle_may_be_split_and_none_may_join() -> None:
    before = {"modules": ["a", "b"], "lines": 1000}
    assert not wider(before, {"modules": ["a", "b", "b2"], "lines": 1030})
    assert wider(before, {"modules": ["a", "b", "c"], "lines": 1300})
    assert wider({"modules": [], "lines": 0}, {"modules": ["a", "b"], "lines": 40})


def _packages(**counts: tuple[int, dict[str, int]]) -> dict[str, Any]:
    return {name: {"lines": lines, "places": places} for name, (lines, places) in counts.items()}


def test_a_write_that_is_new_is_a_rise_and_one_that_moved_is_not() -> None:
    before = _packages(core=(1000, {"A.f": 9, "B.g": 9}), runtime=(1000, {"C.h": 9}))

    rose = _packages(core=(1000, {"A.f": 9, "B.g": 9, "D.i": 1}), runtime=(1000, {"C.h": 9}))
    moved = _packages(core=(900, {"B.g": 9}), runtime=(1100, {"C.h": 9, "A.f": 9}))
    few = _packages(core=(9000, {"A.f": 9, "B.g": 9, "D.i": 1}), runtime=(1000, {"C.h": 9}))

    assert written_more(before, rose) == {"core": ["D.i"], "": ["D.i"]}
    assert written_more(before, moved) == {}
    assert written_more(before, few) == {}


def test_the_ratchet_refuses_to_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratchet, "FILE", tmp_path / "ratchet.json")
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    before = _tree(tmp_path / "before", m="def f():\n    pass\n")
    after = _tree(tmp_path / "after", m="def f():\n" + "    pass\n" * 80)

    assert ratchet.update(before) == []
    assert ratchet.update(after) == ["long functions: f 81"]
    assert load() == ratchet.figures(before)


def test_the_table_names_every_bar(source: Tree) -> None:
    told = table(source)
    assert str(summary(source)["longest function"]["lines"]) in told
    assert told.count("\n") == 12
