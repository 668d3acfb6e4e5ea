"""The page of how fast it is: runs the scripts one after the other, and writes what they print.

    python benchmarks/page.py                      # docs/performance.md
    python benchmarks/page.py --gpu --data rows/   # docs/performance_gpu.md, on a machine with a GPU
    python benchmarks/page.py --only start step    # some scripts, printed

Above the tables of all scripts stands one of every aim, with its peer, its floor and whether it is met.
A script that fails is said to have failed, and the others run all the same.
"""

import argparse
import ast
import json
import os
import platform
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from _common import Aim, aims_table, machine

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"


@dataclass(frozen=True)
class Script:
    """A part of the page: a script, its arguments, and what they are about."""

    title: str
    name: str
    arguments: str = ""
    threads: bool = False  # whether it is about programs as they are run, with all cores


SCRIPTS = (
    Script("What a constraint costs", "step", "--seconds 2"),
    Script("What the players cost", "players", "--seconds 2"),
    Script("Ten classes", "several_classes", "--seconds 3 --repeats 100"),
    Script("Lattices", "lattice", "--only speed --seconds 0.3"),
    Script("Adult's whole table", "adult"),
    Script("Boosted trees", "boosted", "--seeds 1 --repeats 5"),
    Script("Any classifier", "oracle"),
    Script("Peers", "peers"),
    Script("The compiler", "compile"),
    Script("Tables", "tables"),
    Script("Reading files", "reading"),
    Script("Rows on disk", "scale", "--rows 2_000_000"),
    Script("Several processes", "processes", "--rows 50_000"),
    Script("Starting", "start", "--repeats 5"),
)
GPU_SCRIPTS = (
    Script("On a GPU", "gpu"),
    Script("What a constraint costs", "step", "--device cuda --seconds 1"),
    Script("Lattices", "lattice", "--only speed --seconds 0.5"),
    Script("The paper's tables", "reproduced", "--device cuda", threads=True),
)
LIBRARIES = """numpy scipy scikit-learn torch triton numba lightgbm xgboost xgboost-cpu pandas pyarrow
    cooper-optim fairlearn pytorch-lattice"""
ABOUT = """Written by `{command}`, which runs `benchmarks/` again. {where}.

Every time is compared with others of the same run: the *floor*, the work that cannot be avoided (the
same learner's step without constraints, Python alone, reading alone), and, if there is one, a *peer*,
another library that does the same. Ratios carry over to other machines, times do not. Missed aims are
marked. What models reach, rather than how fast, is in [measured.md](measured.md); rows on disk and
several processes are in [scale.md](scale.md){others}."""


@dataclass(frozen=True)
class Part:
    """What a script left: what it printed, its aims, and how long it took. Without aims it failed."""

    script: Script
    text: str
    aims: list[Aim] | None
    seconds: float


def run(script: Script) -> Part:
    """Run a script in its own process, and show its progress as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        command = [sys.executable, str(HERE / f"{script.name}.py"), *script.arguments.split()]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # enough for small models
        if script.threads:
            del environment["OMP_NUM_THREADS"]
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "--json", str(file)], stdout=subprocess.PIPE, text=True, env=environment
        )
        seconds = time.perf_counter() - start
        if done.returncode or not file.exists():
            return Part(script, done.stdout, None, seconds)
        aims = [Aim(**aim) for aim in json.loads(file.read_text())["aims"]]
        return Part(script, done.stdout, aims, seconds)


def section(part: Part) -> str:
    """A script's part of the page: what it is about, in its own words, and what it printed."""
    path = HERE / f"{part.script.name}.py"
    about = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    command = f"benchmarks/{path.name} {part.script.arguments}".strip()
    ended = f"It took {part.seconds:.0f} s." if part.aims is not None else "**It failed.**"
    return f"## {part.script.title}\n\n{about}\n\n`{command}`. {ended}\n\n{part.text.strip()}\n"


def page(parts: list[Part], command: str, gpu: str) -> str:
    aims = [aim for part in parts for aim in part.aims or ()]
    met = sum(aim.met for aim in aims)
    failed = [part.script.name for part in parts if part.aims is None]
    other = "on a GPU" if not gpu else "on a CPU"
    link = "performance_gpu.md" if not gpu else "performance.md"
    about = ABOUT.format(
        command=command, where=where(gpu), others=f"; how fast it is {other} in [{link}]({link})"
    )
    verdict = f"{met} of {len(aims)} are met" + (f"; failed: {', '.join(failed)}" if failed else "")
    lines = [
        "# Performance" + (" on a GPU" if gpu else ""),
        *(textwrap.fill(paragraph, 120) for paragraph in about.split("\n\n")),
        f"## Aims\n\n{aims_table(aims)}\n\n{verdict}.",
        *map(section, parts),
    ]
    return "\n\n".join(lines)


def where(gpu: str) -> str:
    """The machine, the versions of everything, and the commit."""
    versions = []
    for library in LIBRARIES.split():
        try:
            versions.append(f"{library} {metadata.version(library)}")
        except metadata.PackageNotFoundError:
            continue
    named = subprocess.run(
        ["git", "-C", str(HERE), "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    commit = named.stdout.strip() or "an unknown commit"
    on = f"{gpu}, {machine()}" if gpu else machine()
    today = time.strftime("%Y-%m-%d")
    return f"{today}, {commit}, {on}, {platform.system()}, {', '.join(versions)}, one thread"


def gpu_name() -> str:
    import torch

    return torch.cuda.get_device_name()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", action="store_true", help="what runs on a GPU")
    parser.add_argument("--only", nargs="+", metavar="SCRIPT", help="some scripts alone, printed")
    parser.add_argument("--out", type=Path, help="the file to write")
    parser.add_argument("--data", help="folder of the experiments' files, with --gpu")
    given = parser.parse_args()
    scripts = [
        script
        for script in (GPU_SCRIPTS if given.gpu else SCRIPTS)
        if given.only is None or script.name in given.only
    ]
    parts = []
    for number, script in enumerate(scripts, 1):
        print(f"{number} of {len(scripts)}: {script.name}", file=sys.stderr, flush=True)
        more = f" --data {given.data}" if script.name == "reproduced" and given.data else ""
        parts.append(run(replace(script, arguments=script.arguments + more)))
        print(f"  {parts[-1].seconds:.0f} s", file=sys.stderr, flush=True)
    written = page(
        parts, "make bench-gpu" if given.gpu else "make bench", gpu_name() if given.gpu else ""
    )
    if given.only is not None and given.out is None:
        print(written)
        return
    out = given.out or DOCS / ("performance_gpu.md" if given.gpu else "performance.md")
    out.write_text(written, "utf-8")
    print(f"written: {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
