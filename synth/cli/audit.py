"""`synth audit`: attacks on the real components, and what attackers of limited capacity would see."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import as_file, check_writable, spelled, write_text
from synth.cli.options import Said, command
from synth.errors import UsageError

audit_app = typer.Typer(
    name="audit", invoke_without_command=True, help="Attack the real components on worst-case neighbouring tables."
)
ConfidenceOpt = Annotated[float, "--confidence", "Confidence of each part's bounds."]
OutOpt = Annotated[Path | None, "--out", "The .html file to write; its figures go beside it as JSON."]


def audit(
    context: typer.Context,
    *,
    method: Annotated[str, "Method to attack."] = "mixture",
    max_rows: Annotated[int, "Rows of the unit of privacy."] = 1,
    draws: Annotated[int | None, "Runs on each of two tables [default: 10000; 60 with --whole]."] = None,
    tables: Annotated[int, "Synthetic tables drawn of each; 0 for none."] = 1_000,
    canaries: Annotated[int, "Units planted in one whole run; 0 for none."] = 0,
    confidence: ConfidenceOpt = 0.999,
    whole: Annotated[bool, "Attack whole runs, from the file to all that they write."] = False,
    related: Annotated[bool, "With --whole: related tables, and persons who keep their rows."] = False,
    only: Annotated[list[str] | None, "With --whole: one canary; repeatable."] = None,
    source: Annotated[
        list[str] | None, "With --whole: postgres://... or spark, which gets a canary too; repeatable."
    ] = None,
    out: OutOpt = None,
    **asked: Any,
) -> Said:
    """Attack a method to bound its privacy loss from below. Reads nobody's rows.

    Attacks its releases, its synthetic tables, and rows planted as canaries.
    """
    if context.invoked_subcommand is not None:
        return None
    from synth.evaluate.audit import methods, whole_canaries
    from synth.evaluate.audit.whole import DRAWS, audit_whole
    from synth.report import audit_page

    _check_out(out)
    asked |= {"max_rows": max_rows, "confidence": confidence}
    if related and (not whole or source or max_rows != 1):
        raise UsageError("--related audits whole runs from files, where the unit is one root; add --whole")
    if (only or source) and not whole:
        raise UsageError(f"--{'only' if only else 'source'} is for audits of whole runs; add --whole")
    if not whole:
        draws = 10_000 if draws is None else draws
        found = methods.audit(method, draws=draws, table_draws=tables, canaries=canaries, **asked)
        return _answer(found, out, audit_page.audit_page(found))
    listed = whole_canaries.chosen(only or [], related=related, max_rows=max_rows, sources=source or [])
    draws = DRAWS if draws is None else draws

    def progress(fraction: float) -> None:
        print(f"{100 * fraction:.0f} %", file=sys.stderr, flush=True)  # of what takes minutes

    whole_audit = audit_whole(method, draws=draws, progress=progress, canaries=listed, planted=canaries, **asked)
    return _answer(whole_audit, out, audit_page.whole_page(whole_audit))


def _check_out(out: Path | None) -> None:
    if out is not None:
        if out.suffix != ".html":
            raise UsageError(f"--out {out}: name a .html file")
        check_writable(out)


def _answer(audit: Any, out: Path | None, page: str) -> Said:
    """The page, its data beside it, and the answer."""
    paths = {}
    if out is not None:
        figures = out.with_suffix(".json")
        write_text(out, page)
        write_text(figures, as_file(audit.plain()))
        paths = {"report": str(out), "report_json": str(figures)}
    return {**audit.plain(), "paths": paths}, [*map(spelled, audit.in_words()), *paths.values()]


def audit_capacity(
    *,
    method: Annotated[str, "laplace, gaussian, or a generator."] = "laplace",
    order: Annotated[float | None, "Renyi's order, above 1 [default: KL]."] = None,
    draws: Annotated[int, "Runs on each of two tables."] = 200_000,
    confidence: ConfidenceOpt = 0.999,
    seed: Annotated[int, "Seed of the attackers' training."] = 0,
    scale: Annotated[float | None, "With --strategy: the noise's own scale, in place of --epsilon."] = None,
    strategy: Annotated[
        Path | None, "Several numbers: a file of the matrix A whose noisy answers A x are let out."
    ] = None,
    out: OutOpt = None,
    options: dict[str, str],
    **spent: float,
) -> Said:
    """Show what attackers of limited capacity can see.

    Linear, polynomial, kernel and neural attackers, on a noise or on a method's releases.
    """
    from synth.capacity import views
    from synth.report import audit_page

    _check_out(out)
    if order is not None and not order > 1:
        raise UsageError(f"--order {order:g}: must be above 1; leave it out for KL")
    if scale is not None and not strategy:
        raise UsageError(f"--scale {scale:g} goes with --strategy; add it, or give --epsilon")
    if strategy is not None:
        if out is not None:
            raise UsageError("--strategy prints a few lines only: leave out --out, or add --json")
        view = views.strategy_view(strategy, noise=method, order=order, scale=scale, **spent)
        return view.plain(), map(spelled, view.in_words())
    asked: dict[str, Any] = {**spent, "order": order, "draws": draws, "confidence": confidence, "seed": seed}
    found = views.capacity_audit(method, options=options, **asked)
    return _answer(found, out, audit_page.capacity_page(found))


def register(app: typer.Typer) -> None:
    """Makes them commands."""
    command(audit_app, "epsilon delta relation options", name="", epsilon=1.0, delta=1e-5)(audit)
    command(audit_app, "epsilon delta options", name="capacity", epsilon=1.0, delta=1e-5)(audit_capacity)
    app.add_typer(audit_app, name="audit")
