"""All of the paper's tables in one process, as `ratebound reproduce all` makes them: seconds of each.

A table's seconds are all that it takes: loading and compiling its rows, playing its games with every
setting side by side, solving, drawing and writing. The first also starts the device. All together are
counted from before the process is started, so that its imports count too. Problems whose files are not
in the folder are left out, and then the aim, which is of all seven, is not judged.
"""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import Aim, machine, markdown, options, tell

from ratebound._old.base.choices import EXPERIMENTS

AIM = 45.0  # seconds for all seven
TRAINING = {"adult": 1.0}  # seconds of training alone


def made(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """For each table its seconds, the seconds of training, and its epochs; or why it was left out."""
    from ratebound_experiments.reproduce import reproduce

    found: dict[str, Any] = {}
    for name in given.only:
        start, file = time.perf_counter(), folder / "table.json"
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                reproduce(
                    name, given.data, out=folder / name, json=str(file), device=given.device, quiet=True
                )
        except (FileNotFoundError, ValueError) as error:
            found[name] = str(error).splitlines()[0]
            continue
        table = json.loads(file.read_text())
        found[name] = [time.perf_counter() - start, table["seconds"], table["epochs"]]
    return found


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--data", type=Path, help="folder of the files that do not ship with the package"
    )
    parser.add_argument("--device", help="where PyTorch trains, such as cuda")
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)  # a folder to work in
    given = parser.parse_args()
    if given.here:
        print(json.dumps(made(given, given.here)))
        return
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, *sys.argv, "--here", folder]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        total = time.perf_counter() - start
    found = json.loads(done.stdout)
    seconds = {name: each[0] for name, each in found.items() if isinstance(each, list)}
    lines = [
        [name, f"{each[0]:.1f}", f"{each[1]:.1f}", str(each[2]), ""]
        if name in seconds
        else [name, "", "", "", f"left out: {each}"]
        for name, each in found.items()
    ]
    print(f"Seconds on {given.device or 'the CPU'}, {machine()}; {total:.1f} in all.\n")
    print(markdown(["table", "seconds", "of which training", "epochs", ""], lines))
    whole = len(seconds) == len(EXPERIMENTS)
    aims = [
        Aim(f"training for the table of {name}, every setting", most, found[name][1], "s", by="itself")
        for name, most in TRAINING.items()
        if name in seconds
    ]
    aims += [Aim("all seven tables of the paper", AIM, total, "s", by="itself")] * whole
    tell(seconds | ({"in all": total} if whole else {}), aims, given.json)


if __name__ == "__main__":
    main()
