"""The picture of the README, made by its own code: python docs/hero.py draws images/hero.svg."""

from __future__ import annotations

import doctest
from pathlib import Path

import ratebound as rb
from ratebound._old.base.markup import Markup, tag

HERE = Path(__file__).parent
GROUPS = ("under 30", "30 to 59", "60 and over")
BOUND = 0.6
STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1b2733 }
.head { font-weight: 600; font-size: 16px } .small { font-size: 12.5px; fill: #566573 }
.bound { stroke: #1b2733; stroke-dasharray: 4 4 } .paper { fill: #fff } .whisker { stroke-width: 2.5 }
.bad { fill: #b3261e; stroke: #b3261e } .good { fill: #1b7f4b; stroke: #1b7f4b }
text.small { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e8edf2 } .small { fill: #aab6c2 } .paper { fill: #14191f } .bound { stroke: #e8edf2 }
  .bad { fill: #ff8a80; stroke: #ff8a80 } .good { fill: #6fd39b; stroke: #6fd39b }
}
"""
WIDE, HIGH, LEFT, PANEL = 860, 250, 110, 330


def names_of_readme() -> dict[str, object]:
    """What the README's examples define."""
    path = HERE.parent / "README.md"
    page = doctest.DocTestParser().get_doctest(path.read_text("utf-8"), {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(page, clear_globs=False)
    return page.globs


def panel(x: float, title: str, cost: str, audit: rb.Audit) -> list[str]:
    """Recall by group with its interval, beside the bound."""

    def at(value: float) -> float:
        return x + (value - 0.4) / 0.6 * PANEL

    parts = [tag("text", title, x=x, y=34, class_="head"), tag("text", cost, x=x, y=56, class_="small")]
    parts.append(tag("line", x1=at(BOUND), x2=at(BOUND), y1=72, y2=206, class_="bound"))
    parts.append(tag("text", "60%", x=at(BOUND) - 13, y=224, class_="small"))
    for place, promise in enumerate(audit.promises):
        y = 92 + 48 * place
        low, high = BOUND + promise.slack_low, BOUND + promise.slack_high
        kind = "good" if promise.value >= BOUND else "bad"
        parts.append(tag("line", x1=at(low), x2=at(high), y1=y, y2=y, class_=f"{kind} whisker"))
        parts.append(tag("circle", cx=at(promise.value), cy=y, r=6, class_=kind))
        verdict = "met" if kind == "good" else "violated"
        said = f"{promise.value:.0%} {verdict}"
        side = {"x": at(high) + 9} if kind == "good" else {"x": at(low) - 9, "text_anchor": "end"}
        parts.append(tag("text", said, y=y + 4.5, class_=f"small {kind}", **side))
    return parts


def main() -> None:
    """Draw the picture."""
    names = names_of_readme()
    new = rb.Population(names["new_X"], names["new_y"])
    parts = [tag("rect", x=0, y=0, width=WIDE, height=HIGH, class_="paper", rx=8)]
    parts += [tag("text", group, x=16, y=97 + 48 * k) for k, group in enumerate(GROUPS)]
    for x, name, title in (
        (LEFT + 10, "plain", "One constraint for everyone"),
        (LEFT + PANEL + 60, "model", "One for each age group"),
    ):
        audit = rb.audit(rb.Problem("positive_rate()", names["rules"]), names[name], new)
        cost = f"recall on new rows, 95% bounds; calls {audit.objective.value:.0%} of all"
        parts += panel(x, title, cost, audit)
    drawn = tag("svg", tag("style", Markup(STYLE)), *parts, xmlns="http://www.w3.org/2000/svg",
                viewBox=f"0 0 {WIDE} {HIGH}", width=WIDE, height=HIGH, role="img")  # fmt: skip
    (HERE / "images" / "hero.svg").write_text(f"{drawn}\n", "utf-8")


if __name__ == "__main__":
    main()
