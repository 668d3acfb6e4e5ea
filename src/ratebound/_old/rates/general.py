"""Custom constraints: a function of the model computes a number, which must stay at or below a bound.

The paper's game takes any constraint g(θ) <= 0, and any proxy g̃(θ) that the model descends instead.
Rates are the main case. A `General` is the left side of a custom constraint: a name and two functions.
It can stand beside rates in a problem. It is printed, audited and written to files by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ratebound._old.base.checks import check_number
from ratebound._old.rates.expressions import FIRST, Constraint, Expression, Rate, SingleMetric

Function = Callable[[Any, Any], Any]  # of a model and rows, to a number


@dataclass(frozen=True, repr=False)
class General(SingleMetric):
    """A number that a function of the model computes; `constraint` bounds one from above.

    Two are equal if they have the same name. A problem holds each name once, and files do not hold
    functions.

    Parameters
    ----------
    name : str
        Its name in reports and files.
    value : callable or None
        A function from the model and rows to the number that the λ-player sees; None if it was read from
        a file.
    proxy : callable or None
        A function from the model and rows to the number that the model descends; None if it was read
        from a file.
    on : str, default=None
        The population whose rows the functions get. By default the first.
    exact : bool, default=False
        Whether the λ-player sees the value on all rows in every round. By default it sees the batch's.
    scale : float, default=1.0
        The unit in which it is compared with other constraints.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> def largest(model, rows):
    ...     return abs(model.scores).max()
    >>> small = rb.constraint(largest, name="largest score", at_most=4)
    >>> small.left, small
    (largest score, largest score <= 4.0)
    """

    name: str
    value: Function | None = field(compare=False)
    proxy: Function | None = field(compare=False)
    on: str | None = field(default=None, compare=False)
    exact: bool = field(default=False, compare=False)
    scale: float = field(default=1.0, compare=False)

    rate = None  # it does not print as a rate

    @property
    def population(self) -> str:
        """The population whose rows the functions get, by name."""
        return self.on or FIRST

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Empty: it is not made of rates."""
        return ()

    def __str__(self) -> str:
        return self.name


def constraint(
    value: Function,
    proxy: Function | None = None,
    *,
    name: str,
    at_most: float = 0.0,
    on: str | None = None,
    exact: bool = False,
    scale: float = 1.0,
) -> Constraint:
    """A custom constraint, g(θ) <= 0, on anything that a function of the model can compute.

    It can stand beside rates in a `Problem`. `play` trains for it with PyTorch modules (`Torch`, `MLP`,
    `Lattice`). `Game` trains for it in your own training loop. See ``docs/own_constraints.md``.

    Both functions take ``(model, rows)`` and return one number. The model has the `scores` of these
    rows, (n,), or (D, n) for D > 2 classes, and `module`: the PyTorch module, or the ``module=`` of your
    own loop. The rows have `X`, `y` (1 for yes and 0 for no, or the label's position among D > 2
    classes), `columns["name"]` and `weights`. If the scores are tensors, so are all numbers of the rows.

    Parameters
    ----------
    value : callable
        The number that the λ-player sees, and that is bounded, audited and reported. It need not be
        differentiable.
    proxy : callable, default=None
        The number that the model descends in its place: a scalar with a gradient, which should never be
        below `value`. By default `value` itself, which then needs a gradient.
    name : str
        Its name in reports and files; each name may occur once in a problem.
    at_most : float, default=0.0
        The bound: `value` must stay at or below it.
    on : str, default=None
        The population whose rows the functions get. By default the first, which the model is trained on.
    exact : bool, default=False
        Whether the λ-player sees the value on all rows in every round, which takes a pass over them. By
        default it sees the value on the round's batch. A batch overstates some values, such as a
        calibration gap. The value that is kept and reported is always exact.
    scale : float, default=1.0
        The unit in which it is compared with other constraints: a plausible size of its violation. A
        rate's violation is below 1. A norm of 50 needs a larger unit, or it outweighs the rates.

    Returns
    -------
    Constraint
        For ``Problem(..., subject_to=[...])``.

    Raises
    ------
    TypeError
        If `value` or `proxy` is not a function, or `name` not a text.

    See Also
    --------
    rate : A custom rate, which every model, audit and certificate can handle.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> def l1(model, rows):
    ...     return model.module.weight.abs().sum()
    >>> budget = rb.constraint(value=l1, name="L1 norm", at_most=2.0)
    >>> print(rb.Problem("error_rate()", ["recall() >= 0.9", budget]))
    minimize error_rate()
    subject to
      recall() >= 0.9
      L1 norm <= 2.0
    """
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"constraint takes a name, as in name='L1 budget', got {name!r}")
    for called, function in {"value": value, "proxy": value if proxy is None else proxy}.items():
        if not callable(function):
            raise TypeError(
                f"{name}: {called}= takes a function of (model, rows) that gives a number, got "
                f"{function!r}"
            )
    if on is not None and not isinstance(on, str):
        raise TypeError(f"{name}: on= takes the name of a population, got {on!r}")
    check_number(f"{name}: scale, a unit,", scale, above=0)
    check_number(f"{name}: at_most, the bound,", at_most)
    bound = Expression((), float(at_most))
    descended = value if proxy is None else proxy
    metric = General(name.strip(), value, descended, on, bool(exact), float(scale))
    return Constraint(metric, "<=", bound)


def general(constraints: Iterable[Any]) -> list[General]:
    """The custom constraints among promises of any kind."""
    return [
        each.left
        for each in constraints
        if isinstance(each, Constraint) and isinstance(each.left, General)
    ]


def refuse_general(constraints: Iterable[Any], who: str, remedy: str) -> None:
    """Raise if some constraint is a custom one, in places that handle only rates.

    >>> own = constraint(lambda model, rows: 0.0, name="gap")
    >>> refuse_general([own], "a certificate", "Audit it instead.")
    Traceback (most recent call last):
    ValueError: gap <= 0.0: a certificate handles only rates, and this is a custom constraint \
(rb.constraint). Audit it instead.
    """
    for each in constraints:
        if isinstance(each, Constraint) and isinstance(each.left, General):
            raise ValueError(
                f"{each}: {who} handles only rates, and this is a custom constraint "
                f"(rb.constraint). {remedy}"
            )
