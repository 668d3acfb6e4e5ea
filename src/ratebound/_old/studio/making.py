"""The studio's output: the model, its audit on held-out rows, and its sign-off.

The studio trains as `ratebound train` does, so the run file beside the model makes the same model again.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ratebound._old.auditing.provenance import SignOff
from ratebound._old.auditing.wording import on_new_rows
from ratebound._old.certifying.certify import certify
from ratebound._old.commands.folders import check_folder
from ratebound._old.commands.runs import Run, as_run_file
from ratebound._old.commands.train import FILES, Made
from ratebound._old.commands.train import make as train
from ratebound._old.studio.learning import Asked, Choices, quietly
from ratebound._old.studio.promises import in_words, stated
from ratebound._old.studio.table import Opened

RUN_FILE = "run.toml"
AGAIN = "again"  # the folder, beside the run file, that it writes to
WRITTEN = (*FILES, RUN_FILE)
ONCE = (
    "The bounds were chosen in the studio from rates on the training rows, each row judged by models "
    "that did not see it. The rows audited here took no part in that, and were opened once."
)
AGAIN_OPENED = (
    "The rows audited here were opened {times} times in the studio, for models with other bounds or "
    "choices. Choosing a model by its audit also favours luck: there is no certificate, and promises "
    "may be kept less well on new rows than here. Verify the model on rows that nobody has seen."
)
CONFIDENCE = 0.95  # of a certificate on the held-out rows
LONGEST = 2000  # letters of a signed text, at most


def run_for(opened: Opened, choices: Choices, asked: Asked, out: Path) -> Run:
    """The run for a request."""
    require = tuple(text for spec in asked.promises for text in stated(opened, spec))
    return choices.run(
        opened,
        require=require,
        minimize=asked.objective if asked.by_cost else None,
        confidence=asked.confidence,
        out=out,
        quiet=True,
    )


def make(opened: Opened, choices: Choices, asked: Asked, out: Path, *, first: bool) -> Made:
    """Train as `ratebound train` does, and audit on held-out rows; nothing is written yet.

    If these rows are opened for the `first` time, they also give a certificate.
    """
    check_folder(out, WRITTEN)
    with quietly():
        own = train(run_for(opened, choices, asked, out))
        return _certified(own) if first and own.report.promises else own


def _certified(own: Made) -> Made:
    """The same model and report with a certificate on the held-out rows."""
    test = certify(own.solution.problem, own.solution, own.held.people, confidence=CONFIDENCE)
    solution: Any = own.solution.recorded(certificate=test)
    card = own.report.card
    assert card is not None
    report = replace(own.report, card=replace(card, mixture=solution))
    return replace(own, solution=solution, report=report)


def told(own: Made, openings: int) -> dict[str, Any]:
    """The page's data about a new model."""
    report = own.report
    data = report.to_dict()
    said = report.document().conclusion
    assert said is not None
    return {
        "state": said.state,
        "headline": said.headline,
        "openings": openings,
        "summary": data["summary"],
        "status": str(own.model.status_),
        "feasible": own.model.status_.feasible,
        "kept": report.kept,
        "certain": report.certain,
        "error": data["objective"],
        "promises": [
            each | {"sentence": in_words(each["words"]), "new": on_new_rows(report, promise)}
            for each, promise in zip(data["promises"], report.promises, strict=True)
        ],
        "groups": data["groups"],
        "rows": {"trained": own.trained_on, "audited": next(iter(report.populations.values()))},
        "limits": limits(own, openings),
    }


def limits(own: Made, openings: int) -> list[str]:
    """The limits that a signer has to accept."""
    return [*own.report.limits, ONCE if openings == 1 else AGAIN_OPENED.format(times=openings)]


def sign(own: Made, openings: int, given: Mapping[str, Any], today: datetime.date) -> SignOff:
    """The sign-off that a page sends; an error, in words for the page, if something is missing."""
    texts = {}
    for name in ("owner", "purpose"):
        text = given.get(name)
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"write the {name}: a sign-off says who is responsible for a model, and for what"
            )
        if len(text) > LONGEST:
            raise ValueError(f"the {name} has more than {LONGEST:,} letters")
        texts[name] = " ".join(text.split())
    try:
        expires = datetime.date.fromisoformat(str(given.get("expires")))
    except ValueError:
        raise ValueError("choose the day until which the sign-off is valid") from None
    if expires <= today:
        raise ValueError("the sign-off would have expired already: choose a later day")
    every = limits(own, openings)
    if given.get("accepted") != len(every):
        raise ValueError(f"read and accept all {len(every)} limits, or do not sign")
    until, on = expires.isoformat(), today.isoformat()
    return SignOff(texts["owner"], texts["purpose"], tuple(every), until, on)


def written(own: Made, signed: SignOff, out: Path, *, replaced: bool) -> list[dict[str, Any]]:
    """Write the model, its signed report and its run file into a folder; returns what was written."""
    there = [name for name in WRITTEN if (out / name).exists()]
    if there and not replaced:
        raise ValueError(f"{out} already has {', '.join(there)}: choose another folder, or replace them")
    again = replace(own.run, out=Path(AGAIN), quiet=False)
    own.write(out, signed, {RUN_FILE: as_run_file(again, out)})
    return [
        {
            "name": name,
            "bytes": (out / name).stat().st_size,
            "sha256": hashlib.sha256((out / name).read_bytes()).hexdigest(),
        }
        for name in WRITTEN
    ]
