"""Seconds of a fit on UCI Adult: recall of Black, White, female and male at least 95% of everyone's.

Fairlearn's groups cannot overlap, so it gets cells of race and sex. Seconds are of the process, on one
thread; error and worst violation, kept if <= 0, are on the training rows.
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _lines import Line, Result, hand_over
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb
from ratebound import RateConstrainedClassifier

GROUPS = {"race": ("Black", "White"), "sex": ("Female", "Male")}
GOALS = rb.equal_opportunity(GROUPS, ratio=0.95)
TREES = 100


def estimator() -> Any:
    return LogisticRegression(solver="liblinear")


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        found = work()
        seconds.append(time.process_time() - start)
    return min(seconds), found


def adult() -> tuple[rb.Population, rb.Compiled, np.ndarray]:
    """The training rows, the problem on them, and race and sex as one column of cells."""
    people = rb.datasets.load_adult().train
    compiled = rb.compile(rb.Problem(rb.error_rate(), GOALS), people)
    race, sex = (people.column(name).astype(str) for name in ("race", "sex"))
    cells = np.char.add(np.where(np.isin(race, GROUPS["race"]), race, "other"), sex)
    return people, compiled, np.unique(cells, return_inverse=True)[1]


def judged(compiled: rb.Compiled, seconds: float, chance: np.ndarray, note: str = "") -> Result:
    """The result of saying yes with these probabilities (n,); rates are linear in them."""
    levels = np.unique(np.append(chance, 0.0))  # yes from each level on, weighted by the step there
    errors, violations = compiled.evaluate(np.where(chance >= levels[1:, None], 1.0, -1.0))
    never = compiled.evaluate(np.full(len(chance), -1.0))
    shares = np.diff(levels)
    rest = 1 - shares.sum()
    error = shares @ errors + rest * never[0]
    worst = (shares @ violations + rest * never[1]).max()
    return Result(seconds, float(error), float(worst), note)


def own(compiled: rb.Compiled, seconds: float, mixture: rb.Mixture) -> Result:
    errors, violations = compiled.evaluate(mixture.member_scores(compiled.features).T)
    weights = mixture.weights
    return Result(seconds, float(weights @ errors), float((weights @ violations).max()))


def own_fits(people: rb.Population, compiled: rb.Compiled) -> dict[str, Result]:
    def oracle() -> rb.Mixture:
        return rb.shrink(rb.play(compiled, rb.Oracle(estimator()), progress=False))

    def linear() -> np.ndarray:
        constraints = [str(goal) for goal in GOALS]
        model = RateConstrainedClassifier(constraints, random_state=0, confidence=None)
        columns = {name: people.column(name) for name in GROUPS}
        model.fit(people.features, people.y, columns=columns)
        return model.predict(people.features).astype(float)

    return {
        "oracle rounds": own(compiled, *timed(oracle)),
        "linear estimator": judged(compiled, *timed(linear)),
    }


def stock() -> Iterator[Line]:
    """The floor: one fit of the same model without promises."""
    people, compiled, _ = adult()
    seconds, model = timed(lambda: estimator().fit(people.features, people.y), 3)
    chance = model.predict(people.features).astype(float)
    found = judged(compiled, seconds, chance, "no promises")
    ours = own_fits(people, compiled)
    yield Line("linear, Adult", "s", "scikit-learn, liblinear", found, ours, floor=True)


def exponentiated_gradient() -> Iterator[Line]:
    from fairlearn.reductions import ExponentiatedGradient, TruePositiveRateParity

    people, compiled, cells = adult()
    made = ExponentiatedGradient(estimator(), TruePositiveRateParity(ratio_bound=0.95))
    seconds, _ = timed(lambda: made.fit(people.features, people.y.astype(int), sensitive_features=cells))
    result = judged(compiled, seconds, made._pmf_predict(people.features)[:, 1])
    yield Line(
        "linear, Adult", "s", "Fairlearn ExponentiatedGradient", result, own_fits(people, compiled)
    )


def grid_search() -> Iterator[Line]:
    from fairlearn.reductions import GridSearch, TruePositiveRateParity

    people, compiled, cells = adult()
    made = GridSearch(estimator(), TruePositiveRateParity(ratio_bound=0.95), grid_size=30)
    seconds, _ = timed(lambda: made.fit(people.features, people.y.astype(int), sensitive_features=cells))
    chance = np.asarray(made.predict(people.features), dtype=float)
    result = judged(compiled, seconds, chance, "30 points")
    yield Line("linear, Adult", "s", "Fairlearn GridSearch", result, own_fits(people, compiled))


def own_trees(people: rb.Population, compiled: rb.Compiled) -> dict[str, Result]:
    from lightgbm import LGBMClassifier

    learner = rb.Boosted(LGBMClassifier(n_estimators=TREES, num_leaves=31, n_jobs=1, verbosity=-1))

    def grow() -> rb.Mixture:
        return rb.shrink(rb.play(compiled, learner, progress=False))

    return {"LightGBM under promises": own(compiled, *timed(grow, 2))}


def lightgbm() -> Iterator[Line]:
    from lightgbm import LGBMClassifier

    people, compiled, _ = adult()
    given = {"n_estimators": TREES, "num_leaves": 31, "n_jobs": 1, "verbosity": -1}
    seconds, model = timed(lambda: LGBMClassifier(**given).fit(people.features, people.y), 2)
    chance = (model.predict(people.features, raw_score=True) >= 0).astype(float)
    result = judged(compiled, seconds, chance, "no promises")
    ours = own_trees(people, compiled)
    yield Line("100 trees, Adult", "s", "LightGBM", result, ours, floor=True)


def fairgbm() -> Iterator[Line]:
    import fairgbm.sklearn as module
    from fairgbm import FairGBMClassifier

    def spelled(check: Callable[..., Any]) -> Callable[..., Any]:
        """Rename an argument of scikit-learn back to its name before 1.6."""
        return lambda *given, force_all_finite, **more: check(
            *given, ensure_all_finite=force_all_finite, **more
        )

    module._LGBMCheckXY = spelled(module._LGBMCheckXY)
    module._LGBMCheckArray = spelled(module._LGBMCheckArray)
    people, compiled, cells = adult()
    given = {"n_estimators": TREES, "num_leaves": 31, "n_jobs": 1, "verbosity": -1, "random_state": 0}

    def fit() -> Any:
        made = FairGBMClassifier(constraint_type="FNR", **given)
        return made.fit(people.features, people.y.astype(int), constraint_group=cells)

    seconds, model = timed(fit, 2)
    chance = (model.predict_proba(people.features)[:, -1] >= 0.5).astype(float)
    result = judged(compiled, seconds, chance, "its defaults; mended to run")
    yield Line("100 trees, Adult", "s", "FairGBM", result, own_trees(people, compiled))


if __name__ == "__main__":
    hand_over(
        {
            "scikit-learn": stock,
            "Fairlearn ExponentiatedGradient": exponentiated_gradient,
            "Fairlearn GridSearch": grid_search,
            "LightGBM": lightgbm,
            "FairGBM": fairgbm,
        }
    )
