"""``ratebound reproduce``: the paper's experiments from data to table, beside the published ones.

Everything is written to one folder: every game as soon as it has ended, every table as soon as its games
have, and a page of all the tables in the folder.
"""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ratebound._old.base.checks import nearest
from ratebound._old.base.extras import import_torch
from ratebound._old.base.writing import write_whole
from ratebound._old.commands.answers import write_json
from ratebound._old.commands.folders import OUTPUT, check_files, check_folder
from ratebound_experiments.charts import oscillation, png, trade_off
from ratebound_experiments.experiment import FREE, Experiment
from ratebound_experiments.page import page
from ratebound_experiments.problems import EXPERIMENTS
from ratebound_experiments.rows import Chosen
from ratebound_experiments.running import Played, run
from ratebound_experiments.tables import Reproduced, from_json, reproduced, text, to_json

INTERRUPTED = 130
PLAYED_BY = {"swap": "swap", "external": "ext", "lagrangian": "hinge"}  # what tables call the players
ALL = "all"
GAMES, PAGE = "games", "index.html"
FIGURES = {"trade-off": "error against worst violation", "oscillation": "iterates by round"}


def reproduce(
    name: str,
    data: Path | None = None,
    seeds: int = 1,
    json: str | None = None,
    out: Path = Path("reproduced"),
    epochs: int | None = None,
    device: str | None = None,
    quiet: bool = False,
    proxy: str | None = None,
    loss: str | None = None,
    player: Sequence[str] | None = None,
    rates: Sequence[tuple[float, float]] | None = None,
) -> int:
    """Run experiments, then print and write their tables; the exit status is 0 if all went well."""
    chosen, left_out = _chosen(name, data)
    for flag, count in (("--seeds", seeds), ("--epochs", epochs)):
        if count is not None and count < 1:
            raise ValueError(f"{flag} takes a whole number from 1 on, got {count}")
    if device is not None:
        _check_device(device)
    check_folder(out)
    check_files({"--json": json})

    settings: dict[str, Any] = {"folder": data, "device": device, "keep": out / GAMES}
    tables = {}
    try:
        for experiment in chosen:
            experiment = replace(experiment, epochs=epochs or experiment.epochs)
            experiment = _changed(experiment, proxy, loss, player, rates)
            try:
                runs = [_run(experiment, seed, settings, quiet) for seed in range(seeds)]
            except FileNotFoundError as error:
                if name != ALL:
                    raise
                left_out[experiment.name] = str(error)
                continue
            table = reproduced(experiment, runs, device)
            written = _write(table, runs[0], out)
            if json != OUTPUT:
                print(f"{text(table)}\nWritten to {out}: {', '.join(written)}\n", flush=True)
            tables[experiment.name] = to_json(table)
    except KeyboardInterrupt:
        _say(
            f"interrupted; finished games are kept in {out / GAMES}: the same command goes on from there"
        )
        return INTERRUPTED
    for lacking, reason in left_out.items():
        _say(f"{lacking} was left out: {reason}")
    if json is not None:
        write_json({"tables": tables, "left_out": left_out} if name == ALL else tables[name], json)
    return 0


def _chosen(name: str, data: Path | None) -> tuple[list[Experiment], dict[str, str]]:
    """The experiments to run and, for `all`, why some are left out."""
    if data is not None and not data.is_dir():
        raise ValueError(f"--data {data}: there is no such folder")
    known = (*EXPERIMENTS, ALL)
    if name not in known:
        raise ValueError(
            f"there is no experiment {name!r}{nearest(name, known)} There are {', '.join(known)}"
        )
    if name != ALL:
        EXPERIMENTS[name].check(data)
        return [_told(EXPERIMENTS[name], data)], {}
    lacking = [one.name for one in EXPERIMENTS.values() if one.stand_in and data is None]
    left_out = dict.fromkeys(lacking, "its files do not ship with the package: give --data FOLDER")
    return [_told(one, data) for one in EXPERIMENTS.values() if one.name not in left_out], left_out


def _told(experiment: Experiment, data: Path | None) -> Experiment:
    """The experiment, with a note in its words if its data is not the paper's."""
    if data is not None or not experiment.shipped:
        return experiment
    return replace(experiment, words=f"{experiment.words}; on {experiment.shipped}")


def _changed(
    experiment: Experiment,
    proxy: str | None,
    loss: str | None,
    players: Sequence[str] | None,
    rates: Sequence[tuple[float, float]] | None,
) -> Experiment:
    """The experiment with something else in one place or more, and a note of that in its words."""
    said, changes = [], dict[str, Any]()
    if proxy is not None and proxy != experiment.proxy:
        changes["proxy"] = proxy
        said.append(f"the {proxy} as proxy instead of the {experiment.proxy}")
    if loss is not None and loss != experiment.loss:
        changes["loss"] = loss
        said.append(f"the {loss} loss instead of the {experiment.loss}")
    if players is not None:
        chosen = {PLAYED_BY[name] for name in players}
        kept = [each for each in experiment.algorithms if each in FREE or each in chosen]
        changes["algorithms"] = tuple(kept)
    if rates is not None:
        changes["rates"] = replace(experiment.rates, only=tuple(dict.fromkeys(rates)))
        said.append("learning rates " + ", ".join(str(Chosen(*pair)) for pair in dict.fromkeys(rates)))
    words = "; with ".join([experiment.words, *([", ".join(said)] if said else [])])
    return replace(experiment, words=words, **changes)


def _check_device(device: str) -> None:
    try:
        import_torch().empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {device}: PyTorch cannot use it here: {error}") from None


def _run(experiment: Experiment, seed: int, settings: dict[str, Any], quiet: bool) -> list[Played]:
    """The games of one seed; games that an earlier run finished are not played again."""
    if not quiet:
        _say(f"{experiment.name}, seed {seed}: {', '.join(experiment.algorithms)}")
    played = run(experiment, seed, **settings, progress=False if quiet else None)
    resumed = [one.algorithm for one in played if one.resumed]
    if resumed and not quiet:
        _say(f"{experiment.name}, seed {seed}: kept from an earlier run: {', '.join(resumed)}")
    return played


def _write(table: Reproduced, played: list[Played], out: Path) -> list[str]:
    """Write the table, its figures if they can be drawn, and the page; return the names of the files."""
    contents: dict[str, bytes] = {
        f"{table.name}.txt": f"{text(table)}\n".encode(),
        f"{table.name}.json": _json(to_json(table)),
    }
    try:
        contents[f"{table.name}-trade-off.png"] = png(trade_off(table))
        contents[f"{table.name}-oscillation.png"] = png(oscillation(played, table))
    except ImportError as error:
        _say(f"no figures are drawn: {error}")
        for kind in FIGURES:  # those of an earlier run would be shown with this one's numbers
            (out / f"{table.name}-{kind}.png").unlink(missing_ok=True)
    for name, content in contents.items():
        write_whole(out / name, content)
    write_whole(out / PAGE, _page(out).encode())
    return [*contents, PAGE]


def _page(out: Path) -> str:
    """The page of all tables in the folder, including those of other runs."""
    tables, figures = [], {}
    for name in EXPERIMENTS:
        try:
            tables.append(from_json(json_text.loads((out / f"{name}.json").read_text("utf-8"))))
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError):
            _say(f"{out / name}.json is not a table that this version wrote; the page is without it")
            continue
        files = {words: out / f"{name}-{kind}.png" for kind, words in FIGURES.items()}
        figures[name] = {words: file.read_bytes() for words, file in files.items() if file.exists()}
    return page(tables, figures)


def _json(value: Any) -> bytes:
    return (json_text.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _say(words: str) -> None:
    print(f"ratebound: {words}", file=sys.stderr)
