"""Running every contender on every problem, each in its own environment; earlier results are kept.

A contender's decisions are in build/peers/found, one file for each split, named by a digest of its code,
its versions and the split. So a run only fills gaps, and the judge may change without a run.
"""

import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from _judge import Verdict, judged
from _problems import NotHere, Problem, read
from environments import ENVIRONMENTS, HERE, Environment, Failed, finished, python_of

SECONDS = 60  # of CPU for one fit, at most
WALL = 3600  # for all splits of a problem, on a shared machine
FOUND, SPLITS = ENVIRONMENTS / "found", ENVIRONMENTS / "splits"
NOT_YET = "not run yet"
PACKAGE = HERE.parent / "src" / "ratebound"


@dataclass(frozen=True)
class Way:
    """A contender: a function of a module in this folder, and the environment it runs in."""

    name: str
    module: str
    function: str
    environment: Environment = field(default_factory=lambda: Environment("own"))
    known: bool = False  # whether decisions look at the group
    trees: bool = False

    @property
    def ours(self) -> bool:
        return self.module == "with_ratebound"

    @property
    def floor(self) -> bool:
        return self.module == "with_nothing"

    @property
    def path(self) -> Path:
        return HERE / "peers" / f"{self.module}.py"


@dataclass(frozen=True)
class Fit:
    """The result of one fit: verdicts, or none if the contender has no solution."""

    split: int
    seconds: float
    train: Verdict | None = None
    test: Verdict | None = None
    decided: np.ndarray | None = None  # chances of a yes on new rows


@dataclass(frozen=True)
class Found:
    """A contender on a problem: its fits, and why there are not more."""

    way: Way
    problem: Problem
    fits: tuple[Fit, ...]
    trouble: str = ""


def bare(text: str) -> str:
    """The code of a module without its documentation, so that words do not change a digest."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = body[1:] or [ast.Pass()]
    return ast.dump(tree)


@cache
def own_code() -> str:
    return "".join(bare(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py")))


def modules_of(path: Path) -> list[Path]:
    """A contender's module, and the neighbouring modules that it imports from."""
    named = re.findall(r"^from (_\w+) import", path.read_text("utf-8"), re.MULTILINE)
    beside = [path.with_name(f"{name}.py") for name in named]
    return [path, *(other for other in beside if other.exists())]


def digest(way: Way, problem: Problem, split: Path) -> str:
    parts = [way.function, *map(str, problem.promises), *way.environment.requires]
    parts += [bare(path.read_text("utf-8")) for path in modules_of(way.path)]
    parts += [own_code()] if way.ours else []
    found = hashlib.sha256("\n".join(parts).encode())
    found.update(split.read_bytes())
    return found.hexdigest()[:16]


def split_of(problem: Problem, number: int) -> Path:
    file = SPLITS / f"{problem.name}-{number}.npz"
    if not file.exists():
        problem.write(number, file)
    return file


def run(way: Way, problem: Problem, splits: int, fill: bool) -> str:
    """Fill the gaps of a contender on a problem; returns what went wrong, if anything."""
    wanted = []
    for number in range(splits):
        split = split_of(problem, number)
        out = (
            FOUND
            / f"{problem.name}.{way.module}.{way.function}.{number}.{digest(way, problem, split)}.npz"
        )
        if not out.exists():
            wanted += [str(split), str(out)]
    if not wanted:
        return ""
    FOUND.mkdir(parents=True, exist_ok=True)
    spent = Path(wanted[1]).with_suffix(".txt")  # a fit that failed is not tried again
    if spent.exists():
        return spent.read_text("utf-8")
    if not fill:
        return NOT_YET
    command = [str(python_of(way.environment)), str(HERE / "peers" / "_child.py")]
    try:
        finished(
            [*command, way.module, way.function, problem.name, str(SECONDS), *wanted], WALL, "failed"
        )
    except Failed as failed:
        first = next(Path(out) for out in wanted[1::2] if not Path(out).exists())
        first.with_suffix(".txt").write_text(str(failed), "utf-8")
        return str(failed)
    return ""


def fits_of(way: Way, problem: Problem, splits: int) -> Iterator[Fit]:
    """The existing results of a contender on a problem, judged."""
    for number in range(splits):
        split = split_of(problem, number)
        out = (
            FOUND
            / f"{problem.name}.{way.module}.{way.function}.{number}.{digest(way, problem, split)}.npz"
        )
        if not out.exists():
            continue
        with np.load(out) as arrays:
            seconds = float(json.loads(str(arrays["measured"]))["seconds"])
            if "test" not in arrays:
                yield Fit(number, seconds)
                continue
            rows = read(split, labels=True)
            chances = [arrays[part] for part in ("train", "test")]
        verdicts = [judged(problem.promises, *pair) for pair in zip(chances, rows, strict=True)]
        yield Fit(number, seconds, train=verdicts[0], test=verdicts[1], decided=chances[1])


def everything(
    ways: Sequence[Way], problems: Sequence[Problem], most: int, processes: int, fill: bool = True
) -> tuple[list[Found], list[str]]:
    """Run what is missing; returns all results, and the problems without data here."""
    here, missing = [], []
    for problem in problems:
        try:
            for number in range(min(problem.splits, most)):
                split_of(problem, number)
            here.append(problem)
        except NotHere as reason:
            missing.append(str(reason))
    environments = {way.environment: way for way in ways}
    broken = {}
    for environment in environments:  # one at a time: two would install into the same folder
        try:
            python_of(environment)
        except Failed as failed:
            broken[environment] = str(failed)
    pairs = [(way, problem) for problem in here for way in ways]

    def one(pair: tuple[Way, Problem]) -> Found:
        way, problem = pair
        splits = min(problem.splits, most)
        if way.environment in broken:
            return Found(way, problem, (), broken[way.environment])
        trouble = run(way, problem, splits, fill)
        print(f"{problem.name}: {way.name} {trouble}", file=sys.stderr, flush=True)
        return Found(way, problem, tuple(fits_of(way, problem, splits)), trouble)

    with ThreadPoolExecutor(processes) as pool:
        return list(pool.map(one, pairs)), missing
