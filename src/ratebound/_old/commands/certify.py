"""``ratebound certify``: promises on new rows, of a saved model or of decisions that someone made."""

from __future__ import annotations

from pathlib import Path

from ratebound._old.auditing.auditing import audit as audit_on
from ratebound._old.auditing.report import Audit
from ratebound._old.base.progress import working
from ratebound._old.base.writing import write_whole
from ratebound._old.certifying.certify import certify as certify_on
from ratebound._old.commands.answers import one_notice, tell
from ratebound._old.commands.audit import populations_for
from ratebound._old.commands.decided import read_decided
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.on_disk import files_of
from ratebound._old.commands.runs import Use, as_command
from ratebound._old.commands.saved import load_model
from ratebound._old.solution.certificate import Certificate
from ratebound._old.solution.files import save_certificate
from ratebound._old.tables.contents import digest_of, digests_of

CONFIDENCE = 0.95
REPORT = "report.html"  # in a folder that `train` wrote


def certify(use: Use) -> int:
    """Print the certificate, and keep it if asked; the exit status says whether it holds."""
    check_files({"--json": use.json}, use.files)
    certificate = _decided(use) if use.decision is not None else _of_model(use)
    tell(str(certificate), certificate.to_dict(), use.json)
    return 0 if certificate.holds else 1


def _decided(use: Use) -> Certificate:
    """The certificate of decisions that someone made."""
    with one_notice(), working("certifying", not use.quiet):
        given = read_decided(use)
        level = CONFIDENCE if use.confidence is None else use.confidence
        return certify_on(
            given.problem,
            decisions=given.decisions,
            rows=given.people,
            confidence=level,
            key=use.key,
            **given.others,
        )


def _of_model(use: Use) -> Certificate:
    """The certificate of a saved model, kept with it if asked."""
    mixture = load_model(use)
    assert use.model is not None
    if (
        mixture.record.source is not None
        and digest_of(digests_of(files_of(use.data))) == mixture.record.source
    ):
        raise ValueError(
            f"{use.name} is the table that the model was trained on; promises kept there show nothing "
            "about new rows: certify it on other rows, or set rows aside with train --certify 0.3"
        )
    with one_notice(), working("certifying", not use.quiet):
        people, others = populations_for(mixture, use)
        certificate = certify_on(
            mixture.problem,
            mixture,
            people,
            confidence=CONFIDENCE if use.confidence is None else use.confidence,
            in_expectation=use.in_expectation,
            key=use.key,
            **others,
        )
        if use.save:
            save_certificate(certificate, use.model)
            if (use.model / REPORT).is_file():
                certified = mixture.recorded(certificate=certificate)
                _renew(
                    audit_on(mixture.problem, certified, people, key=use.key, **others), use.model, use
                )
    return certificate


def _renew(report: Audit, folder: Path, use: Use) -> None:
    """Rewrite the report in the model's folder: on these rows, and with the certificate."""
    files = digests_of(files_of(use.data))
    report = report.made_by(as_command("certify", use), files, unseen=None, label=use.label)
    report.save_html(folder / REPORT, title=f"Audit and certificate on {use.name}")
    write_whole(folder / "audit.json", f"{report.render('json')}\n".encode())
