"""The page's tables and what they show, from the results."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from _common import markdown
from _counting import user_lines
from _running import Found, Way

HEAD = [
    "",
    "error on new rows",
    "worst violation, training",
    "new rows",
    "kept on new rows",
    "CPU s",
]


def mean(found: Found, value) -> float:
    return float(np.mean([value(fit) for fit in solved(found)]))


def solved(found: Found) -> list:
    return [fit for fit in found.fits if fit.test is not None]


def kept(found: Found) -> int:
    return sum(fit.test.kept for fit in solved(found))


def spread(values: Sequence[float], form: str) -> str:
    return f"{np.mean(values):{form}} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.4f}"


def label(way: Way) -> str:
    name = f"**{way.name}**" if way.ours else way.name
    return name + (" †" if way.known else "")


def row(found: Found) -> list[str]:
    """A contender's row in a problem's table."""
    fits, name = solved(found), label(found.way)
    if not fits:
        words = f"no solution on {len(found.fits)} splits" if found.fits else found.trouble
        return [name, words, *[""] * 4]
    return [
        name,
        spread([fit.test.error for fit in fits], ".4f"),
        f"{mean(found, lambda fit: fit.train.violation):+z.4f}",
        spread([fit.test.violation for fit in fits], "+z.4f"),
        f"{kept(found)} of {len(found.fits)}",
        f"{np.mean([fit.seconds for fit in found.fits]):.2g}",
    ]


def problem_table(every: Sequence[Found]) -> str:
    return markdown(HEAD, [row(found) for found in every])


def summary_table(every: Sequence[Found]) -> str:
    """All problems together: how often promises were kept on new rows, and at what cost."""
    floors = {(one.problem.name, one.way.trees): one for one in every if one.way.floor}
    by_way = defaultdict(list)
    for found in every:
        by_way[found.way].append(found)
    lines = []
    for way, own in by_way.items():
        fits = [fit for found in own for fit in solved(found)]
        if not fits:
            lines.append([label(way), "0", *[""] * 4])
            continue
        tried = sum(len(found.fits) for found in own)
        cost = [
            fit.test.error - base.test.error
            for found in own
            for fit in solved(found)
            for base in solved(floors.get((found.problem.name, way.trees), found))
            if base.split == fit.split
        ]
        lines.append([
            label(way),
            str(sum(bool(solved(found)) for found in own)),
            f"{sum(map(kept, own))} of {tried}",
            f"{np.mean(cost):+.4f}",
            f"{np.mean([fit.seconds for found in own for fit in found.fits]):.2g}",
            str(user_lines(way.path, way.function)),
        ])  # fmt: skip
    heads = ["", "problems", "kept on new rows", "error above the plain model's", "CPU s a fit",
             "lines of user code"]  # fmt: skip
    return markdown(heads, lines)


def like(peer: Way, own: Way) -> bool:
    """Whether two ways can be compared: the same kind of model, and the same columns in decisions."""
    return (
        own.ours
        and not peer.ours
        and not peer.floor
        and (peer.known, peer.trees) == (own.known, own.trees)
    )


@dataclass(frozen=True)
class Pair:
    """A peer and one of ours on the splits that both solved."""

    peer: Found
    own: Found
    splits: int
    kept: tuple[int, int]  # splits kept by the peer and by ours
    broken: tuple[float, float]  # the mean worst violation of the peer and of ours
    less: float  # our error minus the peer's, on average
    error: float  # the standard error of `less`

    @property
    def lost(self) -> bool:
        return self._better(0, 1) and self.less > self.error

    @property
    def won(self) -> bool:
        return self._better(1, 0) and -self.less > self.error

    def _better(self, one: int, other: int) -> bool:
        """Whether one keeps promises at least as often as the other, and breaks them by no more."""
        as_near = self.kept[one] == self.splits or self.broken[one] <= self.broken[other]
        return self.kept[one] >= self.kept[other] and as_near


def pairs(every: Sequence[Found]) -> Iterator[Pair]:
    """All peers with all of ours of their kind, if there are at least two splits."""
    for own, peer in itertools.product(every, every):
        if peer.problem is not own.problem or not like(peer.way, own.way):
            continue
        theirs, ours = ({fit.split: fit.test for fit in solved(one)} for one in (peer, own))
        both = sorted(theirs.keys() & ours.keys())
        if len(both) < 2:
            continue
        less = [ours[split].error - theirs[split].error for split in both]
        counts = [sum(found[split].kept for split in both) for found in (theirs, ours)]
        means = [float(np.mean([found[split].violation for split in both])) for found in (theirs, ours)]
        error = float(np.std(less, ddof=1) / np.sqrt(len(both)))
        yield Pair(peer, own, len(both), tuple(counts), tuple(means), float(np.mean(less)), error)


def losses(every: Sequence[Found]) -> list[str]:
    """Cases in which a peer keeps promises as often, at an error lower by more than one SE."""
    return [
        f"- {pair.own.problem.title}: {pair.peer.way.name} kept all promises on {pair.kept[0]} and "
        f"*{pair.own.way.name}* on {pair.kept[1]} of {pair.splits} splits; its error is {pair.less:.4f} "
        f"± {pair.error:.4f} lower."
        for pair in pairs(every)
        if pair.lost
    ]


def wins(every: Sequence[Found]) -> tuple[int, int, int]:
    """The numbers of comparable pairs: ours is better by the same rule, the peer is better, and all."""
    found = list(pairs(every))
    return sum(pair.won for pair in found), sum(pair.lost for pair in found), len(found)
