"""Whether anything got slower since a commit: the same scripts on both versions, measured in turn.

    python benchmarks/before_after.py bfe99c2

The scripts are from this checkout; only the source that they import is from the commit, which is
unpacked into its own folder. Both versions take turns, and the fastest run counts. Anything more than a
tenth slower is measured once more before it is reported. Numbers of other libraries, whose code is the
same in both, say how much of a difference is the machine's.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from _common import machine, markdown

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SLOWER = 1.1  # times, from which on it is flagged
OTHERS = ("PyTorch", "Cooper")  # libraries whose own steps some scripts measure too
SCRIPTS = {  # a table each: a script and its arguments
    "step": "step --constraints 4 20 100 1000 --seconds 1",
    "step, SwapRegret": "step --player swap --constraints 4 100 400 --batches 1024 --seconds 1",
    "several classes": "several_classes --seconds 1 --repeats 60",
    "lattices": "lattice --only speed --seconds 0.2",
    "compile": "compile --groups 250 1000",
    "Adult": "adult",
    "start": "start --repeats 2",
}
Cells = dict[str, float]  # milliseconds or seconds by what they are of; less is better


def unpacked(commit: str, folder: Path) -> Path:
    """The source of a commit, in this folder."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "src"], check=True, stdout=subprocess.PIPE
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def measured(command: str, source: Path) -> Cells:
    """What a script measures on a version of the source; nothing where it fails, as it then says."""
    name, *arguments = command.split()
    paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        run = [sys.executable, str(HERE / f"{name}.py"), *arguments, "--json", str(file)]
        done = subprocess.run(run, env=environment, stdout=subprocess.DEVNULL)
        if done.returncode:
            print(f"  {command} failed on {source}", file=sys.stderr, flush=True)
            return {}
        return json.loads(file.read_text())["cells"]


def in_turn(command: str, sources: list[Path], rounds: int, best: list[Cells]) -> None:
    """Measure all versions `rounds` times more, in turn, and keep the least of each number."""
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):  # who comes first has a cooler machine
            for cell, value in measured(command, sources[side]).items():
                best[side][cell] = min(value, best[side].get(cell, value))


def ratios(best: list[Cells]) -> Cells:
    before, after = best
    return {cell: after[cell] / before[cell] for cell in before if cell in after and before[cell] > 0}


def slower(best: list[Cells]) -> Cells:
    """The cells of ours that take more than a tenth longer than they did."""
    return {cell: ratio for cell, ratio in ratios(best).items() if ratio > SLOWER and is_ours(cell)}


def is_ours(cell: str) -> bool:
    return cell.rpartition(": ")[2] not in OTHERS and not cell.startswith(
        ("Python", "import numpy", "import s")
    )


def table(best: list[Cells]) -> str:
    """A line for each case, a column for each contender: before, after, and how many times as long."""
    lines: dict[str, Cells] = defaultdict(dict)
    for cell, ratio in ratios(best).items():
        case, _, contender = cell.rpartition(": ")
        lines[case or contender][contender if case else ""] = ratio
    columns = list(dict.fromkeys(column for line in lines.values() for column in line))

    def shown(case: str, column: str) -> str:
        cell = f"{case}: {column}" if column else case
        if column not in lines[case]:
            return ""
        flag = " **slower**" if cell in slower(best) else ""
        return f"{best[0][cell]:.3g} → {best[1][cell]:.3g} ({lines[case][column]:.2f}x){flag}"

    named = [column or "before → after" for column in columns]
    return markdown(["", *named], [[case, *(shown(case, c) for c in columns)] for case in lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", help="what to compare with")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each script on each version")
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=list(SCRIPTS), metavar="TABLE")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    flagged: dict[str, Cells] = {}
    with tempfile.TemporaryDirectory() as folder:
        sources = [unpacked(given.commit, Path(folder)), ROOT / "src"]
        print(f"Before: {given.commit}; after: this checkout. On {machine()}.\n")
        print("In brackets: after / before. Seconds or milliseconds, as the script has them.")
        for name in given.only:
            print(f"{name}: {SCRIPTS[name]}", file=sys.stderr, flush=True)
            best: list[Cells] = [{}, {}]
            in_turn(SCRIPTS[name], sources, given.rounds, best)
            if slower(best):
                print(f"  once more, for {len(slower(best))} cells", file=sys.stderr, flush=True)
                in_turn(SCRIPTS[name], sources, 2, best)
            flagged[name] = slower(best)
            print(
                f"\n### {name[0].upper()}{name[1:]}\n\n`benchmarks/{SCRIPTS[name]}`\n\n{table(best)}",
                flush=True,
            )
            same = [ratio for cell, ratio in ratios(best).items() if not is_ours(cell)]
            if same:
                low, high = np.quantile(same, [0.1, 0.9])
                print(f"\nCode that is the same in both: {low:.2f}x to {high:.2f}x (eight in ten).")
            lacking = set(best[0]) ^ set(best[1])
            if lacking:
                print(f"\nMeasured on one version only: {len(lacking)} cells.")
    print("\n### Slower by more than a tenth, measured again\n")
    found = [
        f"- {name}, {cell}: {ratio:.2f}x"
        for name, cells in flagged.items()
        for cell, ratio in cells.items()
    ]
    print("\n".join(found) or "None.")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
