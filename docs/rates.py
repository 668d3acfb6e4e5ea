"""Writes what the docs say about every rate and goal, from the tables that define them.

`make docs` runs this. It writes the tables in saying.md and the lists in reference/say.rst;
`tests/test_reference.py` holds what is committed to what is made here.
"""

import inspect
from collections.abc import Iterable
from pathlib import Path

from ratebound.rates.conditions import Every
from ratebound.rates.goals import BUILT_IN, GOALS
from ratebound.rates.sums import PAIRS, RANKING, RATIO, mentions_letter
from ratebound.rates.table import EXAMPLE_PRICES, KINDS, Kind
from ratebound.rates.text import parse

DOCS = Path(__file__).parent
RULE = "|---|---|\n"  # below the head of a table
GROUP = Every("g")

# name | a constraint | how someone would say it
SENTENCES = """
positive_rate | positive_rate() <= 0.15 | We invite at most 15 of 100 applicants.
negative_rate | negative_rate() >= 0.5 | At least half of all emails pass the filter.
prevalence | positive_rate() <= prevalence() + 0.02 | We say yes about as often as the labels do.
recall | recall() >= 0.95 | At least 95 of 100 people with the disease are found.
false_negative_rate | false_negative_rate() <= 0.05 | At most 5 of 100 people with the disease are missed.
false_positive_rate | false_positive_rate() <= 0.02 | At most 2 of 100 healthy people are called back for nothing.
true_negative_rate | true_negative_rate() >= 0.99 | At least 99 of 100 honest customers are not bothered.
confusion | confusion(label="stroke", predicted="migraine") <= 0.01 | At most 1 of 100 patients with a stroke is sent home with a migraine.
accuracy | accuracy(ward == "B") >= 0.9 | At least 9 of 10 decisions on ward B are right.
error_rate | error_rate(age < 25) <= 0.2 | At most 2 of 10 decisions on people under 25 are wrong.
cost | cost(false_negative=10, false_positive=1) <= 0.5 | A missed default costs ten times a good customer refused; the mean is at most 0.5.
precision | precision() >= 0.8 | When we raise an alarm, it is real in at least 8 of 10 cases.
false_discovery_rate | false_discovery_rate() <= 0.01 | At most 1 of 100 people we accuse is innocent.
negative_predictive_value | negative_predictive_value() >= 0.999 | At least 999 of 1,000 people we send home are healthy.
false_omission_rate | false_omission_rate() <= 0.001 | At most 1 of 1,000 people we let pass should have been stopped.
jaccard | jaccard() >= 0.6 | The area we mark and the damaged area overlap by at least 60%.
f_score | f_score() >= 0.7 | Precision and recall, weighted equally, reach at least 0.7.
referred | referred() <= 0.15 | At most 15 of 100 applications go to a person.
predicted_positives | predicted_positives(per=1000) <= 80 | The team can look into 80 of every 1,000 cases.
predicted_negatives | predicted_negatives(per=1000) >= 600 | At least 600 of every 1,000 letters go out without being read by a person.
true_positives | true_positives(per=1000) >= 30 | At least 30 of every 1,000 inspections find something.
false_positives | false_positives(per=1000) <= 5 | At most 5 of every 1,000 customers are bothered without cause.
true_negatives | true_negatives(per=1000) >= 950 | At least 950 of every 1,000 travellers are allowed to pass and do pass.
false_negatives | false_negatives(per=10000) <= 3 | At most 3 tumours are overlooked in every 10,000 images.
errors | errors(per=1000) <= 40 | At most 40 of every 1,000 decisions are wrong.
decisions | decisions(per=1000) >= 700 | At least 700 of every 1,000 letters are answered at once.
referrals | referrals(per=1000) <= 80 | The team can look at 80 of every 1,000 cases.
churn | churn(versus="live") <= 0.02 | The new version changes at most 2 of 100 decisions of the one in use.
loss_only_churn | loss_only_churn(versus="live") <= 0.01 | At most 1 of 100 cases that the old version got right becomes wrong.
wins | wins(versus="live", per=1000) >= 20 | At least 20 of every 1,000 cases change from wrong to right.
losses | losses(versus="live", per=1000) <= 5 | At most 5 of every 1,000 cases change from right to wrong.
win_loss_ratio | win_loss_ratio(versus="live") >= 2 | For every case that becomes wrong, at least two become right.
roc_auc | roc_auc() >= 0.85 | The score ranks a sick person above a healthy one in at least 85 of 100 pairs.
ranked_right | ranked_right(first.sex == "F", second.sex == "M") >= 0.9 | Of a suitable woman and an unsuitable man, she has the higher score in at least 90 of 100 pairs.
statistical_parity | statistical_parity(sex, ratio=0.8) | No group is invited less than four fifths as often as everyone.
equal_opportunity | equal_opportunity(sex, ratio=0.95) | Of those who deserve a yes, every group gets nearly the same share of them.
equalized_odds | equalized_odds(sex, slack=0.1) | Neither the sick are found nor the healthy alarmed much more often in one group than in another.
equal_accuracy | equal_accuracy(sex, slack=0.05) | The test is about as reliable for women as for men.
accurate_coverage | accurate_coverage(district, slack=0.02) | Every district is inspected as often as its past findings call for.
minimum_coverage | minimum_coverage(age < 25, age >= 60, at_least=0.1) | At least one in ten of every age group is invited.
minimum_recall | minimum_recall(hospital, at_least=0.95) | In every hospital at least 95 of 100 of the ill are found.
minimum_accuracy | minimum_accuracy(country, at_least=0.8) | In every country at least 8 of 10 decisions are right.
no_lost_benefits | no_lost_benefits(sex, versus="live") | With the new version no group gets the benefit less often than today.
not_worse_off | not_worse_off(sex, versus="live") | For no group is the new version wrong more often than the old one.
limited_churn | limited_churn(region, versus="live", at_most=0.02) | In no region does the decision change for more than 2 of 100 customers.
steering_examples | steering_examples(at_least=0.67) | On the 200 cases that the experts judged again, at least 67 of 100 decisions are theirs.
egregious_examples | egregious_examples(at_least=0.99) | Mistakes that would make the news do not happen, in at least 99 of 100 such cases.
decision_rule | decision_rule(age < 18, decision=False, at_least=0.99) | Minors are refused, as the law says, in at least 99 of 100 cases.
"""  # noqa: E501


def read_sentences() -> dict[str, tuple[str, str]]:
    """Return a constraint and a sentence for every rate and goal."""
    sentences = {}
    for line in SENTENCES.strip().splitlines():
        name, constraint, sentence = map(str.strip, line.split("|"))
        sentences[name] = (constraint, sentence)
    return sentences


def section_of(kind: Kind) -> str:
    """Return the heading in saying.md under which a rate stands."""
    (rate,) = parse_example(kind.name)
    counted, among = kind.parts(EXAMPLE_PRICES)
    if "versus" in kind.takes:
        return "Against a live model"
    if "decided" in counted[0].event:
        return "How often a row is referred"
    if among is None:
        return "Counts"
    if rate.form == RANKING or rate.population == PAIRS:
        return "How well the score ranks"
    if rate.form == RATIO:
        return "How often its yes, or its no, is right"
    if among[0].event != "1":
        return "How often it is right, of those with the same label"
    if mentions_letter(counted, "d") and mentions_letter(counted, "y"):
        return "How often it is right in all, and what errors cost"
    return "How often the model says yes"


def parse_example(name: str) -> list:
    """Return the rates with a name in its example."""
    constraint, _ = read_sentences()[name]
    return [rate for rate in parse(constraint).rates if rate.name == name]


def describe_unit(kind: Kind) -> str:
    """Return what a rate is, a share or a count, and what it needs of the rows."""
    (rate,) = parse_example(kind.name)
    units = {RATIO: "ratio", RANKING: "area"}
    unit = units.get(rate.form, "count" if rate.among is None else "share")
    if kind.name == "cost":
        unit = "cost"
    needs = []
    if mentions_letter(rate.counted + (rate.among or ()), "y"):
        needs.append("labels")
    if "versus" in kind.takes:
        needs.append("`versus=`")
    return f"{unit}, needs {' and '.join(needs)}" if needs else unit


def write_rate(kind: Kind) -> str:
    """Return a rate's row in the tables of saying.md."""
    constraint, sentence = read_sentences()[kind.name]
    return (
        f"| **`{kind.name}`**<br>`{kind.formula}`<br>*{describe_unit(kind)}* | "
        f"{kind.meaning}<br>“{sentence}”<br>`{constraint}` |\n"
    )


def write_goal(name: str) -> str:
    """Return a goal's row in the table of saying.md."""
    constraint, sentence = read_sentences()[name]
    constraints = parse(constraint).spell_out([GROUP])  # type: ignore[union-attr]
    formula = "<br>".join(f"`{constraint}`" for constraint in constraints)
    options = ", ".join(f"`{option}=`" for option in inspect.signature(GOALS[name]).parameters)
    meaning = (inspect.getdoc(GOALS[name]) or "").splitlines()[0]
    return (
        f"| **`{name}`**<br>{formula}<br>*takes* {options} | "
        f"{meaning}<br>“{sentence}”<br>`{constraint}` |\n"
    )


def write_tables(page: str) -> str:
    """Return saying.md with the tables of rates and goals."""
    rows: dict[str, str] = {}
    for kind in KINDS.values():
        heading = f"### {section_of(kind)}\n"
        rows[heading] = rows.get(heading, "") + write_rate(kind)
    rows["## Goals\n"] = "".join(map(write_goal, list_goals()))
    for heading, table in rows.items():
        page = replace_block(page, heading, RULE, table)
    return page


def write_lists(page: str) -> str:
    """Return reference/say.rst with the names of rates and goals."""
    lists: dict[str, list[str]] = {
        "Goals: several constraints by one name\n": [f"~rates.goals.{name}" for name in list_goals()]
    }
    for kind in KINDS.values():
        unit = describe_unit(kind).partition(",")[0]
        heading = {"ratio": "Ratios and areas\n", "area": "Ratios and areas\n", "count": "Counts\n"}
        place = heading.get(unit, "Rates\n")
        if "versus" in kind.takes:
            place = "Against a live model\n"
        lists.setdefault(place, []).append(kind.name)
    for heading, names in lists.items():
        page = replace_block(page, heading, ":nosignatures:\n\n", list_names(names))
    return page


def list_goals() -> list[str]:
    return [name for name in GOALS if name in BUILT_IN]


def list_names(names: Iterable[str]) -> str:
    return "".join(f"   {name}\n" for name in names)


def replace_block(page: str, heading: str, before: str, block: str) -> str:
    """Return the page with a block in place of what follows a heading and a line, up to a blank one."""
    start = page.index(before, page.index(heading)) + len(before)
    end = page.index("\n\n", start - 1) + 1
    return page[:start] + block + page[end:]


PAGES = {"saying.md": write_tables, "reference/say.rst": write_lists}


if __name__ == "__main__":
    for name, write in PAGES.items():
        path = DOCS / name
        path.write_text(write(path.read_text("utf-8")), "utf-8")
