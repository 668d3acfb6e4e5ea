"""The docstrings of named rates and goals, for `help` and the reference, written from their table."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ratebound._old.rates.expressions import Expression, Rate
from ratebound._old.rates.kinds import ANY, KINDS, Atom, Kind, Unit, atoms
from ratebound._old.rates.subsets import holds

# For each kind of row: whether its label is positive, and whether the model says yes.
CELLS = {"TP": (True, True), "FP": (False, True), "TN": (False, False), "FN": (True, False)}
LEGEND = {
    "TP": "TP the right yeses",
    "FP": "FP the wrong yeses",
    "TN": "TN the right noes",
    "FN": "FN the wrong noes",
    "n": "n all rows",
}
DEFAULTS: dict[str, Any] = {"bins": 10, "beta": 1.0}  # all other options default to None
REQUIRED = {"confusion": ("label", "predicted")}

RETURNS: dict[Unit, str] = {
    "share": "Expression\n    Add it, scale it, compare it with numbers and with other sums of rates.",
    "ratio": """Ratio
    Compare it with numbers and with multiples of ratios. A bound on it becomes
    ``numerator - bound * denominator >= 0``, or ``<= 0``; per row of the subset if both are counts. So a
    ratio whose denominator is 0 keeps every bound.""",
    "area": "Area\n    Compare it with a number, from below.",
}

ROWS = """*subset : Subset
    Conditions on rows, such as ``rb.column("age") < 25``. The rows that meet all of them count;
    without any, all rows do."""
COLUMNS = """**columns : str, bool, int, float or tuple
    More conditions, on columns whose names are plain words: one value, ``sex="Female"``, or several, any
    of which matches, ``race=("Black", "White")``."""
OPTIONS = {
    "of": """of : str, bool, int or float, default=None
    The class it is about, against all others. By default the positive one of two classes. With more than
    two there is no default, so name one.""",
    "versus": """versus : str
    The column with the existing model's decisions.""",
    "expert": """expert : str, default=None
    The column with a person's decisions on referred rows; these rows then count by those decisions. By
    default they count as not decided.""",
    "on": """on : str, default=None
    The name of the population whose rows count. By default the first, which the model is trained on.""",
    "at": """at : float or str, default=None
    The threshold: a score at or above it is a yes. A number, or a name for a threshold that is learned
    with the model. By default 0, the model's own threshold.""",
    "per": """per : float, default=None
    The count is scaled to this many rows of the population, so that a bound still makes sense if the
    model sees more rows, or fewer. By default it is the count over all rows given.""",
    "beta": """beta : float, default=1.0
    The weight of recall beside precision: recall counts `beta` squared times as much. By default both
    count the same.""",
    "top": """top : int or float, default=None
    Take the rows with the largest scores as the model's yeses: a number of rows, ``top=100``, or a share
    of the rows that the rate is about, ``top=0.05``. By default the model's own yeses count.""",
    "bins": """bins : int, default=10
    The number of false-positive budgets whose recalls are averaged. Each has a threshold of its own,
    which is learned. Ten keep the error below .05; more take more time.""",
    "label": """label : str, bool, int or float
    The class of the rows that count.""",
    "predicted": """predicted : str, bool, int or float
    The class that the model takes them for.""",
}
OF_TOP = {
    "per": """per : float, default=None
    A number in ``top=`` is per this many rows of the population. By default it is out of all rows
    given.""",
}
OF_COSTS = {
    "of": """of : str, bool, int or float, default=None
    The class whose errors count. By default the positive one of two. With more than two classes you may
    leave it out if only ``column=`` is given: then every error costs that amount.""",
    "false_negative": """false_negative : float or str, default=None
    The cost of each missed row of the class: a number, or the column with each row's own cost. By
    default 1, the unit of the other costs.""",
    "false_positive": """false_positive : float or str, default=None
    The cost of each false alarm, in the same form. By default 1.""",
    "label": """label : str, bool, int or float, default=None
    With `predicted`, for one class taken for another: the class of the rows that count. By default all
    errors count.""",
    "predicted": """predicted : str, bool, int or float, default=None
    The class that the model takes them for.""",
    "column": """column : str or int, default=None
    The column with each row's own amount, by which its costs are multiplied. By default every row costs
    the same.""",
    "per": """per : float, default=None
    The total cost is scaled to this many rows of the population. By default the cost is the mean over
    the rows of the subset.""",
}


def is_required(kind: Kind, option: str) -> bool:
    """Whether a rate of this kind requires this option."""
    return option == "versus" or option in REQUIRED.get(kind.name, ())


def docstring(kind: Kind, details: str = "") -> str:
    """The docstring of the function that makes a rate of this kind.

    >>> from ratebound._old.rates.kinds import KINDS
    >>> print(docstring(KINDS["recall"]).partition("Parameters")[0])
    Share of positive rows the model says yes to.
    <BLANKLINE>
    It is ``TP / (TP + FN)``, with TP the right yeses and FN the wrong noes.
    <BLANKLINE>
    """
    same = f"The same as `{kind.same_as}`. " * bool(kind.same_as)
    own = OF_COSTS if kind.unit == "cost" else OF_TOP if kind.top else {}
    options = [own.get(option, OPTIONS.get(option, "")) for option in kind.options]
    parts = [
        kind.meaning,
        f"{same}{_in_letters(kind)}",
        details,
        _section("Parameters", ROWS, *options, COLUMNS),
        _section("Returns", RETURNS.get(kind.unit, RETURNS["share"])),
        _section("Examples", ">>> import ratebound._old as rb", *_example(kind)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _section(title: str, *lines: str) -> str:
    return "\n".join([title, "-" * len(title), *lines])


def _example(kind: Kind) -> tuple[str, str]:
    """A call of the function, and what it prints."""
    calls = {"count": "per=6000", "cost": 'column="amount"'}
    call = 'versus="live"' if kind.versus else calls.get(kind.unit, 'sex="Female"')
    call = 'label="cat", predicted="dog"' if kind.speaks == "two classes" else call
    printed = f"{kind.name}({call.replace('sex=', 'sex == ')}{', bins=10' * (kind.unit == 'area')})"
    return f">>> rb.{kind.name}({call})", printed


def _in_letters(kind: Kind) -> str:
    """A sentence with the formula, in counts of right and wrong decisions."""
    written = formula(kind)
    if written is None or written in CELLS:
        return ""
    letters = [LEGEND[letter] for letter in LEGEND if letter in re.findall(r"\w+", written)]
    legend = f",\nwith {', '.join(letters[:-1])} and {letters[-1]}" if letters else ""
    return f"{'By default it' if kind.own else 'It'} is ``{written}``{legend}."


def formula(kind: Kind) -> str | None:
    """A rate's formula in counts; None if counts cannot express it, as for costs and other models.

    >>> from ratebound._old.rates.kinds import KINDS
    >>> formula(KINDS["precision"]), formula(KINDS["accuracy"]), formula(KINDS["churn"])
    ('TP / (TP + FP)', '(TP + TN) / n', None)
    """
    if kind.sides is not None:
        return " / ".join(map(_side, kind.sides({})))
    if kind.unit not in ("share", "count") or kind.versus or kind.pairs:
        return None
    if kind.speaks in ("two classes", "the referral"):
        return None
    counted_atoms = atoms(Rate(kind.name))
    above = _sum(Counter(letter for atom in counted_atoms for letter in _cells(atom)))
    if kind.unit == "count":
        return above
    assert counted_atoms[0].over is not None
    return (
        f"{_grouped(above)} / {_grouped(_sum(Counter(_cells(Atom(ANY, counted_atoms[0].over, None)))))}"
    )


def _side(side: Expression) -> str:
    """One side of a ratio, in letters if it is a sum of plain counts."""
    if any(KINDS[rate.kind].unit != "count" or KINDS[rate.kind].versus for rate in side.rates):
        return _grouped(str(side))
    weights = dict.fromkeys(CELLS, 0.0)
    for rate, coefficient in side.terms:
        for letter in (letter for atom in atoms(rate) for letter in _cells(atom)):
            weights[letter] += coefficient
    return _grouped(_sum(weights))


def _cells(atom: Atom) -> list[str]:
    """The kinds of rows that an atom counts."""

    def counts(label: bool, yes: bool) -> bool:
        return atom.predicted in (ANY, yes) and bool(holds(atom.given, lambda _: label))

    return [letter for letter, cell in CELLS.items() if counts(*cell)]


def _sum(counts: Mapping[str, float]) -> str:
    terms = [(letter, counts[letter]) for letter in CELLS if counts.get(letter)]
    if terms == [(letter, 1) for letter in CELLS]:
        return "n"
    return " + ".join(letter if count == 1 else f"{count:g} {letter}" for letter, count in terms)


def _grouped(written: str) -> str:
    return f"({written})" if " + " in written else written


# --- goals ---------------------------------------------------------------------------------------

# The type and the meaning of each argument of goals; the defaults come from the signatures.
OF_GOALS = {
    "groups": (
        "str, Subset, dict or list",
        """The groups: columns, each of whose values is a group; columns with their values,
    ``{"sex": ("Female", "Male")}``; conditions, ``rb.column("age") < 25``; or a list of these.""",
    ),
    "slack": (
        "float",
        """How far apart the rates may be, in either direction: 0.05 allows five percentage points. Give
    this or ``ratio=``. There is no default: people must decide how large a difference is fair.""",
    ),
    "ratio": (
        "float",
        """The share of the reference rate that each group must reach: 0.95 asks for at least 95% of it.
    A ratio above 1 is an upper bound: 1.05 asks for at most 105%. Give this or `slack`.""",
    ),
    "against": (
        '{"overall", "pairwise"}',
        """The reference of a group: the rate of all rows, or the rate of every other group. By default
    the rate of all rows: it takes fewer promises, and adding a group does not change it.""",
    ),
    "at_least": ("float", "The smallest share that keeps the promise, from 0 to 1."),
    "at_most": ("float", "The largest share that keeps the promise, from 0 to 1."),
    "versus": ("str", "The column with the existing model's decisions."),
    "decision": (
        "bool or str",
        "What is decided: True for yes and False for no, or one of the classes.",
    ),
    "of": (
        "str, bool, int or float",
        """The class it is about. By default the positive one of two; with more than two, every class in
    turn.""",
    ),
    "on": (
        "str",
        """The name of the population whose rows count. By default the first, which the model is trained
    on.""",
    ),
    "intersection": (
        "bool",
        """Whether the groups are the combinations of the columns' values, instead of the single values.
    By default they are the single values, since combinations often have few rows.""",
    ),
    "min_rows": (
        "int",
        """Leave out groups with fewer rows that count, with a warning. By default no group is left out,
    and a group without any such row is an error.""",
    ),
}
EVERYONE_GROUPS = "\n    By default all rows are one group."
LESS = "How much worse is still allowed. By default not at all."
OWN_NAME = "The name of the population. The default is the goal's own name for it."
ALWAYS = "The smallest share that keeps the promise, from 0 to 1. By default 1: every row."


def goal_docstring(function: Callable[..., Any]) -> str:
    """The docstring of a built-in goal: its own words, its arguments, and its own examples."""
    words, _, examples = inspect.cleandoc(function.__doc__ or "").partition(">>> ")
    taken = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind, meaning = OF_GOALS[name]
        default = parameter.default
        if default is not inspect.Parameter.empty:
            kind += f", default={default!r}".replace("'", '"')
        if name == "groups" and default is None:
            meaning += EVERYONE_GROUPS
        elif name == "slack" and default == 0:
            meaning = LESS
        elif name == "on" and default:
            meaning = OWN_NAME
        elif name == "at_least" and default == 1:
            meaning = ALWAYS
        taken.append(f"{name} : {kind}\n    {meaning}")
    waits = """
    A `Goal` if groups are columns: their values are not known before there are rows."""
    returned = "list of Constraint or Goal\n    For ``subject_to`` of a `Problem`."
    returned += waits * ("groups" in inspect.signature(function).parameters)
    parts = [
        words.strip(),
        _section("Parameters", *taken),
        _section("Returns", returned),
        _section("Examples", ">>> import ratebound._old as rb", f">>> {examples}"),
    ]
    return "\n\n".join(parts) + "\n"
