"""What `help` and the reference say of named rates and goals, written from the table and signatures."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ratebound.rates.expressions import Expression, Rate
from ratebound.rates.kinds import ANY, KINDS, Atom, Kind, Unit, atoms
from ratebound.rates.subsets import holds

# Whether the label is positive and whether the model says yes, of each kind of row.
CELLS = {"TP": (True, True), "FP": (False, True), "TN": (False, False), "FN": (True, False)}
LEGEND = {
    "TP": "TP the right yeses",
    "FP": "FP the wrong yeses",
    "TN": "TN the right noes",
    "FN": "FN the wrong noes",
    "n": "n all rows",
}
DEFAULTS: dict[str, Any] = {"bins": 10, "beta": 1.0}  # of options; of the others it is None
REQUIRED = {"confusion": ("label", "predicted")}

RETURNS: dict[Unit, str] = {
    "share": "Expression\n    To be added, scaled, and compared with numbers and with other such sums.",
    "ratio": """Ratio
    To be compared with numbers and with multiples of ratios. A bound on it is kept as
    ``numerator - bound * denominator >= 0``, or ``<= 0``, per row of the subset where both are
    counts. So a ratio with nothing below the line keeps every bound.""",
    "area": "Area\n    To be compared with a number, from below.",
}

ROWS = """*subset : Subset
    Conditions on rows, such as ``rb.column("age") < 25``. The rows that meet all of them count;
    without any, all rows do."""
COLUMNS = """**columns : str, bool, int, float or tuple
    More conditions, by columns that are called by a plain word: ``sex="Female"``, or several values of
    which any will do, ``race=("Black", "White")``."""
OPTIONS = {
    "of": """of : str, bool, int or float, default=None
    The class it speaks of, against all others. By default the positive one of two; with more than two
    classes there is no such class, so it has to be named.""",
    "versus": """versus : str
    The column with the existing model's decisions.""",
    "expert": """expert : str, default=None
    The column with what a person decides of rows that are referred: then these count by that. By default
    they count as not decided.""",
    "on": """on : str, default=None
    The name of the population whose rows count. By default the first, which the model is trained on.""",
    "at": """at : float or str, default=None
    The threshold from which a score is a yes: a number, or a name for one that is learned with the
    model. By default 0, where the model itself decides.""",
    "per": """per : float, default=None
    Of every how many rows of the population it is counted, so that a bound also means something where
    the model sees more rows, or fewer. By default it is the count of all rows given.""",
    "beta": """beta : float, default=1.0
    How much recall counts beside precision: `beta` squared times as much. By default both count
    alike.""",
    "top": """top : int or float, default=None
    How many rows count as said yes to, those with the largest scores among the rows that the rate is
    about: a number of rows, ``top=100``, or a share of them, ``top=0.05``. By default the rows that the
    model says yes to.""",
    "bins": """bins : int, default=10
    How many budgets of false positives it is the mean of. Each is learned as a threshold of its own;
    ten keep the error below .05, and more take more time.""",
    "label": """label : str, bool, int or float
    The class of the rows that count.""",
    "predicted": """predicted : str, bool, int or float
    The class they are taken for.""",
}
OF_TOP = {
    "per": """per : float, default=None
    Of every how many rows of the population there are as many as a number in ``top=`` says. By default
    of all rows given.""",
}
OF_COSTS = {
    "of": """of : str, bool, int or float, default=None
    The class whose errors count. By default the positive one of two. With more than two classes it may
    be left out where ``column=`` alone says what any error costs.""",
    "false_negative": """false_negative : float or str, default=None
    What each missed row of the class costs: a number, or the column with each row's own cost. By default
    1, the unit of the other costs.""",
    "false_positive": """false_positive : float or str, default=None
    What each false alarm costs, in the same ways. By default 1.""",
    "label": """label : str, bool, int or float, default=None
    Together with `predicted`, one class taken for another: the class of the rows that count. By default
    all errors count.""",
    "predicted": """predicted : str, bool, int or float, default=None
    The class they are taken for.""",
    "column": """column : str or int, default=None
    The column with each row's own amount, which its costs are multiplied with. By default every row
    costs the same.""",
    "per": """per : float, default=None
    Of every how many rows of the population the total is taken. By default it is the mean over the rows
    of the subset.""",
}


def is_required(kind: Kind, option: str) -> bool:
    """Whether a rate of this kind cannot be said without this option."""
    return option == "versus" or option in REQUIRED.get(kind.name, ())


def docstring(kind: Kind, details: str = "") -> str:
    """The docstring of the function that says a rate of this kind.

    >>> from ratebound.rates.kinds import KINDS
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
        _section("Examples", ">>> import ratebound as rb", *_example(kind)),
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
    """A sentence with the formula, by counts of right and wrong decisions."""
    written = formula(kind)
    if written is None or written in CELLS:
        return ""
    letters = [LEGEND[letter] for letter in LEGEND if letter in re.findall(r"\w+", written)]
    legend = f",\nwith {', '.join(letters[:-1])} and {letters[-1]}" if letters else ""
    return f"{'By default it' if kind.own else 'It'} is ``{written}``{legend}."


def formula(kind: Kind) -> str | None:
    """What a rate comes to, by counts; None where they do not say it, as of amounts or other models.

    >>> from ratebound.rates.kinds import KINDS
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
    """One side of a ratio, in letters where it is a sum of plain counts."""
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

# The type and the meaning of what goals take; the defaults are those of their signatures.
OF_GOALS = {
    "groups": (
        "str, Subset, dict or list",
        """Between whom: columns, of which every value is a group; columns with their values,
    ``{"sex": ("Female", "Male")}``; conditions, ``rb.column("age") < 25``; or a list of these.""",
    ),
    "slack": (
        "float",
        """How far the rates may be apart, both ways: 0.05 allows five percentage points. Give this or
    ``ratio=``. There is no default, since how much is fair is for people to say.""",
    ),
    "ratio": (
        "float",
        """The share of the reference that each group has to reach: 0.95 asks for at least 95% of it.
    Above 1 it turns round: 1.05 asks for at most 105%. Give this or `slack`.""",
    ),
    "against": (
        '{"overall", "pairwise"}',
        """What a group is compared with: the rate of all rows, or that of every other group. By default
    the rate of all rows: it takes fewer promises, and stays the same where a group is added.""",
    ),
    "at_least": ("float", "The least share that is promised, from 0 to 1."),
    "at_most": ("float", "The largest share that is promised, from 0 to 1."),
    "versus": ("str", "The column with the existing model's decisions."),
    "decision": (
        "bool or str",
        "What is decided: True for yes and False for no, or one of the classes.",
    ),
    "of": (
        "str, bool, int or float",
        """The class it speaks of. By default the positive one of two; of more than two, every class in
    turn.""",
    ),
    "on": (
        "str",
        """The name of the population whose rows count. By default the first, which the model is trained
    on.""",
    ),
    "intersection": (
        "bool",
        """Whether each combination of the columns' values is a group, and not each value. By default it
    is not, since combinations soon have few rows.""",
    ),
    "min_rows": (
        "int",
        """Leave out groups that have fewer rows to count on, with a warning. By default none is left
    out, and a group without any such row is an error.""",
    ),
}
EVERYONE_GROUPS = "\n    By default everyone, as one group."
LESS = "How much less is still allowed. By default none."
OWN_NAME = "The name of the population. The default is what the goal itself calls it."
ALWAYS = "The least share that is promised, from 0 to 1. By default all of them."


def goal_docstring(function: Callable[..., Any]) -> str:
    """The docstring of a goal of ours: its own words, what it takes, and its own examples."""
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
    A `Goal` where groups are columns, whose values are not known before there are rows."""
    returned = "list of Constraint or Goal\n    For ``subject_to`` of a `Problem`."
    returned += waits * ("groups" in inspect.signature(function).parameters)
    parts = [
        words.strip(),
        _section("Parameters", *taken),
        _section("Returns", returned),
        _section("Examples", ">>> import ratebound as rb", f">>> {examples}"),
    ]
    return "\n\n".join(parts) + "\n"
