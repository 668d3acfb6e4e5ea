"""What is kept of a promise about groups that are guessed, on Adult, or missing, on HMDA.

`python benchmarks/guessed.py adult --draws 10` draws 10,000 rows of Adult to train on, whose sex is
wrong with a probability from .1 to .5, and 3,000 of which are audited; the other rows, with their true
sex, tell whether the promise is kept. It is trained as if the guess were true ("naive"), by the
probability of the true sex given the guess and label ("probabilities"), for the worst case that these
probabilities allow, as the soft assignments of Wang et al. (2020) do ("soft assignment"), by the audited
rows (`rb.guessed(..., audited=)`), for every grouping that guesses and audited rows leave possible
("every grouping", `worst=0.9`), and by the true sex, which nobody has.

`python benchmarks/guessed.py hmda --draws 10` draws 10,000 rows of HMDA whose race is known, hides it in
one of seven at random, the share that is missing there, and reveals it afterwards; with `--by-outcome`
black people who are priced high hide it two and a half times as often. Rows without one are left out of
groups ("left out"), or may be of any (`rb.guessed(..., missing="anything")`). It needs the file in
../shared/bench.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import ratebound._old as rb

ROWS, AUDITED = 10_000, 3_000
NOISES = (0.1, 0.2, 0.3, 0.4, 0.5)
METHODS = (
    "naive",
    "probabilities",
    "soft assignment",
    "audited",
    "every grouping",
    "true sex",
)
PROMISE = 'recall(sex == "Female") >= 0.9 * recall(sex == "Male")'
HMDA = Path(__file__).parents[2] / "shared" / "bench" / "hmda_train.parquet"
HIDDEN = 22_548 / 160_338
IMPACT = 'negative_rate(race == "black") >= 0.9 * negative_rate(race == "white")'


def adult() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features without the sex, labels, and the sex of all rows."""
    parts = [getattr(rb.datasets.load_adult(), name) for name in ("train", "validation", "test")]
    X, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y"))
    sex = np.concatenate([part.columns["sex"] for part in parts]).astype(object)
    told = abs(np.corrcoef(np.column_stack([sex == "Female", X]).T.astype(float))[0, 1:])
    return X[:, np.nan_to_num(told) < 0.99], y, sex


def soft_assignment(guess, y, true, audited) -> list[str]:
    """The promise in the worst case over who is behind each guess, given how many are of each sex.

    Given the guess and a positive label, the share of each sex equals its share in the audited rows;
    which of the rows get a yes is unknown. So if a share q of the rows guessed to be j are women, then
    at least recall_j - (1 - q) and at most q of these rows are women with a yes. A promise may use
    either bound of each guess.
    """
    share = {j: ((guess == j) & y).sum() / y.sum() for j in ("Female", "Male")}
    of = {
        (g, j): np.mean(true[audited & (guess == j) & y] == g)
        for g in ("Female", "Male")
        for j in ("Female", "Male")
    }
    size = {g: sum(of[g, j] * share[j] for j in share) for g in ("Female", "Male")}

    def low(guesses: tuple[str, ...]) -> str:
        parts = [f'{share[j] / size["Female"]:.6f} * recall(sex == "{j}")' for j in guesses]
        lost = sum(share[j] / size["Female"] * (1 - of["Female", j]) for j in guesses)
        return " + ".join(parts) + f" - {lost:.6f}"

    by_yes = 0.9 * share["Male"] / size["Male"]
    rest = 0.9 * of["Male", "Female"] * share["Female"] / size["Male"]
    highs = (f'{by_yes:.6f} * recall(sex == "Male") + {rest:.6f}', "0.9")
    return [f"{low(each)} >= {high}" for each in (("Female",), ("Female", "Male")) for high in highs]


def cheapest(promises, X, y, guess, seed):
    """The cheapest model that keeps one of these promises, which are solved for without another fit."""
    models = []
    for promise in promises:
        try:
            rb.parse(promise), rb.Problem("error_rate()", [promise])
        except ValueError:  # no model can keep it
            continue
        try:
            models.append(
                models[0].with_constraints(promise) if models else fitted(promise, X, y, guess, seed)
            )
        except ValueError:
            models.append(fitted(promise, X, y, guess, seed))
    return min(models, key=lambda m: (m.status_.violation, np.mean(m.predict(X) != y)))


def fitted(promise, X, y, columns, seed, **options):
    model = rb.RateConstrainedClassifier(promise, random_state=seed, **options)
    return model.fit(
        X, y, columns=columns, groups=np.arange(len(y)) if "guessed" not in options else None
    )


def on_adult(draw: int, noise: float, methods: set[str]) -> dict[str, tuple[float, bool, float]]:
    """Error, whether the promise is kept, and the ratio of recalls on rows not trained on, by method."""
    X, y, sex = adult()
    random = np.random.default_rng(1000 * draw + int(100 * noise))
    order = random.permutation(len(y))
    here, new = order[:ROWS], order[ROWS:]
    other = np.where(sex == "Female", "Male", "Female").astype(object)
    guess = np.where(random.random(len(y)) < noise, other, sex)[here]
    true, label = sex[here], y[here]
    audited = np.zeros(ROWS, dtype=bool)
    audited[random.choice(ROWS, AUDITED, replace=False)] = True
    seen = np.where(audited, true, None)
    likely = np.zeros(ROWS)
    for j in ("Female", "Male"):
        for positive in (False, True):
            rows = (guess == j) & (label == positive)
            likely[rows] = np.mean(true[rows & audited] == "Female")
    both = {"p_Female": likely, "p_Male": 1 - likely}
    models = {}
    if "naive" in methods:
        models["naive"] = fitted(PROMISE, X[here], label, {"sex": guess}, draw)
    if "probabilities" in methods:
        way = rb.guessed("sex", probabilities=list(both))
        models["probabilities"] = fitted(PROMISE, X[here], label, both, draw, guessed=way)
    if "soft assignment" in methods:
        promises = soft_assignment(guess, label, true, audited)
        models["soft assignment"] = cheapest(promises, X[here], label, {"sex": guess}, draw)
    for name, worst in (("audited", None), ("every grouping", 0.9)):
        if name in methods:
            way = rb.guessed("sex", audited="seen", worst=worst)
            columns = {"sex": guess, "seen": seen}
            models[name] = fitted(PROMISE, X[here], label, columns, draw, guessed=way)
    if "true sex" in methods:
        models["true sex"] = fitted(PROMISE, X[here], label, {"sex": true}, draw)
    found = {}
    for name, model in models.items():
        yes = model.predict(X[new]).astype(bool)
        women, men = (yes[y[new] & (sex[new] == g)].mean() for g in ("Female", "Male"))
        found[name] = float(np.mean(yes != y[new])), bool(women >= 0.9 * men), float(women / men)
    return found


def on_hmda(draw: int, by_outcome: bool) -> dict[str, tuple[float, bool, bool, float]]:
    """Cost on new rows, and whether the revealed promise is kept, on the rows trained on and on new."""
    import pandas

    table = pandas.read_parquet(HMDA)
    table = table[table["white"].notna()]
    race = np.select([table["black"] == 1, table["white"] == 1], ["black", "white"], "other").astype(
        object
    )
    features = [name for name in table if name.endswith("_std") or name in ("term_360", "conforming")]
    X, y = table[features].fillna(0.0).to_numpy(), table["high_priced"].to_numpy().astype(bool)
    random = np.random.default_rng(draw)
    order = random.permutation(len(y))
    here, new = order[:ROWS], order[ROWS : 5 * ROWS]
    # Either at random; or black people who are priced high tell their race less often than others.
    chance = HIDDEN * np.where(by_outcome & y[here] & (race[here] == "black"), 2.5, 1.0)
    known = np.where(random.random(ROWS) < chance, None, race[here])
    goal = "cost(false_negative=4, false_positive=1)"
    found = {}
    for name, way in {"left out": None, "anything": rb.guessed("race", missing="anything")}.items():
        model = rb.RateConstrainedClassifier(IMPACT, objective=goal, guessed=way, random_state=draw)
        model.fit(X[here], y[here], columns={"race": known}, groups=np.arange(ROWS))

        yes = model.predict(X).astype(bool)
        cost = float(np.mean(4 * (~yes & y)[new] + (yes & ~y)[new]))
        ratios = [_impact(yes[rows], race[rows]) for rows in (here, new)]
        found[name] = cost, ratios[0] >= 0.9, ratios[1] >= 0.9, ratios[1]
    return found


def _impact(yes: np.ndarray, race: np.ndarray) -> float:
    return float((~yes[race == "black"]).mean() / (~yes[race == "white"]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=["adult", "hmda"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--noises", type=float, nargs="+", default=list(NOISES))
    parser.add_argument(
        "--by-outcome", action="store_true", help="hide races by the outcome, not at random"
    )
    parser.add_argument("--methods", nargs="+", default=None)
    given = parser.parse_args()
    start = time.perf_counter()
    if given.data == "hmda":
        if not HMDA.exists():
            raise SystemExit(f"{HMDA} is not there, and this needs it")
        draws = [on_hmda(draw, given.by_outcome) for draw in range(given.draws)]
        print("| method | cost | kept here | kept on new rows | ratio |\n|---|---|---|---|---|")
        for name in draws[0]:
            cost, here, new, ratio = np.mean([each[name] for each in draws], axis=0)
            print(f"| {name} | {cost:.4f} | {here:.0%} | {new:.0%} | {ratio:.3f} |")
    else:
        methods = set(given.methods or METHODS)
        print("| noise | method | error | kept | ratio of recalls |\n|---|---|---|---|---|", flush=True)
        for noise in given.noises:
            draws = [on_adult(draw, noise, methods) for draw in range(given.draws)]
            for name in draws[0]:
                error, kept, ratio = np.mean([each[name] for each in draws], axis=0)
                print(f"| {noise} | {name} | {error:.4f} | {kept:.0%} | {ratio:.3f} |", flush=True)
    print(f"\n{given.draws} draws, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
