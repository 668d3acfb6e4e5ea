"""The page's tables and what they show, from what was found."""

from collections import defaultdict
from collections.abc import Sequence

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
    "MB",
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
    """A contender's line of a problem's table."""
    fits, name = solved(found), label(found.way)
    if not fits:
        words = found.trouble or f"no solution on {len(found.fits)} splits"
        return [name, words, *[""] * 5]
    few = "" if len(fits) == wanted(found) else f" ({len(fits)} of {wanted(found)} splits)"
    return [
        name + few,
        spread([fit.test.error for fit in fits], ".4f"),
        f"{mean(found, lambda fit: fit.train.violation):+z.4f}",
        spread([fit.test.violation for fit in fits], "+z.4f"),
        f"{kept(found)} of {len(found.fits)}",
        f"{np.mean([fit.seconds for fit in found.fits]):.2g}",
        f"{max(fit.megabytes for fit in found.fits):.0f}",
    ]


def wanted(found: Found) -> int:
    return max(found.problem.splits if found.trouble else len(found.fits), len(found.fits))


def problem_table(every: Sequence[Found]) -> str:
    return markdown(HEAD, [row(found) for found in every])


def summary_table(every: Sequence[Found]) -> str:
    """All problems at once: how often promises were kept on new rows, and what it cost."""
    floors = {(one.problem.name, one.way.trees): one for one in every if one.way.floor}
    by_way = defaultdict(list)
    for found in every:
        by_way[found.way].append(found)
    lines = []
    for way, own in by_way.items():
        fits = [fit for found in own for fit in solved(found)]
        if not fits:
            lines.append([label(way), "none", "", "", "", ""])
            continue
        tried = sum(found.problem.splits for found in own)
        cost = [
            fit.test.error - base.test.error
            for found in own
            for fit in solved(found)
            for base in solved(floors.get((found.problem.name, way.trees), found))
            if base.split == fit.split
        ]
        lines.append([
            label(way),
            f"{sum(map(kept, own))} of {tried}"
            + ("" if len(fits) == tried else f", {len(fits)} solved"),
            f"{np.mean(cost):+.4f}",
            f"{sum(fit.seconds for found in own for fit in found.fits):,.0f}",
            f"{max(fit.megabytes for fit in fits):.0f}",
            str(user_lines(way.path, way.function)),
        ])  # fmt: skip
    heads = ["", "kept on new rows", "error above the plain model's", "CPU s, all fits", "MB, at most",
             "lines of user code"]  # fmt: skip
    return markdown(heads, lines)


def like(peer: Way, own: Way) -> bool:
    """Whether two ways may be compared: the same kind of model, and of what decisions look at."""
    return (
        own.ours
        and not peer.ours
        and not peer.floor
        and (peer.known, peer.trees) == (own.known, own.trees)
    )


def difference(peer: Found, own: Found) -> tuple[float, float]:
    """The peer's error less ours on the splits both have, and its standard error."""
    ours = {fit.split: fit.test.error for fit in solved(own)}
    values = [fit.test.error - ours[fit.split] for fit in solved(peer) if fit.split in ours]
    if not values:
        return 0.0, 0.0
    return float(np.mean(values)), float(
        np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0
    )


def losses(every: Sequence[Found]) -> list[str]:
    """Where a peer keeps promises on at least as many splits, with an error lower by over one SE."""
    found = []
    for own in every:
        for peer in every:
            if peer.problem is not own.problem or not like(peer.way, own.way):
                continue
            if len(solved(peer)) < len(solved(own)) or not solved(own):
                continue
            less, error = difference(peer, own)
            if kept(peer) >= kept(own) and less < -error:
                found.append(
                    f"- {own.problem.title}: {peer.way.name} kept all promises on {kept(peer)} splits "
                    f"and *{own.way.name}* on {kept(own)} of {len(own.fits)}; its error is {-less:.4f} "
                    f"± {error:.4f} lower."
                )
    return found


def wins(every: Sequence[Found]) -> tuple[int, int, int]:
    """Of all pairs alike: where ours is better by the same rule, where the peer is, and all of them."""
    better = worse = pairs = 0
    for own in every:
        for peer in every:
            if peer.problem is not own.problem or not like(peer.way, own.way) or not solved(peer):
                continue
            if not solved(own):
                continue
            pairs += 1
            less, error = difference(peer, own)
            better += kept(own) >= kept(peer) and less > error
            worse += kept(peer) >= kept(own) and less < -error
    return better, worse, pairs
