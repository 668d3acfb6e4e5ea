"""What promises cost, on the page: where curves and marks are drawn, and what is said beside them."""

import math
import re

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.auditing._about_model import price_chart
from ratebound._old.auditing.auditing import audit
from ratebound._old.base.charts import chart
from ratebound._old.solution.certificate import Certificate, Certified
from ratebound._old.solution.price import Price

from .conftest import draw
from .test_report import Outline

FLOOR, CAP = rb.recall(sex="F") >= 0.9, rb.positive_rate() <= 0.4
PRICES = (
    Price(FLOOR, "error_rate()", np.array([0.85, 0.93]), np.array([0.2, 0.3]), (0.9, 0.2625), 1.25),
    Price(CAP, "error_rate()", np.array([0.35, 0.5]), np.array([0.3, 0.2]), (0.38, 0.28), -2 / 3),
)
NEVER = Price(CAP, "error_rate()", np.empty(0), np.empty(0), (0.4, math.inf), math.nan)


def certified(constraint, p_value, why=""):
    holds = p_value < 0.05
    return Certified(constraint, 0.95, 0.9, p_value, holds, 400, None if why else 950, "binomial", why)


def certificate(*promises):
    return Certificate(0.95, "one model", {"certified": 500}, promises)


def reported(prices, tested=None):
    """The audit of a model of which these prices and this certificate are known."""
    people = draw()
    problem = rb.Problem(rb.error_rate(), [FLOOR, CAP])
    trace = rb.play(rb.compile(problem, people), rb.Linear(), rounds=3, progress=False)
    return audit(problem, rb.shrink(trace).recorded(prices=tuple(prices), certificate=tested), people)


def of_kind(markup, kind):
    return re.findall(rf'<\w+ [^>]*class="{kind}"[^>]*>', str(markup))


def number(markup, name):
    return float(re.search(rf' {name}="([-\d.]+)"', markup)[1])


def test_marks_lie_on_the_curve_and_shades_on_their_side_of_it():
    drawn = chart(price_chart(PRICES[0], tested=certified(FLOOR, 0.01)))
    (dot,), (line,) = of_kind(drawn, "solution"), of_kind(drawn, "bound")
    points = [p.split(",") for p in re.search(r'points="([^"]+)"', drawn)[1].split()]
    xs, ys = np.array(points, dtype=float).T
    assert np.interp(number(dot, "cx"), xs, ys) == pytest.approx(number(dot, "cy"), abs=0.2)
    assert number(line, "x1") == number(dot, "cx")  # trained for what was promised
    (green,), (grey,) = of_kind(drawn, "certified"), of_kind(drawn, "never")
    assert number(green, "x") + number(green, "width") == pytest.approx(number(line, "x1"), abs=0.02)
    assert number(grey, "x") == pytest.approx(xs[-1], abs=0.1)  # no line if no bound is kept


def test_a_cap_is_certified_to_its_right_and_impossible_to_its_left():
    drawn = chart(price_chart(PRICES[1], (0.41, 0.25), certified(CAP, 0.01)))
    (green,), (grey,), (line,) = (of_kind(drawn, kind) for kind in ("certified", "never", "bound"))
    assert number(green, "x") == number(line, "x1")
    assert number(grey, "x") < number(line, "x1")
    (dot,), (ring,) = of_kind(drawn, "solution"), of_kind(drawn, "audited")
    assert number(dot, "cx") < number(line, "x1") < number(ring, "cx")  # trained with a margin


def test_the_page_has_a_chart_a_promise_and_the_certificate():
    tested = certificate(certified(FLOOR, 0.01), certified(CAP, 0.2))
    page = reported(PRICES, tested).render("html")
    words = "".join(Outline(page).words)
    assert page.count("<figure ") == 2
    order = ["Known limits", "What was measured", "Certificate", "What each promise costs"]
    order += ["What was promised, in words and as formulas"]
    places = [words.rindex(title) for title in order]
    assert places == sorted(places)
    assert tested.summary in words
    assert "Certified at 95%." in words
    assert "Not certified at 95%; that would take about 950 rows, but there are 400." in words
    assert "from 0.9 to 0.91 would cost 0.0125 of error_rate()" in words
    untested = certificate(certified(FLOOR, 1.0, "rows have <weights>"))
    assert "Not certified: rows have <weights>" in "".join(
        Outline(reported(PRICES, untested).render("html")).words
    )


def test_what_has_no_curve_is_said_in_words():
    words = "".join(Outline(reported([NEVER]).render("html")).words)
    assert "cannot be kept together, whatever its bound" in words
    beyond = Price(
        FLOOR, "error_rate()", np.array([0.5, 0.6]), np.array([0.2, 0.3]), (0.9, math.inf), 0.0
    )
    assert not of_kind(chart(price_chart(beyond)), "solution")
    free = Price(FLOOR, "error_rate()", np.array([0.95]), np.array([0.2]), (0.9, 0.2), 0.0)
    assert of_kind(chart(price_chart(free)), "solution")
