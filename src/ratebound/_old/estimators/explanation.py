"""The result of `explain`: fields for programs, text for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ratebound._old.auditing.report import Promise, plain
from ratebound._old.base import document as doc
from ratebound._old.base.layout import NOTHING, number
from ratebound._old.base.rendering import Documented
from ratebound._old.certifying.rows_needed import RowsNeeded
from ratebound._old.problem.problem import Problem, left_out_words
from ratebound._old.rates.expressions import Constraint, Expression
from ratebound._old.rates.kinds import label_classes
from ratebound._old.rates.subsets import Value
from ratebound._old.solution.status import broken_by

SMALLEST_PRICE = 1e-6  # smaller prices are rounding errors
FEW_ROWS = 100  # with fewer rows, the text says how much one row matters
ALWAYS, PERFECT, UNCONSTRAINED = "always ", "perfect", "unconstrained"
NOTES = {
    PERFECT: "perfect decides by the labels themselves",
    UNCONSTRAINED: "unconstrained is the model trained without promises on these same rows",
}


@dataclass(frozen=True)
class RateRows:
    """The rows behind a rate."""

    rate: str
    rows: int  # in its group
    positive: int | None  # of those; None without labels, or with more than two classes
    counted_over: int  # the number of rows it is a share of


@dataclass(frozen=True)
class Explained:
    """One promise on its own."""

    constraint: Constraint
    rates: tuple[RateRows, ...]
    classifiers: dict[str, Promise]  # the promise judged for each simple classifier
    possible: bool  # False if no classifier keeps it
    least_violation: float  # by any classifier, in the constraint's own units
    price: float | None  # how much `TotalPrice.at_least` falls per unit of relaxation


@dataclass(frozen=True)
class TotalPrice:
    """What keeping every promise costs in the objective, on these rows."""

    at_least: float  # the objective of any classifier that keeps them, even one that saw the labels
    without_promises: float  # the same bound without promises
    unconstrained: float | None  # the objective of the model trained without promises
    known: tuple[str, ...]
    by_thresholds: float | None  # the objective of thresholds by the known columns on that model's score
    why_not: str  # the reason if there are no such thresholds
    constants: dict[str, float] = field(default_factory=dict)  # objectives of one decision for everyone
    says: str = ""  # the decision for everyone that these thresholds make, if they do


@dataclass(frozen=True)
class Explanation(Documented):
    """Whether promises can be kept, which of them conflict, and at what price; prints as text.

    Parameters
    ----------
    problem : Problem
        The problem, spelled out on these rows.
    rows : dict of str to int
        Rows of each population.
    positive : dict of str to int or None
        The rows with a positive label; None without labels, or with more than two classes.
    classes : tuple
        The possible decisions; with two, no and then yes.
    promises : tuple of Explained
        Each promise on its own: the rows behind its rates, how simple classifiers do on it, whether any
        classifier keeps it, and its price.
    possible : bool
        False if no classifier keeps every promise.
    conflict : tuple of Constraint
        The constraints that cannot be kept together.
    relax : tuple of (Constraint, float)
        How far to relax each of them to make it possible.
    exact : bool
        Whether `possible` proves that some classifier keeps them; it does not if rates are taken at
        several thresholds.
    price : TotalPrice or None
        What keeping all of them costs in the objective; None if they cannot be kept or the solver
        failed.
    needed : RowsNeeded
        The rows that certify each promise if it is kept with certain margins.

    See Also
    --------
    explain : Makes it.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population(None, [1, 1, 1, 0])
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.5])
    >>> found = rb.explain(problem, people)
    >>> found.possible, round(found.price.at_least, 6)
    (True, 0.25)
    """

    problem: Problem
    rows: dict[str, int]
    positive: dict[str, int | None]
    classes: tuple[Value, ...]
    promises: tuple[Explained, ...]
    possible: bool
    conflict: tuple[Constraint, ...]
    relax: tuple[tuple[Constraint, float], ...]
    exact: bool
    price: TotalPrice | None
    needed: RowsNeeded

    def document(self) -> doc.Document:
        parts: list[doc.Part] = []
        if self.problem.left_out:
            parts.append(doc.Paragraph(left_out_words(self.problem.left_out), apart=False))
        several = len(label_classes(self.classes)) > 2
        for place, promise in enumerate(self.promises):
            parts.append(_explained(promise, place, several, self.exact))
        if len(self.promises) > 1:
            parts.append(doc.Section("Together:", tuple(_lines(_together(self)))))
        if self.price is not None:
            title = f"The price, as {self.problem.objective} on these rows:"
            parts.append(doc.Section(title, tuple(_price_parts(self, self.price))))
        elif not isinstance(self.problem.objective, Expression):
            words = (
                f"A price needs a sum of rates as objective, and {self.problem.objective} is not one."
            )
            parts.append(doc.Paragraph(words))
        title = "Rows needed to show that a promise holds on new rows (rows not used in training):"
        needed = self.needed.document()
        parts.append(doc.Section(title, (doc.Paragraph(needed.lead), *needed.parts)))
        notes = [words for name, words in NOTES.items() if name in self.promises[0].classifiers]
        parts += [doc.Paragraph("; ".join(notes) + ".")] if notes else []
        return doc.Document("What the promises ask for", _rows_text(self), tuple(parts), self.to_dict)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types: texts, truth values, finite numbers and None.

        Returns
        -------
        dict
            The fields by name; constraints are texts.
        """
        values = {name: value for name, value in vars(self).items() if name != "problem"}
        values["relax"] = [{"constraint": constraint, "by": amount} for constraint, amount in self.relax]
        values["left_out"] = self.problem.left_out
        data: dict[str, Any] = plain({"objective": str(self.problem.objective), **values})
        return data


def _rows_text(explained: Explanation) -> str:
    """The number of rows of each population; the first goes without its name."""
    parts: list[str] = []
    for name, rows in explained.rows.items():
        positive = explained.positive[name]
        labels = "no labels" if positive is None else f"{positive:,} of them positive"
        if (classes := len(label_classes(explained.classes))) > 2:
            labels = f"{classes} classes"
        parts.append(f"{name}: " * bool(parts) + f"{rows:,} rows, {labels}")
    return "; ".join(parts)


def _explained(promise: Explained, place: int, several: bool, exact: bool) -> doc.Section:
    """A promise: the rows behind its rates, how simple classifiers do on it, and the verdict."""
    at = f"promises/{place}"
    few = [
        f"{each.rate}: few rows; each of them moves it by {1 / each.counted_over:.2g}"
        for each in promise.rates
        if each.counted_over < FEW_ROWS
    ]
    return doc.Section(
        f"{place + 1}. {promise.constraint}",
        (
            _rates_table(promise.rates, f"{at}/rates", several),
            *(doc.Paragraph(words, apart=False) for words in few),
            _classifiers_table(promise.classifiers, f"{at}/classifiers"),
            doc.Paragraph(_verdict(promise, exact)),
        ),
    )


def _lines(said: list[str]) -> list[doc.Paragraph]:
    """Sentences, each on its own line."""
    return [doc.Paragraph(words, apart=place == 0) for place, words in enumerate(said)]


def _rates_table(rates: tuple[RateRows, ...], at: str, several: bool) -> doc.ReportTable:
    """The rows behind each rate; with several classes none is positive."""
    named = ["rows", "positive", "counted over"]
    fields = ["rows", "positive", "counted_over"]
    if several:
        del named[1], fields[1]
    rows: list[doc.Row] = [
        (doc.Quoted(each.rate), *(doc.count(getattr(each, own), f"{at}/{i}/{own}") for own in fields))
        for i, each in enumerate(rates)
    ]
    return doc.ReportTable("Rows behind each rate", doc.heads("rate", *named), tuple(rows))


def _classifiers_table(promises: dict[str, Promise], at: str) -> doc.ReportTable:
    heads = doc.heads("classifier", "value", "bound", "room", doc.Head("", "verdict"))
    rows: list[doc.Row] = []
    for name, promise in promises.items():
        value, bound, broken = promise.value, promise.bound, promise.kept is False
        row = [
            doc.rate(value, f"{at}/{name}/value", beside=bound, broken=broken),
            doc.rate(bound, f"{at}/{name}/bound", beside=value, sign=promise.relation, broken=broken),
            doc.rate(promise.slack, f"{at}/{name}/slack", signed=True, beside=0.0, broken=broken),
        ]
        kept = doc.Standing("kept", "kept") if promise.kept else doc.Standing("BROKEN", "broken")
        rows.append((name, *row, kept))
    return doc.ReportTable("How simple classifiers do on it", heads, tuple(rows))


def _verdict(promise: Explained, exact: bool) -> str:
    """What these few classifiers show, and what remains open."""
    if not promise.possible:
        by = broken_by(promise.constraint, promise.least_violation)
        return (
            "Impossible: no classifier keeps it on these rows, not even one that saw the labels; the "
            f"best possible breaks it {by}."
        )
    keeping = [name for name, outcome in promise.classifiers.items() if outcome.kept]
    if UNCONSTRAINED in keeping:
        return "Met already: the unconstrained model keeps it on these rows, perhaps just by chance."
    constant = [name for name in keeping if name.startswith(ALWAYS)]
    if constant:
        return f"Possible: {constant[0]} keeps it, so some model does; training shows at what cost."
    if PERFECT in keeping or exact:
        return (
            "Possible in principle: a classifier that saw the labels could keep it. Only training "
            "shows whether one that sees the columns can."
        )
    return "Unknown: none of these keeps it, but a model may; only training shows."


def _together(explained: Explanation) -> list[str]:
    """Which promises each classifier keeps, and whether the promises conflict."""
    lines, kept = [], {}
    for name in explained.promises[0].classifiers:
        flags = kept[name] = [bool(promise.classifiers[name].kept) for promise in explained.promises]
        sides = {word: _numbered(flags, state) for word, state in (("keeps", True), ("breaks", False))}
        lines.append(
            f"{name}: " + "; ".join(f"{word} {which}" for word, which in sides.items() if which)
        )
    return [*lines, _conflict(explained, kept)]


def _numbered(flags: list[bool], state: bool) -> str:
    return ", ".join(str(i + 1) for i, flag in enumerate(flags) if flag is state)


def _conflict(explained: Explanation, kept: dict[str, list[bool]]) -> str:
    places = {promise.constraint: str(i + 1) for i, promise in enumerate(explained.promises)}
    if not explained.possible:
        which = " and ".join(places[constraint] for constraint in explained.conflict)
        together = " together" * (len(explained.conflict) > 1)
        each = " and ".join(f"{places[c]} {broken_by(c, amount)}" for c, amount in explained.relax)
        would_do = f"; relaxing {each} would be enough" if each else ""
        return f"Impossible: no classifier keeps {which}{together} on these rows{would_do}."
    real = {name: flags for name, flags in kept.items() if name != PERFECT}
    for name, flags in real.items():
        if all(flags):
            return f"No conflict: {name} keeps all of them."
    pairs = [
        f"{i + 1} and {j + 1}"
        for i, j in combinations(range(len(explained.promises)), 2)
        if any(flags[i] for flags in real.values())
        and any(flags[j] for flags in real.values())
        and not any(flags[i] and flags[j] for flags in real.values())
    ]
    odds = f"; conflicting for them: {', '.join(pairs)}" if pairs else ""
    labels = explained.exact or all(kept.get(PERFECT, [False]))
    known = (
        "a classifier that saw the labels could keep them" if labels else "some classifier may keep them"
    )
    return (
        f"None of {', '.join(real)} keeps all of them{odds}. This does not prove a conflict: {known}, "
        "and only training shows whether a model can."
    )


def _price_parts(explained: Explanation, price: TotalPrice) -> list[doc.Part]:
    """What keeping the promises costs: a lower bound, and what thresholds reach."""
    bound = number(price.at_least)
    heads = doc.heads("classifier", "without promises", "keeping them")
    without = doc.rate(price.without_promises, "price/without_promises")
    rows: list[doc.Row] = [
        (
            "the best possible, given the labels",
            without,
            doc.rate(price.at_least, "price/at_least"),
        )
    ]
    costs = price.at_least - price.without_promises > SMALLEST_PRICE
    bound_words = f"No classifier keeps them below {bound} on these rows."
    remarks = [bound_words if costs else "By this bound, keeping them need not cost anything."]
    remarks += [
        f"Per unit that {index + 1} is relaxed, that bound falls by {promise.price:.4g}."
        for index, promise in enumerate(explained.promises)
        if promise.price is not None and promise.price > SMALLEST_PRICE
    ]
    if price.unconstrained is not None:
        each = f"by {', '.join(price.known)}" if price.known else "for everyone"
        words = f"{UNCONSTRAINED}, with the best threshold{'s' * bool(price.known)} {each}"
        own = doc.rate(price.unconstrained, "price/unconstrained")
        rows.append((words, own, doc.rate(price.by_thresholds, "price/by_thresholds")))
        if price.says:
            remarks.append(
                f"Those thresholds say {price.says}. If that is not what you want, add a promise such "
                "as positive_rate() >= 0.05."
            )
        if price.by_thresholds is None:
            remarks.append(f"Thresholds on the unconstrained model give no cost: {price.why_not}.")
    for name, value in price.constants.items():
        keeps = all(each.classifiers[name].kept for each in explained.promises)
        own = doc.rate(value, f"price/constants/{name}")
        rows.append((name, own, own if keeps else NOTHING))
    return [doc.ReportTable("The objective", heads, tuple(rows)), *_lines(remarks)]
