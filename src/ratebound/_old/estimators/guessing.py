"""What `fit` refuses about guessed groups, before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from ratebound._old.base.checks import nearest
from ratebound._old.problem.frames import some
from ratebound._old.problem.masks import masker
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.kinds import TWO, counted_over
from ratebound._old.rates.subsets import Name, columns_in

FEWEST = 30  # audited rows, at least, for a rate of a group


def check_guesses(problem: Problem, known: Iterable[Name] | None, certify: float | None) -> None:
    """Raise if no promise uses a guess, decisions would use it, or a certificate would rest on it."""
    named = problem.columns
    for each in problem.guessed:
        if problem.subject_to and each.column not in named:
            raise ValueError(
                f"{each}: no promise names {each.column!r}{nearest(str(each.column), map(str, named))} "
                "Name it in a promise, or leave it out of guessed="
            )
        if each.column in (known or ()):
            raise ValueError(
                f"known={each.column!r}: {each} says that it is guessed, so it is not known when "
                "deciding: leave it out of known=, or name a column that is known, such as "
                f"{each.columns[0] if each.columns else 'another'!r}"
            )
        if certify is not None and each.level == "calibrated":
            raise ValueError(
                f"certify={certify}: {each} assumes probabilities, but a certificate must not rest on "
                "assumptions: leave certify= out, and certify on rows whose group is known, "
                "rb.certify(problem, model, rows)"
            )


def check_audited(problem: Problem, people: Mapping[str, Population]) -> None:
    """Raise if a rate of a group is counted on too few audited rows, with the number it needs."""
    for each in problem.guessed:
        if each.level != "audited":
            continue
        for rate in problem.rates:
            if each.column not in columns_in(rate.subset) or rate.compares_scores:
                continue
            rows = people[rate.population]
            audited = int((~rows.values(each.column).missing).sum())
            mask, classes = masker(rows, absent=True), rows.classes or TWO
            few = min(int(mask(over).sum()) for over in counted_over(rate, classes))
            if few < FEWEST:
                needed = math.ceil(1.2 * FEWEST * audited / few) if few else None
                about = f"about {needed:,} in all" if needed else "more"
                groups = rows.values(each.column)
                values = np.unique(
                    groups.values[~groups.missing] if groups.codes is None else groups.values
                )
                there = "" if few else f"; it holds {some(values.tolist())}"
                raise ValueError(
                    f"{rate}: it is counted on {few} of the {audited:,} rows whose group is in column "
                    f"{each.audited!r}, and at least {FEWEST} are needed: have {about} audited, drawn "
                    f"at random{there}"
                )
