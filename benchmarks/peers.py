"""Every peer's speed beside ratebound's, the losses too, in one table.

Each peer has an environment of its own under build/peers, made when it is first needed, which sees this
one's libraries behind its own. There ratebound runs beside the peer in one process, so that each ratio
is from one run. A peer that cannot be installed, or does not run, is listed with the reason. The parts,
with one function for each peer, are in the folder of this name.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

from _common import machine, markdown, options, tell
from environments import HERE, Environment, Failed, finished, python_of

LIMIT = 180  # seconds for a peer to run, after it is installed


@dataclass(frozen=True)
class Peer:
    """A library, what to install for it, and the part that runs it."""

    name: str
    part: str
    requires: tuple[str, ...] = ()  # nothing: it is among this environment's libraries
    options: tuple[str, ...] = ()

    @property
    def environment(self) -> Environment:
        return Environment(self.name.split()[0].lower(), self.requires, self.options)


FAIRLEARN = ("fairlearn==0.15.0",)
PEERS = (
    Peer("PyTorch", "steps"),
    Peer("Cooper", "steps", ("cooper-optim==1.0.1",)),
    Peer("humancompatible-train", "steps", ("humancompatible-train==0.4.2",)),
    Peer("fairret", "steps", ("fairret==0.1.3",)),
    Peer("scikit-learn", "fits"),
    Peer("Fairlearn ExponentiatedGradient", "fits", FAIRLEARN),
    Peer("Fairlearn GridSearch", "fits", FAIRLEARN),
    Peer("LightGBM", "fits"),
    Peer("FairGBM", "fits", ("fairgbm==0.9.14",)),
    # It asks for NumPy below 2 and runs with later ones.
    Peer("pytorch-lattice", "lattices", ("pytorch-lattice==0.2.0", "pydantic>=2"), ("--no-deps",)),
)


def lines_of(peer: Peer) -> list[dict[str, Any]]:
    command = [str(python_of(peer.environment)), str(HERE / "peers" / f"{peer.part}.py"), peer.name]
    found: list[dict[str, Any]] = json.loads(
        finished(command, LIMIT, "it does not run").splitlines()[-1]
    )
    return found


@dataclass(frozen=True)
class Compared:
    """A peer on one task, and one of ratebound's ways to do it."""

    line: dict[str, Any]
    way: str

    @property
    def ratio(self) -> float:
        """How many times ratebound's time the peer takes."""
        return float(self.line["result"]["time"] / self.line["own"][self.way]["time"])

    def row(self) -> list[str]:
        line, theirs, ours = self.line, self.line["result"], self.line["own"][self.way]
        note = f" ({theirs['note']})" if theirs["note"] else ""
        faster = self.ratio >= 1
        return [
            line["task"], line["peer"] + note, took(theirs, line["unit"]),
            self.way, took(ours, line["unit"]),
            f"{short(self.ratio)}x faster" if faster else f"**{short(1 / self.ratio)}x slower**",
            reached(theirs), reached(ours),
        ]  # fmt: skip

    def words(self) -> str:
        task, peer, theirs, way, ours, factor, its, own = self.row()
        with_it = f", {its}, and ours {own}" if its else ""
        return f"- {task}: {peer} takes {theirs}, ours ({way}) {ours}: {factor.strip('*')}{with_it}"


def took(result: dict[str, Any], unit: str) -> str:
    return f"{short(result['time'])} {unit}"


def short(number: float) -> str:
    """Three digits, or all before the point.

    >>> short(0.12345), short(5617.2)
    ('0.123', '5,617')
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def reached(result: dict[str, Any]) -> str:
    if result["error"] is None:
        return ""
    return f"{result['error']:.4f} / {result['violation']:+z.4f}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--only", nargs="+", metavar="PEER", help="these peers, by the start of their names"
    )
    given = parser.parse_args()
    chosen = [
        peer
        for peer in PEERS
        if given.only is None or any(peer.name.lower().startswith(n.lower()) for n in given.only)
    ]
    table, left_out = [], []
    for peer in chosen:
        print(f"{peer.name} ...", file=sys.stderr, flush=True)
        try:
            lines = lines_of(peer)
        except Failed as failed:
            left_out.append(f"- {peer.name}: {failed}")
            continue
        table += [Compared(line, way) for line in lines for way in line["own"]]

    print(f"Every peer beside ratebound, on {machine()}, one thread; each row is from one process.")
    print("Reached: error / worst violation on the training rows, kept where <= 0.\n")
    header = ["task", "peer", "its time", "ours", "our time", "ours is", "it reaches", "ours reaches"]
    print(markdown(header, [one.row() for one in table]))
    losses = [one for one in sorted(table, key=lambda one: one.ratio) if one.ratio < 1]
    for words, floor in (
        ("Where ratebound loses", False),
        ("What promises cost, beside the same work without any", True),
    ):
        listed = [one.words() for one in losses if one.line["floor"] == floor] or ["Nowhere here."]
        print(f"\n### {words}\n\n" + "\n".join(listed))
    if left_out:
        print("\n### Not in the table\n\n" + "\n".join(left_out))
    cells = {
        f"{one.line['task']}: {one.way}, beside {one.line['peer']}": one.line["own"][one.way]["time"]
        for one in table
    }
    tell(cells, [], given.json)


if __name__ == "__main__":
    main()
