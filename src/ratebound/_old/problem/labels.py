"""Labels: which classes there are, which of two is yes, and how labels and decisions name them.

One rule holds wherever labels come from: a population, `fit`, a file, a monitor. The classes are given,
or they are the labels that occur, in sorted order, as in scikit-learn. The later of two classes is yes
unless `positive` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_array, distinct, is_missing, some, unmasked
from ratebound._old.rates.kinds import TWO, Classes, label_classes, referral_of
from ratebound._old.rates.subsets import Referral, plain_value

MOST_CLASSES = 1000  # more distinct values than this are not class labels
FEW_CLASSES = 20  # classes that may have any number of rows, and that an error lists
ROWS_PER_CLASS = 10  # rows per class on average if there are more; with fewer, labels are numbers
# If only one label of such a pair occurs, the other is known.
PAIRS: tuple[Classes, ...] = (TWO, (0, 1), (-1, 1), ("False", "True"), ("0", "1"), ("-1", "1"))
NEGATIVE = {  # labels that read like a no, and sort last beside their yes
    "no", "nein", "non", "nao", "não", "nie", "rejected", "refused", "unpaid", "unfit", "negative",
    "failed", "not approved", "not hired", "not granted",
}  # fmt: skip


def reads_like_no(label: Any) -> bool:
    """Whether a label reads like a no, though it sorts last and is taken as yes.

    >>> reads_like_no("nein"), reads_like_no("good")
    (True, False)
    """
    return str(label).strip().casefold() in NEGATIVE


@dataclass(frozen=True)
class Labels:
    """The possible labels, and the mapping from labels and decisions to class indices.

    >>> Labels(("bad", "good")).decided(np.array([0, 1]), "the column 'live'")
    array([False,  True])
    """

    classes: Classes | None = None  # in order, with two no and then yes; None if unknown
    named_no: bool = True  # whether the name of no is known; otherwise it is guessed, as no row has it

    @property
    def yes(self) -> Any:
        """The label that means yes; None if unknown, or with more than two classes."""
        labels = label_classes(self.classes or ())
        return labels[1] if len(labels) == 2 else None

    def places(self, values: Array, what: str) -> Array:
        """The class index (n,) of each label; with two classes, whether it is yes."""
        classes = self.classes or TWO
        places = places_among(values, classes)
        if (places < 0).any():
            strange = some(distinct(values[places < 0]))
            raise ValueError(f"{what} holds {strange}, which is not one of the classes {some(classes)}")
        referral = referral_of(classes)
        if what == "y" and referral is not None and (places == len(classes) - 1).any():
            raise ValueError(
                f"y holds {str(referral)!r}, which is the name of a referral: no row may have it as "
                "its label. Choose another name, refer=..., or leave those rows out"
            )
        return places == 1 if len(classes) == 2 else places

    def decided(self, values: Array, what: str) -> Array:
        """The same for decisions; with two classes, yes may also be True or 1, and no False, 0 or -1.

        A value that equals a label means that label, so 0 means False. But True always means yes,
        whichever number does.
        """
        if (referral := referral_of(self.classes or TWO)) is not None:
            return self._decided_or_referred(values, what, referral)
        if len(self.classes or TWO) > 2:
            return self.places(values, what)
        held = distinct(values, None)
        if type(self.yes) in (int, float) and all(isinstance(value, bool) for value in held):
            return values.astype(bool)
        if self.classes is not None:
            named = places_among(values, self.classes)
            if (named >= 0).all():
                return named == 1
        numbers = any(set(held) <= set(pair) for pair in PAIRS[:3])
        if not self.named_no and not (numbers and isinstance(self.yes, str)):
            if len(held) - (self.yes in held) <= 1:
                return np.asarray(values == self.yes, dtype=bool)
        elif numbers and (self.classes or TWO)[0] != 1:
            return np.asarray(values == 1, dtype=bool)
        labels = f"the classes {some(self.classes)}" if self.classes else "labels, named by positive="
        raise ValueError(
            f"{what} holds {some(held)}, but yes or no is needed: 1 or 0, True or False, or {labels}. "
            "Pass decisions instead of probabilities"
        )

    def _decided_or_referred(self, values: Array, what: str, referral: Referral) -> Array:
        """The class indices of decisions if rows may be referred."""
        assert self.classes is not None
        labels = label_classes(self.classes)
        referred = np.asarray(values == referral, dtype=bool)
        places = np.full(len(values), len(labels))
        if not referred.all():
            own = Labels(labels, self.named_no).decided(values[~referred], what)
            places[~referred] = own.astype(int)
        return places


def class_array(classes: Sequence[Any]) -> Array:
    """The classes as an array (D,), each with its own type: numbers and a referral's name may mix.

    >>> class_array((0, 1, Referral("ask")))
    array([0, 1, 'ask'], dtype=object)
    """
    if len({isinstance(each, str) for each in classes}) < 2:
        return np.asarray(classes)
    plain = [str(each) if isinstance(each, str) else np.asarray(each).item() for each in classes]
    return np.array(plain, dtype=object)


def with_referral(classes: Classes, refer: Any) -> Classes:
    """The classes, followed by a referral.

    >>> with_referral(("no", "yes"), "yes")
    Traceback (most recent call last):
    ValueError: refer='yes' is one of the labels, 'no', 'yes': give the referral another name. Leave ...
    """
    if not isinstance(refer, str) or not refer.strip():
        raise TypeError(f"refer= takes a text, the name of the decision to refer, got {refer!r}")
    if any(str(each) == refer for each in classes):
        raise ValueError(
            f"refer={refer!r} is one of the labels, {some(classes)}: give the referral another name. "
            "Leave out rows that were referred and have no label yet"
        )
    return (*classes, Referral(refer))


def places_among(values: Array, classes: Sequence[Any]) -> Array:
    """The index (n,) of each value among the classes, -1 for other values.

    If classes are texts, numbers are compared as text.

    >>> places_among(np.array([0, 1, 2]), ["0", "1"]).tolist()
    [0, 1, -1]
    """
    if values.dtype.kind in "biuf" and all(isinstance(each, str) for each in classes):
        values = values.astype(str)
    places = np.full(len(values), -1)
    for place, each in enumerate(classes):
        places[np.asarray(values == each, dtype=bool)] = place
    return places


def label_values(y: Any) -> Array:
    """Labels as one array (n,) without missing values: from a list, an array, a column or a table.

    >>> label_values([["yes"], ["no"]])
    array(['yes', 'no'], dtype='<U3')
    """
    if isinstance(y, str):
        raise TypeError(
            f"y takes a label for each row, got the text {y!r}: if that is a column of X, pass "
            f"X.drop(columns=[{y!r}]) and X[{y!r}]"
        )
    values = as_array(unmasked(y))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"y has shape {values.shape}, expected one label per row")
    if lacking := int(is_missing(values).sum()):
        raise ValueError(
            f"y has {lacking:,} missing labels among {len(values):,}: leave those rows out, or pass "
            "them as a separate unlabelled population, for rates that need no labels"
        )
    if isinstance(y, list | tuple) and all(isinstance(label, str) for label in values):
        values = values.astype(str)
    if values.dtype == object and all(type(label) is int for label in values):
        values = values.astype(int)  # tables often store whole numbers as floats
    return values


def labels_of(
    values: Array | None,
    positive: Any = None,
    classes: Sequence[Any] | None = None,
    refer: str | None = None,
) -> Labels:
    """The classes of these labels (n,), if there are any: the given ones, or the labels that occur.

    `refer` is the name of a referral, an additional class that no label has.

    >>> labels_of(np.array(["yes", "no"])).classes, labels_of(np.array([1, 1])).classes
    (('no', 'yes'), (0, 1))
    >>> labels_of(np.array(["good", "good"]), positive="good").classes
    ('not good', 'good')
    """
    if refer is not None:
        own = labels_of(values, positive, classes)
        return Labels(with_referral(own.classes or TWO, refer), own.named_no)
    if classes is not None:
        return Labels(_given(classes, positive))
    held = [] if values is None else distinct(values)
    if positive is None:
        return Labels(None if values is None else _pair(held) or _all_classes(values, held))
    positive = plain_value(positive)
    others = [value for value in held if value != positive]
    if len(others) > 1:
        raise ValueError(f"y needs two values, one of them {positive!r}; it holds {some(held)}")
    pair = _pair([*held, positive]) or (others[0] if others else f"not {positive}", positive)
    no, yes = pair if positive == pair[1] else pair[::-1]
    return Labels((plain_value(no), yes), named_no=bool(others))


def _given(classes: Sequence[Any], positive: Any) -> Classes:
    if isinstance(classes, str) or positive is not None:
        raise ValueError(
            "classes takes all labels in order, as in ['bird', 'cat', 'dog']; leave positive= out"
        )
    labels = tuple(plain_value(each) for each in classes)
    if any(isinstance(each, Referral) for each in labels[:-1]) or len(label_classes(labels)) < 2:
        raise ValueError("classes takes two labels or more, and a referral after them")
    if len(set(labels)) < max(len(labels), 2):
        raise ValueError(f"classes takes two or more different labels, got {some(labels)}")
    return labels


def _pair(labels: Sequence[Any]) -> Classes | None:
    """The known pair that these labels belong to, if any."""
    truths = isinstance(labels[0], bool)
    kinds = (pair for pair in PAIRS if isinstance(pair[0], bool) == truths)
    return next((pair for pair in kinds if all(value in pair for value in labels)), None)


def _all_classes(values: Array, held: list[Any]) -> Classes:
    """All labels that occur, in order."""
    if any(isinstance(value, float) and not value.is_integer() for value in held):
        raise ValueError(f"y holds continuous values, {some(held)}, not class labels: make it yes or no")
    try:
        classes: list[Any] = np.unique(values).tolist()
    except TypeError:
        raise ValueError(
            f"y mixes labels of different kinds, {some(held)}: make all of them texts, or all of them "
            "numbers, or give classes= in order"
        ) from None
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"y holds {len(classes):,} different labels, {some(held)}: too many to be classes "
            f"(at most {MOST_CLASSES:,}); group them into bands, or make it yes or no"
        )
    if len(classes) == 1:
        raise ValueError(
            f"y holds only {some(held)}, but two classes are needed: give both with classes=[no, yes]"
        )
    return tuple(plain_value(each) for each in classes)
