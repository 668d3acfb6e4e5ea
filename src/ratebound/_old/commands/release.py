"""``ratebound release``: a candidate tested under a change plan, against the live model."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ratebound._old.base.checks import nearest
from ratebound._old.base.progress import working
from ratebound._old.commands.answers import one_notice, tell
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.on_disk import files_of
from ratebound._old.commands.predict import decisions
from ratebound._old.commands.rows import labelled, with_labels
from ratebound._old.commands.saved import load_for_tables, rows_for, table_for, truths
from ratebound._old.estimators.change_plan import ChangePlan
from ratebound._old.estimators.release import Release
from ratebound._old.estimators.versions import Version, version_of
from ratebound._old.tables.contents import digest_of, digests_of
from ratebound._old.tables.texts import Reading

STATED = ("require", "error", "releases", "spending", "key")  # flags, and keys of a plan's file


def release(
    ledger: Path,
    *,
    data: Sequence[str] = (),
    candidate: Path | None = None,
    live: Path | None = None,
    label: str | None = None,
    plan: Path | None = None,
    version: str = "",
    out: Path | None = None,
    html: Path | None = None,
    trusted: Sequence[str] = (),
    drop_unlabelled: bool = False,
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    on_disk: bool = False,
    json: str | None = None,
    quiet: bool = False,
    **stated: Any,
) -> int:
    """Test the candidate and print the outcome, or print the plan. The status says if it is refused."""
    read = (candidate, live, plan, ledger)
    given: list[str | Path] = [*data, *(path for path in read if path is not None)]
    check_files({"--html": html, "--json": json}, given)
    if on_disk:
        raise ValueError("a release needs the fresh rows in memory: leave out --on-disk")
    whole = _plan(ledger, (_read_plan(plan) if plan is not None else {}) | stated)
    if candidate is None and not data:
        _write_page(whole, html)
        tell(str(whole), whole.to_dict(), json)
        return 0
    if candidate is None or not data or label is None:
        raise ValueError(
            "a release takes a candidate and fresh rows with labels: --candidate MODEL FILE --label "
            "COLUMN; without all of these the plan is shown"
        )
    with one_notice(), working("testing", not quiet):
        outcome = _tested(
            whole,
            (candidate, live, trusted),
            (data, label, drop_unlabelled, Reading(sep, encoding, header)),
            version,
        )
    if outcome.certified and out is not None:
        outcome.save(out)
    _write_page(whole, html)
    tell(f"{outcome}\n\n{whole!r}", outcome.to_dict(), json)
    return 0 if outcome.certified else 1


def _write_page(whole: ChangePlan, html: Path | None) -> None:
    if html is not None:
        whole.save_html(html)


def _plan(ledger: Path, stated: dict[str, Any]) -> ChangePlan:
    """The ledger's plan, which must equal the one stated; or a new one."""
    wanted = {"promises" if name == "require" else name: value for name, value in stated.items()}
    if ledger.exists():
        before = ChangePlan.open(ledger)
        recorded = {name: getattr(before, name) for name in ("error", "releases", "spending", "key")}
        promises = wanted.pop("promises", list(before.promises))
        return ChangePlan(promises, **(recorded | wanted), ledger=ledger) if stated else before
    if "promises" not in wanted:
        raise ValueError(
            f"there is no ledger at {ledger}: a new plan needs --require PROMISE, and --error and "
            "--releases if they are not 0.05 and 12"
        )
    return ChangePlan(wanted.pop("promises"), **wanted, ledger=ledger)


def _read_plan(source: Path) -> dict[str, Any]:
    """The statements about a plan in a TOML file."""
    try:
        stated = tomllib.loads(source.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{source} is not TOML: {error}") from None
    for key in stated:
        if key not in STATED:
            raise ValueError(f"{source}: unknown key {key!r}{nearest(key, STATED)}")
    return stated


def _tested(
    whole: ChangePlan,
    models: tuple[Path, Path | None, Sequence[str]],
    rows: tuple[Sequence[str], str, bool, Reading],
    version: str,
) -> Release:
    (candidate, live, trusted), (paths, label, drop, reading) = models, rows
    new = version_of(candidate, "candidate", trusted)
    mixture = load_for_tables(candidate, trusted)
    source = digest_of(digests_of(files_of(paths)))
    if mixture.record.source is not None and mixture.record.source == source:
        raise ValueError(
            f"{paths[0]} is the table that the candidate was trained on: give rows it has not seen"
        )
    key = None if whole.key is None else str(whole.key)
    table = table_for(mixture, paths, reading, label, key=key, problem=whole.problem)
    table = with_labels(table, label, drop)
    people = labelled(
        table,
        label,
        mixture.classes,
        None,
        columns=truths(mixture, table),
        rows=rows_for(mixture, table),
    )
    old: Version | None = None
    if live is not None:
        read = version_of(live, "live", trusted)
        given = decisions(load_for_tables(live, trusted), table, None)
        old = replace(read, model=None, given=given)
    return whole.release(candidate=new, live=old, rows=people, version=version)
