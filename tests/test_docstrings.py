"""Every public name says what it takes, in numpydoc's form: its own parser and validator read it.

Names of new rooms have a sentence and an example, and say what they take where that needs words.
"""

import inspect
import re
from functools import cached_property

import pytest

import ratebound as rb
from ratebound.rates.table import ALIASES, Kind

validate = pytest.importorskip("numpydoc.validate")
from numpydoc.docscrape import get_doc_object  # noqa: E402  # it may be missing

# What is asked of each docstring, by numpydoc's codes (numpydoc.validate.ERROR_MSGS says them).
FORM = {"GL02", "GL03", "GL06", "GL07", "GL08", "GL10", "SS01", "SS02", "SS03", "SS04", "SS06"}
PARAMETERS = {"PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR09", "PR10"}
RETURNS = {"RT03", "RT05", "SA04"}  # where there is such a section
OF_NAMES = {"EX01"}  # of functions and classes, not of their methods
OF_FUNCTIONS = {"RT01", "YD01"}

NAMES = [name for name in rb.__all__ if name not in ("datasets", "goals", *ALIASES)]
NAMES += [f"datasets.{name}" for name in rb.datasets.__all__]
NAMES += [f"goals.{name}" for name in sorted(rb.goals.BUILT_IN)]


def found(name):
    room, _, own_name = name.rpartition(".")
    public = getattr(getattr(rb, room) if room else rb, own_name)
    return public if callable(public) else type(public)  # a condition, whose class says what it is


def is_new(public):
    return not public.__module__.startswith("ratebound._old.") and not isinstance(public, Kind)


def members(kind):
    """The methods and properties of a class that are ours, public, and do not inherit their words."""
    seen = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("ratebound."):
            continue
        for name, member in vars(base).items():
            plain = isinstance(member, property | cached_property)
            called = inspect.isfunction(member) or isinstance(member, staticmethod | classmethod)
            if name.startswith("_") or not (plain or called) or name in seen:
                continue
            if member.__doc__ or not inspect.getdoc(getattr(kind, name)):
                seen.add(name)
                yield f"{base.__name__}.{name}", member if plain else getattr(base, name)


def wrong(documented, codes):
    """What the validator finds, and each default that is not named as the signature has it."""
    doc = get_doc_object(documented, config={"show_class_members": False})
    said = [text for code, text in validate.validate(doc)["errors"] if code in codes]
    if isinstance(documented, property | cached_property) or "PR01" not in codes:
        return said
    types = {each.name: each.type for each in doc["Parameters"]}
    for name, parameter in inspect.signature(documented).parameters.items():
        if parameter.default is inspect.Parameter.empty or name not in types:
            continue
        default = re.search(r"default=(.+)$", types[name])
        if default is None or not same(default[1], parameter.default):
            said.append(f"{name} : {types[name]!r} does not name its default={parameter.default!r}")
    return said


def same(words, default):
    if repr(default) == "<factory>":
        return True
    return repr(inspect.unwrap(eval(words, {"rb": rb}))) == repr(default)


@pytest.mark.parametrize("name", [name for name in NAMES if is_new(found(name))])
def test_a_name_of_a_new_room_has_a_sentence_and_an_example(name):
    public = found(name)
    assert ">>>" in public.__doc__
    documented = {name: public}
    if inspect.isclass(public):
        documented |= dict(members(public))
    problems = {}
    for where, member in documented.items():
        text = inspect.getdoc(member) or ""
        codes = FORM | PARAMETERS if "\nParameters\n---" in text else FORM
        problems[where] = wrong(member, codes) if text else []
    assert {where: said for where, said in problems.items() if said} == {}


@pytest.mark.parametrize("name", [name for name in NAMES if not is_new(found(name))])
def test_a_public_name_says_all_that_it_takes(name):
    public, codes = found(name), FORM | PARAMETERS | RETURNS | OF_NAMES
    if not inspect.isclass(public):
        assert wrong(public, codes | OF_FUNCTIONS) == []
        return
    problems = {name: wrong(public, codes)}
    for where, member in members(public):
        plain = isinstance(member, property | cached_property)
        problems[where] = wrong(member, FORM if plain else FORM | PARAMETERS | RETURNS)
    assert {where: said for where, said in problems.items() if said} == {}


def test_all_that_is_public_is_looked_at():
    looked_at = [found(name) for name in NAMES]
    assert len(looked_at) == len(set(map(id, looked_at)))
    assert {"Goal.spell_out", "Goal.lacks_class"} <= set(dict(members(rb.Goal)))


def twice(what, many=3):
    """Say it again.

    Parameters
    ----------
    what : object
        Anything.
    many : int, default=2
        How often.

    Returns
    -------
    list
        It, so often.

    Examples
    --------
    >>> twice("here")
    ['here', 'here', 'here']
    """
    return [what] * many


def test_what_is_wrong_is_found():
    codes = FORM | PARAMETERS | OF_NAMES | OF_FUNCTIONS
    assert wrong(twice, codes) == ["many : 'int, default=2' does not name its default=3"]
    assert wrong(test_what_is_wrong_is_found, codes) == ["The object does not have a docstring"]
