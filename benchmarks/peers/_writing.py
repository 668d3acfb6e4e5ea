"""The page docs/peers.md: the comparison, its results, and where ratebound loses."""

import itertools
import re
import subprocess
import time
from collections.abc import Sequence
from importlib import metadata

import friedler_data as friedler
import numpy as np
from _common import machine, markdown
from _problems import Problem, read
from _running import NOT_YET, SECONDS, Found, split_of
from _tables import losses, problem_table, solved, summary_table, wins
from environments import HERE

LEAST = {"linear": 0.8355, "LightGBM": 0.85}  # the aims: accuracy on Adult by sex, at an impact of .8
LIBRARIES = "numpy scipy scikit-learn torch lightgbm pandas"


def where() -> str:
    versions = [f"{name} {metadata.version(name)}" for name in LIBRARIES.split()]
    named = subprocess.run(
        ["git", "-C", str(HERE), "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    commit = named.stdout.strip() or "an unknown commit"
    return f"{time.strftime('%Y-%m-%d')}, {commit}, {machine()}, {', '.join(versions)}"


def page(every: Sequence[Found], missing: Sequence[str], certified: Sequence[dict]) -> str:
    """The template `page.md`, filled."""
    better, worse, pairs = wins(every)
    absent = f"**Left out:** {'; '.join(missing)}." if missing else ""
    template = (HERE / "peers" / "page.md").read_text("utf-8")
    filled = template.format(
        where=where(), seconds=SECONDS, missing=absent, summary=summary_table(every),
        problems="\n\n".join(problem_part(problem, every) for problem in problems_of(every)),
        aims=aims(every), pairs=pairs, better=better, worse=worse, neither=pairs - better - worse,
        losses="\n".join(losses(every)) or "Nowhere, by this rule.",
        certificates=certificates(certified), versions=versions(every), troubles=troubles(every),
    )  # fmt: skip
    return re.sub(r"\n{3,}", "\n\n", filled)


def problems_of(every: Sequence[Found]) -> list[Problem]:
    return list(dict.fromkeys(found.problem for found in every))


def problem_part(problem: Problem, every: Sequence[Found]) -> str:
    own = [found for found in every if found.problem is problem]
    splits = max(len(found.fits) for found in own)
    text = f"## {problem.title}\n\nPromised: {problem.words}. {splits} splits.\n\n"
    text += problem_table(own)
    return f"{text}\n\n{friedler_part(own)}" if problem.published else text


def friedler_row(found: Found) -> friedler.Row:
    """A contender in the study's measures."""
    judged = []
    for fit in solved(found):
        test = read(split_of(found.problem, fit.split), labels=True)[1]
        group = (test.columns["group"] == "privileged").astype(int)
        judged.append(friedler.judge(test.y, group, fit.decided))
    return friedler.row(found.problem.published, found.way.name, judged)


def friedler_part(every: Sequence[Found]) -> str:
    """Accuracy and disparate impact of all, with the published rows and who dominates."""
    own = [friedler_row(found) for found in every if len(solved(found)) > 1]
    ours = [row for row in own if row.algorithm.startswith("ratebound")]
    theirs = [row for row in friedler.published() if row.problem == every[0].problem.published]
    lines = []
    for row in [*own, *theirs]:
        beaten = [mine.algorithm for mine in ours if friedler.dominates(row, mine)]
        published = row in theirs
        lines.append([
            f"published: {row.algorithm}" if published else row.algorithm,
            f"{row.mean.accuracy:.4f} ± {row.sd.accuracy:.4f}",
            f"{row.mean.disparate_impact:.3f} ± {row.sd.disparate_impact:.3f}",
            "; ".join(name.removeprefix("ratebound, ") for name in beaten) if published else "",
        ])  # fmt: skip
    heads = ["", "accuracy", "disparate impact", "dominates ours"]
    words = "In the study's own measures, with its published rows (means and deviations of ten splits):"
    return f"{words}\n\n{markdown(heads, lines)}"


def aims(every: Sequence[Found]) -> str:
    """Which published rows dominate ours, and the aims on Adult by sex."""
    lines, said = [], []
    for problem in problems_of(every):
        rows = [
            friedler_row(found)
            for found in every
            if found.problem is problem
            and problem.published
            and found.way.ours
            and len(solved(found)) > 1
        ]
        if not rows:
            continue
        counts = {one.way.name: len(solved(one)) for one in every if one.problem is problem}
        theirs = [row for row in friedler.published() if row.problem == problem.published]
        beaten = {row.algorithm: [friedler.dominates(row, own) for own in rows] for row in theirs}
        of_all = [name for name, by in beaten.items() if all(by)]
        of_some = [name for name, by in beaten.items() if any(by) and not all(by)]
        lines.append([problem.title, str(len(theirs)), ", ".join(of_all) or "none",
                      ", ".join(of_some) or "none"])  # fmt: skip
        if problem.published == "adult_sex":
            said = [aim(row, counts[row.algorithm]) for row in rows if "known" not in row.algorithm]
    heads = ["", "published rows", "dominate all of ours", "dominate some of ours"]
    return markdown(heads, lines) + "\n\nOn Adult by sex, means:\n\n" + "\n".join(said)


def aim(row: friedler.Row, splits: int) -> str:
    """An aim on Adult by sex, and whether it is met."""
    least = LEAST["LightGBM" if "LightGBM" in row.algorithm else "linear"]
    accuracy, impact, sd = row.mean.accuracy, row.mean.disparate_impact, row.sd.disparate_impact
    met = "met" if accuracy >= least and impact >= 0.8 else "**missed**"
    return (
        f"- {row.algorithm}: accuracy {accuracy:.4f} at a disparate impact of {impact:.3f} ± {sd:.3f} "
        f"over {splits} splits. "
        f"The aim, {least:g} at .8 or more, is {met}."
    )


def certificates(found: Sequence[dict]) -> str:
    """How often MAPIE and ours certify, how often falsely, and how high the other rate is."""
    lines = []
    tasks = dict.fromkeys((one["task"], one["level"]) for one in found)
    for (task, level), who in itertools.product(tasks, ("MAPIE", "ratebound")):
        own = [one for one in found if (one["task"], one["who"]) == (task, who)]
        given = [one for one in own if one["certified"]]
        false = sum(one[task] < level for one in given)
        rates = (task, "recall" if task == "precision" else "precision")
        means = [f"{np.mean([one[name] for one in given]):.4f}" if given else "" for name in rates]
        lines.append(
            [f"{task} at least {level:g}", who, f"{len(given)} of {len(own)}", str(false), *means]
        )
    heads = ["promise", "", "certified", "falsely", "that rate", "the other of precision and recall"]
    return markdown(heads, lines) if found else "Not run."


def versions(every: Sequence[Found]) -> str:
    lines = [
        f"- {way.name.split(',')[0]}: {', '.join(way.environment.requires)}"
        for way in dict.fromkeys(found.way for found in every)
        if way.environment.requires
    ]
    return "\n".join(dict.fromkeys([*lines, "- MAPIE: mapie==1.6.0"]))


def troubles(every: Sequence[Found]) -> str:
    """The fits that were ended or failed."""
    lines = [
        f"- {found.problem.title}, {found.way.name}: {found.trouble}"
        for found in every
        if found.trouble not in ("", NOT_YET)
    ]
    return "Ended or failed:\n\n" + "\n".join(lines) if lines else "Every fit ended in time."
