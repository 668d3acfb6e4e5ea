"""The page's requests as plain functions: from a frozen state and JSON to the next state and JSON.

Nothing here uses HTTP. `ACTIONS` are answered at once; `LONG` ones take a while, and report progress to
`heard_by`. Errors are ValueErrors with words for the page.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.base.charts import chart, strip
from ratebound._old.base.document import Chart, ChartMark
from ratebound._old.base.types import Array
from ratebound._old.commands.saved import load_for_tables
from ratebound._old.commands.train import Made
from ratebound._old.rates import named
from ratebound._old.solution.files import NAME
from ratebound._old.solution.mixture import Mixture
from ratebound._old.studio import comparing, making, promises, table, verifying
from ratebound._old.studio.learning import (
    Asked,
    Choices,
    Labelled,
    Learned,
    NotLearned,
    Solved,
    by_group,
    choose,
    curve,
    everyone,
    exact,
    learn,
    outcome,
    promised,
    quick,
)
from ratebound._old.studio.promises import evidence

Given = Mapping[str, Any]
MODELS = {
    "linear": "Linear: the fastest, and the easiest to interpret",
    "lightgbm": "Boosted trees (LightGBM)",
    "xgboost": "Boosted trees (XGBoost)",
}


SCALES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # possible ends of the scale of shares


@dataclass(frozen=True, eq=False)
class State:
    """Everything that the studio holds."""

    out: Path  # the folder to write into, unless another is chosen
    opened: table.Opened | None = None
    folder: Path | None = None  # the given model's folder
    given: Mapping[str, Any] | None = None  # the request in a run file in that folder
    rows: Labelled | None = None
    learned: Learned | None = None
    made: Made | None = None
    openings: tuple[tuple[Choices, Asked], ...] = ()  # requests that opened the held-out rows
    written: Path | None = None  # the signed folder
    model: Mixture | None = None  # a saved model, to compare with


Answer = tuple[State, dict[str, Any]]


def started(data: str, out: Path | None) -> State:
    """The state at the start: a table, or a model folder and the table that its run file names."""
    path = Path(data)
    if (path.is_dir() and (path / NAME).exists()) or path.suffix == ".safetensors":
        run = verifying.run_in(path) if path.is_dir() else None
        model = load_for_tables(path, ())
        state = State(out or Path(f"{path}-new"), folder=path, model=model)
        if run is None or not all(Path(each).exists() for each in run.data):
            return state
        told = {"label": run.label, "positive": run.positive, "model": run.model}
        given = told | {"hidden": list(run.exclude)}
        return replace(state, opened=table.open_table(run.data), given=given)
    stem = path.name.split(".")[0] or "table"
    return State(out or Path(f"{stem}-model"), opened=table.open_table([data]))


def start(state: State, given: Given) -> Answer:
    """The table, the sentences and the models."""
    return state, {
        "table": None if state.opened is None else table.described(state.opened),
        "folder": None if state.folder is None else str(state.folder),
        "given": state.given,
        "kinds": promises.kinds(),
        "models": {n: words for n, words in MODELS.items() if n == "linear" or find_spec(n) is not None},
        "out": str(state.out),
        "today": datetime.date.today().isoformat(),
        "smallest": promises.SMALLEST,
    }


def choosing(state: State, given: Given) -> Answer:
    """Choose the label and its yes; results that no longer apply are forgotten."""
    rows = choose(_opened(state), Choices.read(given))
    if state.rows is None or rows.choices != state.rows.choices:
        state = replace(state, rows=rows, learned=None, made=None, written=None)
    rows = _rows(state)
    labels = {str(label): int((rows.right == yes).sum()) for yes, label in enumerate(rows.classes)}
    columns = [n for n in rows.opened.table.columns if n not in (rows.choices.label, rows.choices.live)]
    grouped = [
        name
        for name in columns
        if len(rows.opened.values.get(name, ())) > 1
        or (name not in rows.opened.values and rows.opened.table[name].dtype.kind in "iuf")
    ]
    return state, {
        "held": rows.held,
        "no": str(rows.classes[0]),
        "yes": str(rows.classes[1]),
        "labels": labels,
        "rows": len(rows.right),
        "unlabelled": rows.unlabelled,
        "columns": grouped,
        "values": [table.plain(each) for each in rows.classes],
    }


def groups(state: State, given: Given) -> Answer:
    """The groups of a column, their numbers of rows, and what these can show."""
    rows = _rows(state)
    every = table.groups_of(rows.opened, given.get("column"))  # type: ignore[arg-type]  # checked there
    told = []
    for group in every:
        inside = table.group_mask(rows.opened, group)
        count = int(inside.sum())
        promise = str(named.positive_rate(table.group_subset(group)) >= 0.5)
        shown = evidence(rows.people, [promise], _sure(given), rows.share) if count else []
        told.append(
            {
                "group": {key: table.plain(value) for key, value in group.items()},
                "name": table.group_name(group),
                "rows": count,
                "should": int(rows.right[inside].sum()),
                "margin": shown[0]["margin"] if shown else None,
            }
        )
    return state, {"groups": told}


def evident(state: State, given: Given) -> Answer:
    """What promises mean, and what the rows can show for each."""
    rows, shown = _rows(state), []
    for spec in Asked.read(given).promises:
        try:
            texts = [str(each) for each in promises.spelled(rows.opened, spec)]
            shown.append({"require": promises.stated(rows.opened, spec),
                         "rows": evidence(rows.people, texts, _sure(given), rows.share)})  # fmt: skip
        except ValueError as error:
            shown.append({"error": str(error)})
    return state, {"promises": shown}


def _sure(given: Given) -> float:
    confidence = given.get("confidence")
    return 0.95 if not isinstance(confidence, float) or not 0.5 <= confidence < 1 else confidence


def learning(state: State, given: Given) -> Answer:
    """Learn from the rows what the promises need."""
    rows, asked = _rows(state), Asked.read(given)
    learned = learn(rows, asked.promises)
    return replace(state, learned=learned), {
        "seconds": learned.seconds,
        "rows": len(learned.plain),
        "sample": learned.sample,
        "sampled": learned.sample < len(learned.plain),
    }


def answering(state: State, given: Given) -> Answer:
    """The effect of the promises: from the stored sample at once, or `exact`, as in training."""
    learned, asked = _learned(state), Asked.read(given)
    is_exact = bool(given.get("exact"))
    try:
        rule = exact(learned, asked) if is_exact else quick(learned, asked)
    except NotLearned as error:
        return state, {"learn": str(error)}
    return state, {"exact": is_exact, **_told(learned, rule, given.get("columns", []))}


def _told(learned: Learned, solved: Solved, columns: list[str]) -> dict[str, Any]:
    asked, status, decisions = solved.asked, solved.status, everyone(learned, solved)
    right, kept = learned.rows.right, promised(learned, solved)
    spoken_of = promises.columns_in(asked.promises)
    models = {model: outcome(asked, yes, right) for model, yes in decisions.items()}
    told = [
        {**group, "column": name, "promised": name in spoken_of}
        for name in dict.fromkeys([*spoken_of, *columns])
        for group in by_group(learned.rows, name, decisions)
    ]
    every = [own["rates"] for own in told] + [models]
    largest = max(rates[model]["yes"] for rates in every for model in rates)
    most = next(each for each in SCALES if each >= largest)
    for own in told:
        own["strip"] = _strip(own["name"], own["rates"], most)
    return {
        "rows": len(right),
        "sample": learned.sample,
        "sampled": learned.sample < len(learned.plain),
        "models": models,
        "most": most,
        "strip": _strip("everyone", models, most),
        "promises": kept,
        "groups": told,
        "confidence": None if status is None else status.confidence,
        "status": "" if status is None else str(status),
        "feasible": None if status is None else status.feasible,
        "kept": all(each["kept"] for each in kept),
    }


def _strip(name: str, rates: Mapping[str, Any], most: float) -> str:
    marks = [(model, own["yes"]) for model, own in rates.items()]
    words = "; ".join(f"{model} {100 * value:.1f}%" for model, value in marks)
    return str(strip(marks, f"{name} get a yes: {words}", most))


def curving(state: State, given: Given) -> Answer:
    """What other bounds of one promise would cost, as a chart."""
    learned, asked, place = _learned(state), Asked.read(given), given.get("place")
    if not isinstance(place, int) or not 0 <= place < len(asked.promises):
        raise ValueError("which promise is meant?")
    spec = asked.promises[place]
    try:
        points = curve(learned, asked, place)
    except NotLearned:
        points = []
    if len(points) < 2:
        return state, {"chart": None}
    xs, ys = zip(*points, strict=True)
    low, high = min(ys), max(ys)
    room = max(0.1 * (high - low), 1e-3)
    what = "cost per person" if asked.by_cost else "share of wrong decisions"
    here = next((y for x, y in points if x == round(float(spec["bound"]), 4)), None)
    marks = () if here is None else (ChartMark("solution", spec["bound"], here, "the bound now"),)
    title = promises.KINDS[spec["kind"]].title
    drawn = Chart(
        f"{title}: what each bound costs, from {low:.4f} to {high:.4f}",
        "bound",
        what,
        (min(xs), max(xs)),
        (max(low - room, 0.0), high + room),
        curves=((xs, ys),),
        marks=marks,
    )
    return state, {"chart": str(chart(drawn))}


# --- comparing -----------------------------------------------------------------------------------------


def comparison(state: State, given: Given) -> Answer:
    """Who gains and who loses between two models, and single cases with reasons."""
    learned, rows = _learned(state), _rows(state)
    sides = [_side(state, learned, given.get(name)) for name in ("one", "other")]
    columns = [name for name in given.get("columns", []) if isinstance(name, str)]
    (one, _), (other, _) = sides
    told = comparing.compared(rows, one, other, columns)
    strength = np.abs(comparing.likely_yes(learned) - 0.5)
    shown = {}
    for what, places in comparing.cases(one, other, strength).items():
        shown[what] = [
            {
                **comparing.case(rows, learned, place),
                "one": sides[0][1](place),
                "other": sides[1][1](place),
            }
            for place in places
        ]
    return state, {**told, "cases": shown}


Reasoning = Callable[[int], list[dict[str, Any]]]


def _side(state: State, learned: Learned, given: Any) -> tuple[Array, Reasoning]:
    """The decisions of one side of a comparison, and its reasons for a row."""
    kind = given.get("model") if isinstance(given, Mapping) else None
    decisions = everyone(learned, None)
    if kind == "asked":
        solved = quick(learned, Asked.read(given.get("asked", {})))
        return solved.yes, lambda place: comparing.reasons_of_rule(solved, place)
    if kind == "plain":
        solved = quick(learned, Asked(confidence=None))
        return solved.yes, lambda place: comparing.reasons_of_rule(solved, place)
    if kind in ("made", "folder"):
        model = state.model if kind == "folder" else None if state.made is None else state.made.solution
        if model is None:
            raise ValueError("there is no such model yet")
        rows = _rows(state)
        yes = np.asarray(model.predict(rows.opened.table)) == rows.classes[1]
        return yes, lambda place: comparing.reasons_of_model(model, rows, place)
    if kind not in decisions:
        raise ValueError("choose two models to compare")
    words = {"live": "decided by the live model", "nobody": "says no to everyone"}[str(kind)]
    return decisions[str(kind)], lambda place: [{"name": kind, "words": words, "part": None}]


# --- making, signing, verifying ----------------------------------------------------------------------


def make(state: State, given: Given) -> Answer:
    """Train the model as `ratebound train` does, and open the held-out rows to audit it."""
    rows, asked = _rows(state), Asked.read(given)
    openings = tuple(dict.fromkeys([*state.openings, (rows.choices, asked)]))
    first = len(openings) == 1
    made_model = making.make(_opened(state), rows.choices, asked, _out(state, given), first=first)
    after = replace(state, made=made_model, written=None, openings=openings)
    return after, making.told(made_model, len(openings))


def sign(state: State, given: Given) -> Answer:
    """Sign the model that was made, and write it."""
    if state.made is None:
        raise ValueError("make the model first: the sign-off is for its audit on held-out rows")
    signed = making.sign(state.made, len(state.openings), given, datetime.date.today())
    out = _out(state, given)
    files = making.written(state.made, signed, out, replaced=bool(given.get("replace")))
    return replace(state, written=out), {"folder": str(out.resolve()), "files": files}


def verify(state: State, given: Given) -> Answer:
    """Check a model folder, and its promises on rows if these are given."""
    folder, data = given.get("folder"), given.get("data") or None
    if not isinstance(folder, str) or not folder.strip():
        raise ValueError("write the path of the model folder")
    if data is not None and not isinstance(data, str):
        raise ValueError("the rows must be a path to a table")
    label = given.get("label") or None
    shown = verifying.verified(Path(folder), datetime.date.today(), data, label)
    plain = json.loads(json.dumps(shown, default=str))
    return replace(state, model=load_for_tables(Path(folder), ())), plain


def _out(state: State, given: Given) -> Path:
    out = given.get("out")
    return Path(out.strip()) if isinstance(out, str) and out.strip() else state.out


def _opened(state: State) -> table.Opened:
    if state.opened is None:
        raise ValueError("there is no table: start the studio with one")
    return state.opened


def _rows(state: State) -> Labelled:
    if state.rows is None:
        raise ValueError("choose the label first")
    return state.rows


def _learned(state: State) -> Learned:
    if state.learned is None:
        raise ValueError("learn from the table first")
    return state.learned


ACTIONS: dict[str, Callable[[State, Given], Answer]] = {
    "start": start,
    "choose": choosing,
    "groups": groups,
    "evidence": evident,
    "answer": answering,
    "curve": curving,
    "compare": comparison,
    "sign": sign,
}
LONG: dict[str, Callable[[State, Given], Answer]] = {"learn": learning, "make": make, "verify": verify}
