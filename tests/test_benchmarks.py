"""The benchmarks, which no test runs: what they import is there, and the page finds its scripts."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

import ratebound as rb

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


@pytest.fixture
def common(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("_common")
    for name in ("_common", "page"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_benchmark_takes_of_the_package_is_there(script):
    text = SCRIPTS[script].read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ratebound"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
    if "import ratebound as rb" in text:
        assert set(re.findall(r"\brb\.([A-Za-z]\w*)", text)) <= {*rb.__all__, "solution"}


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_what_benchmarks_take_of_each_other_is_there(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        beside = path.with_name(f"{getattr(node, 'module', '')}.py")
        other = beside if beside.exists() else FOLDER / beside.name
        if isinstance(node, ast.ImportFrom) and other.exists():
            assert {alias.name for alias in node.names} <= defined(other)


def defined(path):
    """The names that a module gives to others."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def test_the_page_is_of_scripts_that_are_there(common):
    page = importlib.import_module("page")
    for script in (*page.SCRIPTS, *page.GPU_SCRIPTS):
        text = SCRIPTS[script.name].read_text("utf-8")
        flags = [word for word in script.arguments.split() if word.startswith("--")]
        assert all(f'"{flag}"' in text for flag in flags), script
        assert "tell(" in text, script


def test_an_aim_is_judged_by_its_floor_its_peer_or_itself(common):
    aim = common.Aim("a step", 1.5, 3.0, floor=2.0, peer=4.0, who="Cooper", note="m = 4")
    assert aim.met
    assert aim.row() == [
        "a step (m = 4)",
        "Cooper 4 ms",
        "2 ms",
        "3 ms",
        "1.50x",
        "1.5x floor",
        "met",
    ]
    assert not common.Aim("a step", 0.7, 3.0, floor=2.0, peer=4.0, by="peer").met
    alone = common.Aim("a start", 0.15, 0.2, "s", floor=0.1, by="itself")
    assert alone.row()[-4:] == ["0.2 s", "2.00x", "0.15 s", "**MISSED**"]


def test_of_several_cases_the_worst_is_told(common):
    cases = [
        common.Aim("a step", 1.5, ms, floor=2.0, note=f"m = {m}") for m, ms in ((4, 2.0), (9, 4.0))
    ]
    worst = common.worst_of(cases)
    assert (worst.measured, worst.note) == (4.0, "1 of 2 cases; the worst: m = 9")
    assert common.worst_of(cases[:1]) == cases[0]
