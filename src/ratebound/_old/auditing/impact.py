"""Impact ratios: how often each category is selected, or scores high, relative to a reference.

There are two forms. New York City's Local Law 144 (6 RCNY 5-300 to 5-304) requires the rate of each
category of sex, of race or ethnicity, and of both together, divided by the highest rate. A scoring rate
is the share with a score above the median of all. A category below 2% of the data may be left out of
ratios, but its number and its rate are shown; rows of unknown category are counted. Lenders compare each
group with a reference, here the largest group: they report the adverse impact ratio and the standardised
mean difference of scores. Neither is a legal opinion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ratebound._old.auditing._intervals import Weighed, proportion
from ratebound._old.auditing.decisions import given_decisions
from ratebound._old.auditing.judged import judged
from ratebound._old.auditing.report import plain
from ratebound._old.auditing.tallying import tallied
from ratebound._old.auditing.unpromised import groups_of, looks_protected
from ratebound._old.auditing.wording import interval_text
from ratebound._old.base import document as doc
from ratebound._old.base.rendering import Documented
from ratebound._old.base.types import Array
from ratebound._old.problem.population import Population
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import label_classes
from ratebound._old.rates.subsets import Name, column_text
from ratebound._old.tables.treatments import differing_in_case

Form = Literal["ll144", "lending"]
SMALL = 0.02  # the share of the rows below which Local Law 144 lets a category be left out
FOUR_FIFTHS = 0.8
UNKNOWN = ("unknown", "not specified", "prefer not to say", "declined", "not disclosed", "undisclosed")
LEFT_OUT = "below 2% of the data"
TITLES = {
    "ll144": "Impact ratios (New York City Local Law 144)",
    "lending": "Adverse impact ratios (lending)",
}
NO_OPINION = (
    "This is arithmetic on the rows given, not a legal opinion. People must judge whether a law "
    "applies, whether these are the data that it requires, and what follows from a ratio."
)
HOW = {
    "ll144": (
        "A selection rate is the share of a category that is selected; a scoring rate the share with a "
        "score above the median of all rows. An impact ratio divides the rate by the highest rate of "
        "any category (6 RCNY 5-300, 5-301). Categories below 2% of the rows are left out of the "
        "ratios and cannot be the highest; their numbers and rates are shown, and the auditor has to "
        "give the reason. The bounds are exact 95% bounds of the rate, one for each end; the rules do "
        "not require them."
    ),
    "lending": (
        "The adverse impact ratio divides a group’s rate by the rate of the reference, the largest "
        "group of the column; a ratio below 0.8 is the customary warning. The p-value is from "
        "Fisher’s exact test that both rates are the same. The standardised mean difference is the "
        "group’s mean score less the reference’s, in standard deviations of all scores."
    ),
}


@dataclass(frozen=True)
class Category:
    """One category, its rate, and the ratio to the reference."""

    words: str
    rows: int
    share: float  # of all rows
    rate: float | None
    low: float | None  # the 95% bounds of the rate
    high: float | None
    ratio: float | None  # None if the category is left out, or if the reference has rate 0
    left_out: str = ""  # why
    reference: bool = False
    p_value: float | None = None
    mean_difference: float | None = None  # of scores, standardised


@dataclass(frozen=True)
class ImpactTable:
    """All categories by one column, or by two together."""

    by: tuple[str, ...]
    rate: Literal["selection rate", "scoring rate"]
    categories: tuple[Category, ...]
    unknown: int  # rows without a known category
    hint: str = ""  # if values differ only in case


@dataclass(frozen=True)
class ImpactRatios(Documented):
    """The impact ratios of decisions, or of scores. Print it, or render it in any format.

    Parameters
    ----------
    form : {"ll144", "lending"}
        The definitions that they follow.
    of : str
        What was measured.
    rows : int
        How many rows there are.
    tables : tuple of ImpactTable
        One for each column, for two columns together, and for each kind of rate.

    See Also
    --------
    impact_ratios : Makes it.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> hired = {"sex": ["f"] * 50 + ["m"] * 50, "hired": [1] * 20 + [0] * 30 + [1] * 25 + [0] * 25}
    >>> found = rb.impact_ratios(decisions="hired", rows=rb.Population(None, columns=hired))
    >>> found.smallest
    0.8
    """

    form: Form
    of: str
    rows: int
    tables: tuple[ImpactTable, ...]

    @property
    def smallest(self) -> float | None:
        """The smallest ratio of all; None if no ratio exists."""
        ratios = [each.ratio for table in self.tables for each in table.categories]
        return min((ratio for ratio in ratios if ratio is not None), default=None)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types.

        Returns
        -------
        dict
            The fields by name.
        """
        data: dict[str, Any] = plain({**vars(self), "smallest": self.smallest, "note": NO_OPINION})
        return data

    def document(self) -> doc.Document:
        parts: list[doc.Part] = []
        for place, table in enumerate(self.tables):
            parts += _table_parts(self.form, table, f"tables/{place}")
        parts += [doc.Remark(HOW[self.form]), doc.Paragraph(NO_OPINION)]
        low = [
            f"{c.words} ({c.ratio:.3f}, {t.rate})"
            for t in self.tables
            for c in t.categories
            if c.ratio is not None and c.ratio < FOUR_FIFTHS
        ]
        said = (
            f"Ratios below four fifths: {', '.join(low)}." if low else "No ratio is below four fifths."
        )
        state: doc.State = "broken" if low else "kept"
        lead = f"For {self.of} on {self.rows:,} rows"
        conclusion = doc.Conclusion(said, state)
        return doc.Document(TITLES[self.form], lead, tuple(parts), self.to_dict, conclusion)


def _table_parts(form: Form, table: ImpactTable, at: str) -> list[doc.Part]:
    lending = form == "lending"
    scored = lending and any(each.mean_difference is not None for each in table.categories)
    more: list[str] = ["p-value"] * lending + ["mean difference"] * scored
    ratio = "adverse impact ratio" if lending else "impact ratio"
    named = doc.heads(
        " and ".join(table.by), "rows", "share", table.rate, doc.Head("95% bounds", "words"), ratio,
        *more, doc.Head("", "verdict"),
    )  # fmt: skip
    rows: list[doc.Row] = []
    for i, each in enumerate(table.categories):
        own = f"{at}/categories/{i}"
        state: doc.State = "broken" if each.ratio is not None and each.ratio < FOUR_FIFTHS else ""
        note = "reference" * each.reference or each.left_out or "below 0.8" * (state == "broken")
        extra = [doc.rate(each.p_value, f"{own}/p_value")] * lending
        extra += [doc.rate(each.mean_difference, f"{own}/mean_difference", signed=True)] * scored
        rows.append(
            (
                doc.Quoted(each.words),
                doc.count(each.rows, f"{own}/rows"),
                doc.rate(each.share, f"{own}/share"),
                doc.rate(each.rate, f"{own}/rate"),
                interval_text(each.low, each.high, signed=False),
                doc.rate(each.ratio, f"{own}/ratio"),
                *extra,
                doc.Standing(note, state),
            )
        )
    caption = f"By {' and '.join(table.by)}, {table.rate}"
    parts: list[doc.Part] = [doc.ReportTable(caption, named, tuple(rows), sortable=True)]
    if table.unknown:
        said = f"{table.unknown:,} rows have an unknown {' or '.join(table.by)} and are not included."
        parts.append(doc.Paragraph(said, apart=False))
    if table.hint:
        parts.append(doc.Paragraph(f"{table.hint}.", apart=False))
    return parts


def impact_ratios(
    model: Any = None,
    population: Population | None = None,
    *,
    decisions: Any = None,
    rows: Any = None,
    by: str | Sequence[str] = (),
    score: str | None = None,
    form: Form = "ll144",
) -> ImpactRatios:
    """How often each category is selected relative to a reference, as laws and lenders define it.

    Parameters
    ----------
    model : Mixture, RateConstrainedClassifier or classifier, default=None
        The model whose decisions are measured.
    population : Population, default=None
        The rows that it decides on; labels are not needed.
    decisions : array of shape (n,), str or Subset, default=None
        In place of a model: decisions that were made, as in `audit`.
    rows : Population or table, default=None
        In place of `population`: the rows that were decided.
    by : str or list of str, default=()
        The columns of the categories. By default the columns that look like sex or like race or
        ethnicity; for lending, all that look protected.
    score : str, default=None
        A column of scores: its scoring rates for "ll144", its standardised mean differences for
        "lending". By default only decisions are measured.
    form : {"ll144", "lending"}, default="ll144"
        The definitions to follow: New York City's Local Law 144, or lenders' usual reports.

    Returns
    -------
    ImpactRatios
        It prints as text. It is not a legal opinion.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> hired = {"sex": ["f"] * 50 + ["m"] * 50, "hired": [1] * 20 + [0] * 30 + [1] * 25 + [0] * 25}
    >>> found = rb.impact_ratios(decisions="hired", rows=rb.Population(None, columns=hired))
    >>> [(each.words, each.rate, each.ratio) for each in found.tables[0].categories]
    [('sex == "f"', 0.4, 0.8), ('sex == "m"', 0.5, 1.0)]
    """
    if form not in TITLES:
        raise ValueError(f"form takes 'll144' or 'lending', got {form!r}")
    model, people = given_decisions("impact_ratios", model, population, decisions, rows, {})
    people = people.in_memory()
    tally = tallied(judged(model), {FIRST: people}, ())
    lines = tally[FIRST]
    if len(label_classes(tally.classes)) != 2 or lines.place is None:
        raise ValueError("impact ratios need decisions between yes and no")
    weights, yes = people.row_weights, lines.chances[0.0][1][lines.place]
    names = _columns(people, by, form)
    groups = {name: _known(people, name) for name in names}
    keys: list[tuple[Name, ...]] = [(name,) for name in names]
    if form == "ll144" and len(names) > 1:
        keys.append(tuple(names))
    scores = None if score is None else _scores(people, score)
    hits = {"selection rate": yes}
    if scores is not None and form == "ll144":
        hits["scoring rate"] = (scores > np.median(scores)).astype(float)
    tables = []
    for rate, hit in hits.items():
        for key in keys:
            parts = _crossed([groups[name] for name in key])
            table = ImpactTable(
                tuple(map(str, key)),
                rate,  # type: ignore[arg-type]  # one of the two
                _categories(parts, hit, weights, form, scores),
                int((~np.any(list(parts.values()), axis=0)).sum()),
                _hint(people, key),
            )
            tables.append(table)
    return ImpactRatios(form, tally.model.words, len(people), tuple(tables))


def _columns(people: Population, by: str | Sequence[str], form: Form) -> list[Name]:
    names: list[Name] = [by] if isinstance(by, str) else list(by)
    for name in names:
        people.check_column(name)
    if names:
        return names
    every = [name for name in people.column_names if looks_protected(name)]
    if form == "ll144":
        words = ("sex", "gender"), ("race", "ethnic", "ethnicity", "racial")
        first = [[n for n in every if any(w in str(n).casefold() for w in kind)] for kind in words]
        every = [columns[0] for columns in first if columns]
    if not every:
        raise ValueError(
            "no column looks like categories such as sex or race: name the columns, by=['sex', "
            "'race'] (--by sex race)"
        )
    return every


def _known(people: Population, name: Name) -> dict[str, Array]:
    """The groups of a column without the unknown ones."""
    groups = groups_of(people, name)
    if isinstance(groups, str):
        raise ValueError(f"column {name!r} has {groups}, which are not categories: put them into bands")
    known = {}
    for words, inside in groups.items():
        said = words.removeprefix(f"{column_text(name)} == ").strip('"').strip().casefold()
        if not words.startswith("missing(") and said not in UNKNOWN:
            known[words] = inside
    return known


def _hint(people: Population, key: Sequence[Name]) -> str:
    """Which values of the columns differ only in case, if any do."""
    each = ((name, people.values(name)) for name in key)
    texts = ((name, read.values.tolist()) for name, read in each if read.codes is not None)
    said = (
        (name, differing_in_case(value for value in values if isinstance(value, str)))
        for name, values in texts
    )
    return next((f"{column_text(name)}: {words}" for name, words in said if words), "")


def _scores(people: Population, name: str) -> Array:
    values = people.column(name)
    try:
        scores = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} must hold scores, which are numbers") from None
    if lacking := int(np.isnan(scores).sum()):
        raise ValueError(f"column {name!r}: {lacking:,} of {len(scores):,} rows have no score")
    return scores


def _crossed(each: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """The combined categories of several columns that have rows."""
    crossed = dict(each[0])
    for more in each[1:]:
        crossed = {f"{a} and {b}": x & y for a, x in crossed.items() for b, y in more.items()}
    return {words: inside for words, inside in crossed.items() if inside.any()}


def _categories(
    parts: dict[str, Array], hits: Array, weights: Array, form: Form, scores: Array | None
) -> tuple[Category, ...]:
    every = []
    for words, inside in parts.items():
        own, count = weights[inside], int(inside.sum())
        rate = float(own @ hits[inside] / own.sum()) if own.sum() > 0 else None
        low = high = None
        if rate is not None:
            low, high = proportion(hits[inside], Weighed(own, np.ones(count)), 0.9)
        share = count / len(hits)
        small = LEFT_OUT if form == "ll144" and share < SMALL else ""
        every.append(Category(words, count, share, rate, low, high, None, small))
    usual = [each for each in every if not each.left_out and each.rate is not None]
    if not usual:
        return tuple(every)
    by_size = form == "lending"
    best = max(usual, key=lambda each: each.rows if by_size else each.rate or 0.0)
    return tuple(_compared(each, best, parts, hits, weights, form, scores) for each in every)


def _compared(
    own: Category,
    best: Category,
    parts: dict[str, Array],
    hits: Array,
    weights: Array,
    form: Form,
    scores: Array | None,
) -> Category:
    ratio = None
    if not own.left_out and own.rate is not None and best.rate:
        ratio = own.rate / best.rate
    if form == "ll144":
        return replace(own, ratio=ratio, reference=own is best)
    inside, others = parts[own.words], parts[best.words]
    p_value = difference = None
    if own is not best and (weights == 1).all() and np.isin(hits, (0.0, 1.0)).all():
        from scipy.stats import fisher_exact

        table = [[hits[m].sum(), (1 - hits[m]).sum()] for m in (inside, others)]
        p_value = float(fisher_exact(np.array(table, dtype=int)).pvalue)
    if scores is not None and (spread := float(scores.std())) > 0:
        means = [float(weights[m] @ scores[m] / weights[m].sum()) for m in (inside, others)]
        difference = (means[0] - means[1]) / spread
    return replace(own, ratio=ratio, reference=own is best, p_value=p_value, mean_difference=difference)
