"""A certificate prints, is written and read back; what was changed in a file is refused."""

import copy
import json
from dataclasses import replace

import pytest

import ratebound._old as rb
from ratebound._old.solution.certificate import Certificate, Certified

from .test_files import PROBLEM, assert_same, rewrite, trained

FAIR, RATE, PRECISION = PROBLEM.constraints
FOUND = {"value": 0.5, "bound": 0.4, "rows": 90, "rows_needed": 60, "method": "exact"}
PROMISES = (
    Certified(FAIR, p_value=0.01, holds=True, **FOUND),
    Certified(RATE, p_value=0.2, holds=False, **FOUND),
    Certified(PRECISION, None, None, 1.0, False, 0, None, "", "no row here is <b>"),
)
CERTIFICATE = Certificate(0.9, "one model", {"certified": 200, "steering": 20}, PROMISES)
HELD = Certificate(0.9, "one model", {"certified": 200}, PROMISES[:1])


@pytest.fixture(scope="module")
def mixture():
    return rb.last_iterate(trained())


def test_it_holds_where_the_largest_p_value_is_small_enough():
    assert HELD.holds
    assert not CERTIFICATE.holds
    assert replace(HELD, confidence=0.99).holds
    assert not replace(HELD, confidence=0.991).holds
    assert Certificate(0.9, "one model", {"certified": 200}, ()).holds
    with pytest.raises(ValueError, match="p-value lies between 0 and 1"):
        replace(PROMISES[0], p_value=1.1)


def test_it_prints_a_verdict():
    assert str(HELD).endswith("Certified: the promise holds on new rows like these, at 90% confidence.")
    text = str(CERTIFICATE)
    assert "on 200 rows, steering: 20" in text
    assert "Not tested: precision() >= 0.6: no row here is <b>" in text
    assert text.endswith("all promises hold; 1 of 3 are shown to hold; 1 could not be tested.")
    assert "&lt;b&gt;" in CERTIFICATE._repr_html_()
    assert "<b>" not in CERTIFICATE._repr_html_()
    assert repr(HELD).startswith("Certificate(Certified: ")


def test_there_and_back():
    for certificate in (CERTIFICATE, HELD):
        again = Certificate.from_dict(json.loads(certificate.render("json")))
        assert again == certificate
        assert again.promises[0].constraint.name == "fair to a"


def test_it_is_kept_with_a_saved_model(mixture, tmp_path):
    certified = mixture.recorded(certificate=CERTIFICATE)
    loaded = rb.load(certified.save(tmp_path))
    assert loaded.certificate == CERTIFICATE
    assert_same(loaded, certified)
    assert rb.load(mixture.save(tmp_path)).certificate is None


def test_files_from_before_there_were_certificates_are_read(mixture, tmp_path):
    path = mixture.save(tmp_path)
    rewrite(path, lambda document: document["record"].pop("certificate"))
    assert_same(rb.load(path), mixture)


def changes(value, place=()):
    """Every way to change one leaf of nested plain data."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from changes(item, (*place, key))
            yield (*place, key), KeyError
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from changes(item, (*place, index))
    else:
        for other in (None, True, -1, 7, 0.25, "x", [], {}):
            if type(other) is not type(value) or other != value:
                yield place, other


def changed(data, place, other):
    found = copy.deepcopy(data)
    inside = found
    for key in place[:-1]:
        inside = inside[key]
    if other is KeyError:
        del inside[place[-1]]
    else:
        inside[place[-1]] = other
    return found


def test_a_changed_certificate_is_refused_or_is_another():
    """Whatever is changed, the verdict of what is read agrees with its numbers."""
    data = CERTIFICATE.to_dict()
    refused = 0
    for place, other in changes(data):
        try:
            found = Certificate.from_dict(changed(data, place, other))
        except (ValueError, KeyError, TypeError, AttributeError):
            refused += 1
            continue
        assert found.to_dict() == changed(data, place, other)
        assert found != CERTIFICATE or place[-1] == "name"
    assert refused > 150


def test_a_changed_certificate_in_a_file_is_one_error(mixture, tmp_path):
    path = mixture.recorded(certificate=HELD).save(tmp_path)
    rewrite(path, lambda document: document["record"]["certificate"].update(holds=False))
    with pytest.raises(
        ValueError, match="cannot be loaded: the verdict of its certificate does not agree"
    ):
        rb.load(path)
    rewrite(path, lambda document: document["record"]["certificate"].update(promises=3))
    with pytest.raises(ValueError, match="cannot be loaded"):
        rb.load(path)


def test_parts_of_a_mixture_are_not_certified(mixture):
    from ratebound._old.solution.mixture import member

    whole = rb.average(trained()).recorded(certificate=HELD)
    assert member(whole, 0).certificate is None
