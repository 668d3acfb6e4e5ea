"""Random problems on random rows: two to four classes, weights, populations, thresholds, referrals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ratebound as rb
from ratebound.rates.conditions import format_value

from .loops import Table, World

MODELS = 3  # whose scores are counted at once
REFERRAL = "ask"
CLASSES = [[0, 1], ["no", "yes"], ["bird", "cat", "dog"], ["a", "b", "c", "d"]]
NO_CLASS = {
    *("accuracy", "error_rate", "errors", "churn", "loss_only_churn", "wins", "losses"),
    *("win_loss_ratio", "referred", "referrals", "decisions"),
}
VERSUS = {"churn", "loss_only_churn", "wins", "losses", "win_loss_ratio"}
LIVE = ["positive_rate", "accuracy", "error_rate", "recall", "false_positive_rate"]
SHARES = ["positive_rate", "negative_rate", "recall", "false_negative_rate", "false_positive_rate",
          "true_negative_rate", "accuracy", "error_rate", "prevalence", "churn", "loss_only_churn",
          "confusion", "cost", "cost", "cost", "coverage", "true_positive_rate"]  # fmt: skip
COUNTS = ["predicted_positives", "predicted_negatives", "true_positives", "false_positives",
          "true_negatives", "false_negatives", "errors", "wins", "losses"]  # fmt: skip
RATIOS = ["precision", "false_discovery_rate", "negative_predictive_value", "false_omission_rate",
          "jaccard", "f_score", "win_loss_ratio"]  # fmt: skip
REFERRING = ["referred", "accuracy", "error_rate", "recall", "precision"]
GROUPS = ["sex", "site", "sex, flag", 'sex in ("F", "M")', "age < 40, age >= 40"]
CONDITIONS = [
    'sex == "F"',
    'sex != "M"',
    "age < 45",
    "age <= 60",
    "25 <= age < 65",
    "missing(age)",
    "not missing(sex)",
    'site in ("x", "w")',
    "site == 'q\"u'",
    "flag == True",
    'column("hours per week") > 25',
]


@dataclass(frozen=True)
class RandomRows:
    """One population, to be read by the library and by loops."""

    labels: Any  # (n,)
    columns: dict[str, Any]
    weights: Any  # (n,) or None

    def make_population(self, classes: list[Any], refer: str | None) -> rb.Population:
        return rb.Population(None, self.labels, self.columns, self.weights, classes, refer)

    def make_table(self) -> Table:
        names = [*self.columns, "y"]
        values = [column.tolist() for column in (*self.columns.values(), self.labels)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        weights = [1.0] * len(rows) if self.weights is None else self.weights.tolist()
        return Table(rows, weights)


@dataclass
class RandomProblem:
    """A problem, its rows, and the scores and thresholds of some models."""

    classes: list[Any]
    refer: str | None
    rows: dict[str, RandomRows]
    sense: str = "minimize"
    objective: str = ""
    constraints: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # by text, why its rows do not allow it
    scores: Any = None  # (K, n), or (K, D, n)
    thresholds: dict[str, Any] = field(default_factory=dict)  # (K, D-1) by name

    @property
    def decisions(self) -> list[Any]:
        return self.classes if self.refer is None else [*self.classes, self.refer]

    @property
    def problem(self) -> rb.Problem:
        return rb.Problem(subject_to=self.constraints, **{self.sense: self.objective})

    def make_populations(self) -> dict[str, rb.Population]:
        populations = {}
        for name, rows in self.rows.items():
            populations[name] = rows.make_population(self.classes, self.refer)
        return populations

    def compile(self, problem: rb.Problem) -> Any:
        populations = self.make_populations()
        first = populations.pop("train")
        return rb.compile(problem, first, **populations)

    def make_world(self, model: int) -> World:
        """Return everything that loops need to know of one model."""
        tables = {name: rows.make_table() for name, rows in self.rows.items()}
        scores = {}
        start = 0
        for name, rows in self.rows.items():
            stop = start + len(rows.labels)
            scores[name] = self.scores[model][..., start:stop]
            start = stop
        thresholds = {name: values[model].tolist() for name, values in self.thresholds.items()}
        return World(tables, scores, self.classes, self.decisions, thresholds)


def draw_problem(seed: int) -> RandomProblem:
    """Return a random problem; what its rows do not allow is left out of it."""
    writer = Writer(np.random.default_rng(seed))
    drawn = writer.draw_rows()
    wanted = [writer.write_constraint() for _ in range(writer.number(3, 8))]
    for text in wanted:
        try:
            drawn.compile(rb.Problem("error_rate()", [text]))
            drawn.constraints.append(text)
        except ValueError as error:
            drawn.refused[text] = str(error)
    drawn.sense, drawn.objective = writer.write_objective()
    writer.draw_scores(drawn)
    return drawn


class Writer:
    """Draws rows, and writes rates and constraints that make sense for them."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.classes = self.choose(CLASSES)
        self.refer = REFERRAL if self.flip(0.4) else None
        self.has_pool = self.flip(0.4)

    # --- chance ---

    def flip(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def number(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high))

    def choose(self, options: Any) -> Any:
        return options[self.number(0, len(options))]

    # --- rows ---

    def draw_rows(self) -> RandomProblem:
        rows = {"train": self._draw_population(self.number(50, 120))}
        if self.has_pool:
            rows["pool"] = self._draw_population(50)
        return RandomProblem(self.classes, self.refer, rows)

    def _draw_population(self, size: int) -> RandomRows:
        random = self.random
        dtype = object if isinstance(self.classes[0], str) else int
        classes = np.array(self.classes, dtype=dtype)
        label = random.choice(len(classes), size)
        label[: 5 * len(classes)] = np.tile(np.arange(len(classes)), 5)
        labels = classes[label]
        is_kept = random.random(size) < 0.6
        live = np.where(is_kept, labels, random.choice(classes, size)).astype(object)
        if self.refer is not None:
            live[random.random(size) < 0.1] = self.refer
        age = np.round(random.uniform(18, 80, size))
        age[random.random(size) < 0.1] = np.nan
        columns = {
            "sex": random.choice(np.array(["F", "M", None], dtype=object), size, p=[0.5, 0.4, 0.1]),
            "site": random.choice(np.array(["x", "y z", "w", 'q"u'], dtype=object), size),
            "age": age,
            "flag": random.random(size) < 0.5,
            "amount": np.round(random.uniform(0, 50, size), 2),
            "fee": random.integers(1, 4, size),
            "hours per week": random.integers(10, 60, size),
            "live": live,
        }
        return RandomRows(labels, columns, self._draw_weights(size))

    def _draw_weights(self, size: int) -> Any:
        if self.flip(0.5):
            return None
        weights = self.random.integers(0, 4, size).astype(float)
        weights[:20] += 1
        return weights + (self.random.random(size) if self.flip(0.5) else 0)

    def draw_scores(self, drawn: RandomProblem) -> None:
        """Draw scores with ties, and the thresholds that some rates name."""
        sizes = [len(rows.labels) for rows in drawn.rows.values()]
        decisions = len(drawn.decisions)
        shape = (MODELS, sum(sizes)) if decisions == 2 else (MODELS, decisions, sum(sizes))
        drawn.scores = np.round(self.random.normal(size=shape), 1)
        for name in ("alarm", "call"):
            thresholds = np.round(self.random.normal(size=(MODELS, decisions - 1)), 1)
            drawn.thresholds[name] = thresholds

    # --- rates ---

    def write_condition(self) -> str:
        text = self.choose(CONDITIONS)
        for _ in range(self.number(0, 3)):
            other = self.choose(CONDITIONS)
            forms = [
                f"{text} and {other}",
                f"{text} or {other}",
                f"not ({text}) or {other}",
                f"({text}) and not ({other})",
            ]
            text = self.choose(forms)
        return text

    def write_class(self) -> str:
        return format_value(self.choose(self.classes))

    def write_rate(self, names: list[str], condition: str | None = None) -> str:
        """Return a rate as text; its condition is drawn if none is given."""
        name = self.choose(names)
        arguments = []
        if condition is None and self.flip(0.5):
            condition = self.write_condition()
        if condition:
            arguments.append(condition)
        takes_ratios = names in (RATIOS, REFERRING)
        if self.refer is not None and takes_ratios and self.flip(0.5):
            arguments.append("decided")
        arguments += self._write_options(name)
        if self.has_pool and self.flip(0.25):
            arguments.append('on="pool"')
        if name != "prevalence" and self.flip(0.2):
            arguments.append(self._write_threshold())
        if name in COUNTS and self.flip(0.5):
            arguments.append("per=1000")
        return f"{name}({', '.join(arguments)})"

    def write_live_rate(self) -> str:
        """Return a rate of the live model's decisions."""
        name = self.choose(LIVE)
        arguments = ['by="live"', *self._write_options(name)]
        if self.flip(0.5):
            arguments.append(self.write_condition())
        return f"{name}({', '.join(arguments)})"

    def _write_options(self, name: str) -> list[str]:
        if name == "confusion":
            label, predicted = self.random.permutation(len(self.classes))[:2]
            first = format_value(self.classes[label])
            second = format_value(self.classes[predicted])
            return [f"label={first}", f"predicted={second}"]
        if name == "cost":
            return self._write_costs()
        options = []
        has_class = name not in NO_CLASS
        if has_class and (len(self.classes) > 2 or self.flip(0.2)):
            options.append(f"of={self.write_class()}")
        if name in VERSUS:
            options.append('versus="live"')
        if name == "f_score" and self.flip(0.5):
            options.append("beta=2")
        return options

    def _write_costs(self) -> list[str]:
        kinds = [
            ['column="amount"'],
            ["false_negative=5", "false_positive=2"],
            ["false_negative=3", 'column="amount"'],
            ['false_negative="amount"', 'false_positive="fee"'],
            [f"label={self.write_class()}", f"predicted={self.write_class()}"],
        ]
        options = self.choose(kinds)
        is_of_class = options[0].startswith("false") and len(self.classes) > 2
        return [*options, f"of={self.write_class()}"] if is_of_class else options

    def _write_threshold(self) -> str:
        if len(self.classes) == 2 and self.refer is None and self.flip(0.8):
            return "at=0.3"
        return self.choose(['at="alarm"', 'at="call"'])

    # --- constraints ---

    def write_share(self, condition: str | None = None) -> str:
        if self.flip(0.1):
            return self.write_live_rate()
        names = SHARES if self.refer is None else [*SHARES, "referred"]
        return self.write_rate(names, condition)

    def write_constraint(self) -> str:
        bound = round(float(self.random.uniform(0.1, 0.9)), 2)
        relation = self.choose(["<=", ">="])
        first, second, third, fourth = (self.write_share() for _ in range(4))
        of_women = self.write_share('sex == "F"')
        of_men = self.write_share('sex == "M"')
        ratio = self.write_rate(RATIOS)
        texts = [
            f"{first} {relation} {bound}",
            f"{first} {relation} {bound} * {second} - 0.05",
            f"0.5 * {first} - {bound} * {second} + {third} / 3 {relation} 2 * {fourth}",
            f"{ratio} {relation} {bound}",
            f"{bound} * {ratio} {relation} 0.2",
            f"{bound / 4} <= {first} <= {bound}",
            f"{bound / 4} <= {ratio} <= {bound}",
            f"abs({first} - {second}) <= {bound}",
            f"{self.write_rate(COUNTS)} {relation} {self.number(5, 60)}",
            f"{of_women} / {of_men} {relation} {bound}",
            f"{self._write_counts()} / {self._write_counts()} {relation} {bound}",
            self._write_for_each_value(relation, bound),
            self.write_goal(),
            self.write_goal(),
        ]
        if self.refer is not None:
            texts += [f"{self.write_rate(REFERRING)} {relation} {bound}"] * 3
        return self.choose(texts)

    def _write_counts(self) -> str:
        return f"({self.write_rate(COUNTS[:2], '')} + {self.write_rate(COUNTS[2:4], '')})"

    def _write_for_each_value(self, relation: str, bound: float) -> str:
        column = self.choose(["sex", "site", "flag"])
        name = self.choose(["positive_rate", "recall", "accuracy", "precision", "error_rate"])
        of = "" if name in NO_CLASS else f"of={self.write_class()}"
        rate = f"{name}({', '.join(filter(None, [column, of]))})"
        if name == "precision":
            return f"{rate} {relation} {bound}"
        return f"{rate} {relation} {bound} * {name}({of})"

    def write_goal(self) -> str:
        groups = self.choose(GROUPS)
        of = "" if len(self.classes) == 2 or self.flip(0.5) else f", of={self.write_class()}"
        on = ', on="pool"' if self.has_pool and self.flip(0.3) else ""
        decision = "True" if len(self.classes) == 2 else self.write_class()
        goals = [
            f"statistical_parity({groups}, slack=0.1{of}{on})",
            f"statistical_parity({groups}, ratio=0.8{of})",
            f"equal_opportunity({groups}, ratio=0.9{of}{on})",
            f'equal_opportunity({groups}, slack=0.05, against="pairwise"{of})',
            f"equalized_odds({groups}, slack=0.1{of})",
            f"equalized_odds({groups}, ratio=0.8{of}{on})",
            f"equal_accuracy({groups}, slack=0.05{on})",
            f"minimum_accuracy({groups}, at_least=0.6{on})",
            f"minimum_recall({groups}, at_least=0.6{of})",
            f"minimum_coverage({groups}, at_least=0.2{of}{on})",
            f"accurate_coverage({groups}, slack=0.1{of})",
            f'no_lost_benefits({groups}, versus="live"{of}{on})',
            f'not_worse_off({groups}, versus="live", slack=0.01)',
            f'limited_churn({groups}, versus="live", at_most=0.1{on})',
            f"decision_rule({groups}, decision={decision}, at_least=0.9)",
            "equal_accuracy(sex, flag, slack=0.1, intersection=True)",
        ]
        if self.has_pool:
            goals.append('steering_examples(at_least=0.7, on="pool")')
        return self.choose(goals)

    def write_objective(self) -> tuple[str, str]:
        """Return what to minimise or maximise: a sum, a ratio, or the worst of several."""
        group = self.choose(CONDITIONS)
        yes = self.write_rate(["positive_rate"], group)
        cost = self.write_rate(["cost"], group)
        of = "" if len(self.classes) == 2 else f"of={self.write_class()}"
        objectives = [
            ("minimize", f"error_rate({group})"),
            ("minimize", f"error_rate() + 0.5 * {yes}"),
            ("minimize", f"2 * {cost}"),
            ("maximize", f"precision({of}) + 0.2 * accuracy()"),
            ("maximize", f"f_score({of})"),
            ("maximize", 'smallest(accuracy(sex == "F"), accuracy(sex == "M"))'),
            ("minimize", f"largest(error_rate({group}), 1 - recall({of}))"),
        ]
        return self.choose(objectives)
