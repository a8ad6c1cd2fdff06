"""`synth ask`: what an analysis of a release says of the private table: its price, and for an epsilon the answer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import charged, check_writable, say, write_text
from synth.cli.options import (
    ApprovedByOpt,
    AssumeOpt,
    DatasetOpt,
    DeltaOpt,
    JsonOpt,
    LanguageOpt,
    LedgerOpt,
    MaxRowsOpt,
    NamedSourceOpt,
    ReasonOpt,
    RelationOpt,
    UnitOpt,
    assumed,
    reasons,
    run_id,
)
from synth.cli.rights import SeparateOpt, audience
from synth.errors import UsageError


def ask(
    release: Annotated[Path, typer.Argument(help="A release's folder.")],
    question: Annotated[Path, typer.Argument(help="A JSON file of questions, as in docs/verified.md.")],
    table: Annotated[
        Path | None,
        typer.Option("--table", help="The private rows, or their table at --source; without it, only the price."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="The table's schema [default: the release's].")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Privacy loss of all answers together; smaller is more private.")
    ] = None,
    delta: DeltaOpt = 1e-5,
    width: Annotated[
        float | None, typer.Option("--width", help="Tell the least epsilon at which the interval is this narrow.")
    ] = None,
    term: Annotated[str | None, typer.Option("--term", help="Of which term [default: the last].")] = None,
    relation: RelationOpt = "add_remove",
    unit: UnitOpt = None,
    max_rows: MaxRowsOpt = None,
    source: NamedSourceOpt = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The .json file to write, beside a page [default: answer.json].")
    ] = None,
    ledger: LedgerOpt = None,
    dataset: DatasetOpt = None,
    assume_public: AssumeOpt = None,
    reason: ReasonOpt = None,
    approved_by: ApprovedByOpt = None,
    separate: SeparateOpt = False,
    language: LanguageOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Ask what a release's analysis says of the private table.

    Without --table, the price: widths of intervals at five epsilons. With it, the answer; charges the ledger.
    """
    from synth.pipeline.verified import Questions
    from synth.report import answer_page
    from synth.report.words import written
    from synth.schema.dataset import load_any
    from synth.verified.language import load as questions_of

    place = _place(table, epsilon, out)
    asked = Questions(release, questions_of(question))
    if table is None:
        _price(asked, out, delta=delta, relation=relation, max_rows=max_rows, width=width, term=term, as_json=as_json)
        return
    result = asked.answer(
        table,
        schema=None if schema is None else load_any(schema),
        epsilon=float(epsilon or 0.0),
        delta=delta,
        relation=relation,
        unit=unit,
        max_rows=max_rows,
        source=source,
        ledger=ledger,
        dataset=dataset,
        assume_public=assumed(assume_public),
        reasons=reasons(reason),
        approved_by=approved_by,
        run=run_id(),
        separate=separate,
        audience=audience(),
    )
    with written(language):
        write_text(place.with_suffix(".html"), str(answer_page.render(result.plain())))
    spent = {"epsilon": float(epsilon or 0.0), "delta": delta}
    charged(place, "answer", result.plain(), _lines(result.answers), spent=spent, as_json=as_json)


def _place(table: Path | None, epsilon: float | None, out: Path | None) -> Path:
    """Where the answer goes. Errors: UsageError where it cannot, before anything is spent."""
    if (table is None) != (epsilon is None):
        raise UsageError("--table and --epsilon belong together: with both it is answered, without them it is priced")
    place = out or Path("answer.json")
    if table is not None:
        check_writable(place)
        check_writable(place.with_suffix(".html"))
    return place


def _lines(answers: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"{name}: {_span(reported)}; synthetic {_short(reported['synthetic'])}{_near(one, name)}"
        for one in answers
        for name, reported in one["terms"].items()
    ]


def _price(
    asked: Any, out: Path | None, *, width: float | None, term: str | None, as_json: bool, **options: Any
) -> None:
    result = asked.price(**options)
    if width is not None:
        result["least_epsilon"] = asked.least_epsilon(width, term=term, **options)
    if out is not None:
        check_writable(out)
        write_text(out, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if as_json:
        say(result)
        return
    for one in result.get("prices", [result]):
        for name, reported in one["terms"].items():
            wide = ", ".join(f"{_short(w)} at {e}" for e, w in reported["widths"].items())
            own = _short(reported["sampling_width"])
            print(f"{name}: synthetic {_short(reported['synthetic'])}; interval {wide}; sampling {own}")
    if width is not None:
        least = result["least_epsilon"]
        print("no epsilon makes it so narrow" if least is None else f"least epsilon: {least:.3g}")
    print("nothing was charged; answer it with --table and --epsilon")


def _span(reported: dict[str, Any]) -> str:
    if reported["estimate"] is None:
        return "not settled by so much noise, or not to be told apart"
    return f"{_short(reported['estimate'])} ({_short(reported['low'])} to {_short(reported['high'])})"


def _near(one: dict[str, Any], name: str) -> str:
    reported = one.get("within", {}).get(name)
    if reported is None or reported["within"] is None:
        return ""
    return f"; yours is {'within' if reported['within'] else 'not within'}, wrong with chance {reported['error']:.2g}"


def _short(value: float | None) -> str:
    return "none" if value is None else f"{value:.5g}"
