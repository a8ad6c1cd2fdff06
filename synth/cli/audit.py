"""`synth audit`: attacks on the real components, and what attackers of limited capacity would see."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import check_writable, say, show, write_text
from synth.cli.options import DeltaOpt, EpsilonOpt, JsonOpt, OptionOpt, RelationOpt, parse_options
from synth.errors import UsageError

audit_app = typer.Typer(
    name="audit", invoke_without_command=True, help="Attack the real components on worst-case neighbouring tables."
)
DrawsOpt = Annotated[int, typer.Option("--draws", help="Runs on each of two tables.")]
ConfidenceOpt = Annotated[float, typer.Option("--confidence", help="Confidence of each part's bounds.")]
MethodOpt = Annotated[str, typer.Option("--method", help="Method to attack.")]
OutOpt = Annotated[
    Path | None, typer.Option("--out", help="The .html file to write; its figures go beside it as JSON.")
]


@audit_app.callback()
def audit(
    context: typer.Context,
    method: MethodOpt = "mixture",
    epsilon: EpsilonOpt = 1.0,
    delta: DeltaOpt = 1e-5,
    relation: RelationOpt = "add_remove",
    max_rows: Annotated[int, typer.Option("--max-rows", help="Rows of the unit of privacy.")] = 1,
    draws: Annotated[
        int | None, typer.Option("--draws", help="Runs on each of two tables [default: 10000; 60 with --whole].")
    ] = None,
    tables: Annotated[int, typer.Option("--tables", help="Synthetic tables drawn of each; 0 for none.")] = 1_000,
    canaries: Annotated[int, typer.Option("--canaries", help="Units planted in one whole run; 0 for none.")] = 0,
    confidence: ConfidenceOpt = 0.999,
    option: OptionOpt = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Attack whole runs, from the file to all that they write.")
    ] = False,
    related: Annotated[
        bool,
        typer.Option("--related", help="With --whole: related tables, and persons who keep their rows."),
    ] = False,
    only: Annotated[list[str] | None, typer.Option("--only", help="With --whole: one canary; repeatable.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help="With --whole: postgres://... or spark, which gets a canary too; repeatable."),
    ] = None,
    out: OutOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Attack a method to bound its privacy loss from below. Reads nobody's rows.

    Attacks its releases, its synthetic tables, and rows planted as canaries.
    """
    if context.invoked_subcommand is not None:
        return
    from synth.evaluate import audit as auditing
    from synth.report import audit_page

    _check_out(out)
    shared: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "relation": relation,
        "max_rows": max_rows,
        "confidence": confidence,
        "options": parse_options(option or []),
    }
    if related and (not whole or source or max_rows != 1):
        raise UsageError("--related audits whole runs from files, where the unit is one root; add --whole")
    if (only or source) and not whole:
        raise UsageError(f"--{'only' if only else 'source'} is for audits of whole runs; add --whole")
    if whole:
        listed: Any = (
            auditing.chosen_trees(only or [])
            if related
            else auditing.chosen(only or [], max_rows=max_rows, sources=source or [])
        )
        reported = auditing.audit_whole(
            method,
            draws=auditing.whole.DRAWS if draws is None else draws,
            progress=_progress,
            canaries=listed,
            planted=canaries,
            **shared,
        )
        _answer(reported, audit_page.whole_page(reported), out, as_json)
        return
    result = auditing.audit(
        method, draws=10_000 if draws is None else draws, table_draws=tables, canaries=canaries, **shared
    )
    _answer(result, audit_page.audit_page(result), out, as_json)


def _answer(result: Any, page: str, out: Path | None, as_json: bool) -> None:
    """The page, its data beside it, and the answer."""
    plain = {**result.plain(), "paths": _write(out, page, result.plain())}
    say(plain) if as_json else show(*result.in_words(), *plain["paths"].values())


def _progress(fraction: float) -> None:
    """Progress of what takes minutes."""
    print(f"{100 * fraction:.0f} %", file=sys.stderr, flush=True)


@audit_app.command("capacity")
def audit_capacity(
    method: Annotated[str, typer.Option("--method", help="laplace, gaussian, or a generator.")] = "laplace",
    epsilon: EpsilonOpt = 1.0,
    delta: DeltaOpt = 1e-5,
    order: Annotated[float | None, typer.Option("--order", help="Renyi's order, above 1 [default: KL].")] = None,
    draws: DrawsOpt = 200_000,
    confidence: ConfidenceOpt = 0.999,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the attackers' training.")] = 0,
    option: OptionOpt = None,
    curves: Annotated[
        bool, typer.Option("--curves", help="Of a noise: exact Renyi curves for polynomials of degree 1 to 3.")
    ] = False,
    scale: Annotated[
        float | None,
        typer.Option("--scale", help="With --curves or --strategy: the noise's own scale, in place of --epsilon."),
    ] = None,
    strategy: Annotated[
        Path | None,
        typer.Option("--strategy", help="Several numbers: a file of the matrix A whose noisy answers A x are let out."),
    ] = None,
    out: OutOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Show what attackers of limited capacity can see.

    Linear, polynomial, kernel and neural attackers, on a noise or on a method's releases.
    """
    from synth.evaluate import audit as auditing
    from synth.report import audit_page

    _check_out(out)
    if order is not None and not order > 1:
        raise UsageError(f"--order {order:g}: must be above 1; leave it out for KL")
    if scale is not None and not (curves or strategy):
        raise UsageError(f"--scale {scale:g} goes with --curves or --strategy; add one, or give --epsilon")
    if strategy is not None:
        if curves or out is not None:
            raise UsageError("--strategy prints a few lines only: leave out --curves and --out, or add --json")
        view = auditing.strategy_view(strategy, noise=method, epsilon=epsilon, delta=delta, order=order, scale=scale)
        say(view.plain()) if as_json else show(*view.in_words())
        return
    if curves:
        lines = auditing.noise_curves(method, epsilon=epsilon, delta=delta, scale=scale)
        _answer(lines, audit_page.curves_page(lines), out, as_json)
        return
    more: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "order": order,
        "draws": draws,
        "confidence": confidence,
        "seed": seed,
    }
    if method in auditing.NOISES:
        result = auditing.noise_audit(method, **more)
    else:
        result = auditing.release_audit(method, options=parse_options(option or []), **more)
    plain = {**result.plain(), "paths": _write(out, audit_page.capacity_page(result), result.plain())}
    say(plain) if as_json else show(*result.in_words(), *plain["paths"].values())


def _check_out(out: Path | None) -> None:
    if out is not None:
        if out.suffix != ".html":
            raise UsageError(f"--out {out}: name a .html file")
        check_writable(out)


def _write(out: Path | None, page: str, plain: dict[str, Any]) -> dict[str, str]:
    if out is None:
        return {}
    import json

    write_text(out, page)
    write_text(out.with_suffix(".json"), json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
    return {"report": str(out), "report_json": str(out.with_suffix(".json"))}
