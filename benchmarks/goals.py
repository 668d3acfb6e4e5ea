"""Goals that are not sums of rates, on Adult: against the best threshold, and against equal opportunity.

F1 and precision at a recall are compared with the best threshold on the same model trained for few
errors, chosen on the same rows; both are measured on rows that neither has seen. The worst group's
recall is compared with what equal opportunity reaches at the same error, at several slacks.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _common import machine, markdown
from sklearn.metrics import f1_score, precision_score, recall_score

import ratebound._old as rb
from ratebound._old.datasets.adult import load_adult
from ratebound._old.solution.determinize import evaluate

RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
FLOOR = 0.7  # of the recall at which precision is compared
CONFIDENCE = 0.9  # that it is kept on new rows, where goals are compared with thresholds
SLACKS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def trained(
    rows: rb.Population, problem: rb.Problem, epochs: int | None, confidence: float | None = None
) -> rb.RateConstrainedClassifier:
    """The estimator for a problem; without a confidence it is about the rows it is trained on."""
    model = rb.RateConstrainedClassifier(
        problem.subject_to,
        objective=problem,
        confidence=confidence,
        training=rb.Training(epochs=epochs),
        random_state=0,
    )
    return model.fit(rows.X, rows.y, columns=rows.columns)


def against_thresholds(split: int, epochs: int | None) -> list[list[str]]:
    """F1, and precision at a recall: the best threshold on the plain model, and the goal itself."""
    adult = load_adult(split)
    train, test = adult.train, adult.test
    plain = trained(train, rb.Problem(rb.error_rate()), epochs)
    found = []
    goals = {
        "f_score()": rb.Problem(maximize=rb.f_score()),
        f"precision() at recall {FLOOR}": rb.Problem(
            maximize=rb.precision(), subject_to=[rb.recall() >= FLOOR]
        ),
    }
    for name, problem in goals.items():
        at = best_threshold(plain.decision_function(train.X), train.y, "f_score" in name)
        model = trained(train, problem, epochs, CONFIDENCE)
        decided = {
            "threshold": plain.decision_function(test.X) >= at,
            "goal": model.predict(test.X),
        }
        for way, yes in decided.items():
            scores = (f1_score, precision_score, recall_score)
            found.append([str(split), name, way, *(f"{score(test.y, yes):.4f}" for score in scores)])
    return found


def best_threshold(scores: np.ndarray, y: np.ndarray, by_f: bool) -> float:
    """The threshold with the best F1, or the best precision at a recall of `FLOOR`, by trying all."""
    order = np.argsort(-scores, kind="stable")
    hits, said = np.cumsum(y[order]), np.arange(1, len(y) + 1)
    recall, precision = hits / y.sum(), hits / said
    value = 2 * hits / (said + y.sum()) if by_f else np.where(recall >= FLOOR, precision, -1.0)
    return float(scores[order][np.argmax(value)])


def worst_groups(epochs: int | None) -> list[list[str]]:
    """The worst race's recall on the training rows, by slack of equal opportunity and by the goal."""
    train = load_adult().train
    parts = [rb.recall(race=race) for race in RACES]
    worst = rb.compile(rb.Problem(maximize=rb.smallest(parts)), train)
    errors = rb.compile(rb.Problem(rb.error_rate()), train)
    found = []
    for slack in SLACKS:
        promises = rb.equal_opportunity({"race": RACES}, slack=slack)
        model = trained(train, rb.Problem(rb.error_rate(), promises), epochs)
        error = evaluate(model.solution_, errors).objective
        own = -evaluate(model.solution_, worst).objective
        goal = rb.Problem(maximize=rb.smallest(parts), subject_to=[rb.error_rate() <= error])
        better = trained(train, goal, epochs)
        reached = -evaluate(better.solution_, worst).objective
        kept = evaluate(better.solution_, errors).objective
        found.append([str(slack), f"{error:.4f}", f"{own:.4f}", f"{kept:.4f}", f"{reached:.4f}"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--epochs", type=int, help="passes over the rows (default: the estimator's)")
    asked = parser.parse_args()
    print(f"{machine()}\n")
    rows = [row for split in range(asked.splits) for row in against_thresholds(split, asked.epochs)]
    print(markdown(["split", "goal", "by", "test F1", "test precision", "test recall"], rows), "\n")
    head = ["slack", "error", "worst recall", "the goal's error", "the goal's worst recall"]
    print(markdown(head, worst_groups(asked.epochs)))


if __name__ == "__main__":
    main()
