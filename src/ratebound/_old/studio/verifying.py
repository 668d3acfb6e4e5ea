"""A model folder checked: digests, its sign-off, and its promises measured again on rows."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ratebound._old.auditing.auditing import audit
from ratebound._old.auditing.wording import on_new_rows
from ratebound._old.certifying.certify import certify
from ratebound._old.commands.audit import populations_for
from ratebound._old.commands.on_disk import files_of
from ratebound._old.commands.runs import Run, Use, read_run
from ratebound._old.commands.saved import load_for_tables
from ratebound._old.solution.files import NAME
from ratebound._old.solution.mixture import Mixture
from ratebound._old.studio.learning import quietly
from ratebound._old.studio.making import RUN_FILE
from ratebound._old.studio.promises import in_words
from ratebound._old.tables.contents import digest_of, digests_of

Check = dict[str, Any]  # what was checked, whether it is right (None if unknown), and words


def run_in(folder: Path) -> Run | None:
    """The run file in a model folder, if there is one."""
    file = folder / RUN_FILE
    return read_run({"data": [str(file)]}) if file.is_file() else None


def verified(
    folder: Path,
    today: datetime.date,
    data: str | None = None,
    label: str | None = None,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Everything that can be checked about a model folder; with `data`, also on these rows."""
    if not folder.exists():
        raise ValueError(f"there is no folder {folder}")
    model = load_for_tables(folder, ())
    run = run_in(folder) if folder.is_dir() else None
    checks = [*_of_files(folder, today), *_of_table(model, run)]
    told: dict[str, Any] = {
        "folder": str(folder),
        "checks": checks,
        "promised": [str(promise) for promise in model.problem.subject_to],
        "status": str(model.record.status),
        "label": label or (None if run is None else run.label),
        "data": None if run is None else list(run.data),
        "signed": _signed(folder),
    }
    if data:
        if not told["label"]:
            raise ValueError("say which column of these rows is the label")
        told |= _on_rows(model, folder, data, told["label"], confidence)
    return told


def _of_files(folder: Path, today: datetime.date) -> Iterator[Check]:
    file = folder / NAME if folder.is_dir() else folder
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    yield _check("The model’s file can be read, and no code in it is run", True, f"SHA-256 {digest}")
    signed = _signed(folder)
    if signed is None:
        yield _check("It was signed", None, "there is no sign-off in its audit.json")
        return
    same = signed.get("model") == digest
    yield _check(
        "The file is the one that was signed",
        same,
        f"by {signed['owner']} on {signed['date']}" if same else f"{signed.get('model')} was signed",
    )
    still = str(signed.get("expires", "")) > today.isoformat()
    yield _check("The sign-off has not expired", still, f"valid until {signed.get('expires')}")
    page = folder / "report.html"
    matches = page.is_file() and str(signed.get("model")) in page.read_text("utf-8", errors="replace")
    words = (
        "report.html names the same digest" if matches else "report.html names another, or is missing"
    )
    yield _check("The report beside it belongs to this model", matches, words)


def _of_table(model: Mixture, run: Run | None) -> Iterator[Check]:
    source = model.record.source
    if run is None or source is None:
        yield _check("The table that it was trained on is unchanged", None, "no run file names it")
        return
    missing = [path for path in run.data if not Path(path).exists()]
    if missing:
        yield _check("The table that it was trained on is unchanged", None, f"{missing[0]} is not there")
        return
    same = digest_of(digests_of(files_of(run.data))) == source
    words = ", ".join(run.data)
    yield _check("The table that it was trained on is unchanged", same, words)


def _on_rows(model: Mixture, folder: Path, data: str, label: str, confidence: float) -> dict[str, Any]:
    """The promises measured again, and a certificate if these are other rows."""
    use = Use(model=folder, data=(data,), label=label, drop_unlabelled=True)
    with quietly():
        people, others = populations_for(model, use)
        files = digests_of(files_of(use.data))
        trained = model.record.source is not None and digest_of(files) == model.record.source
        certificate = None
        if not trained:  # this certificate takes the place of an earlier one, of other rows
            certificate = certify(model.problem, model, people, confidence=confidence, **others)
            model = model.recorded(certificate=certificate)
        report = audit(model.problem, model, people, **others)
        report = report.made_by("the studio", files, unseen=False if trained else None, label=label)
        report_data = report.to_dict()
        told = [
            each | {"sentence": in_words(each["words"]), "new": on_new_rows(report, promise)}
            for each, promise in zip(report_data["promises"], report.promises, strict=True)
        ]
        measured: dict[str, Any] = {"audit": report_data | {"card": None, "promises": told}}
        if certificate is None:
            measured["uncertified"] = (
                "These are the rows that it was trained on. Promises kept on them show nothing about "
                "new rows: give other rows for a certificate."
            )
        else:
            measured["certificate"] = certificate.to_dict() | {"words": str(certificate)}
    return measured


def _signed(folder: Path) -> dict[str, Any] | None:
    file = folder / "audit.json"
    if not file.is_file():
        return None
    try:
        read = json.loads(file.read_text("utf-8"))
    except ValueError:
        return None
    signed = read.get("signed") if isinstance(read, dict) else None
    return signed if isinstance(signed, dict) and {"owner", "date"} <= signed.keys() else None


def _check(what: str, right: bool | None, words: str) -> Check:
    return {"what": what, "right": right, "words": words}
