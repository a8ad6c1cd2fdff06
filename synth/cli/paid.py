"""`synth statistics`, `ask`, `estimate`: figures in place of a table; the first two are paid for."""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import as_file, check_writable, names, write_text
from synth.cli.options import LanguageOpt, Said, TableArg, charged_by, command
from synth.errors import UsageError

GUARANTEED = "epsilon delta relation unit max_rows ledger dataset assume_public reasons approved_by separate"


def _charged(place: Path, what: str, plain: dict[str, Any], lines: Iterable[str], asked: dict[str, Any]) -> Said:
    """Writes what was paid for: the answer that says so."""
    write_text(place, as_file(plain))
    spent = {"epsilon_spent": asked["epsilon"], "delta": asked["delta"]}
    paid = f"charged: epsilon {asked['epsilon']:g}, delta {asked['delta']:g}; {place}"
    return {**spent, **plain, "paths": {what: str(place)}}, [*lines, paid]


def statistics(
    table: TableArg,
    *,
    out: Annotated[Path, "The .json file to write."] = Path("statistics.json"),
    **asked: Any,
) -> Said:
    """Release noisy statistics of a table; charges the ledger.

    `synth report --publishable --statistics` shows them in the publishable report.
    """
    from synth.pipeline import statistics as paid
    from synth.schema import table as schemas

    check_writable(out)  # before anything is spent
    schema = schemas.load(asked.pop("schema"))
    wanted = [part for text in asked.pop("ask") for part in names(text)]
    answered = paid.statistics(table, schema=schema, ask=wanted, **asked, **charged_by())
    return _charged(out, "statistics", answered.plain(), map(_line, answered.answers), asked)


def _line(one: dict[str, Any]) -> str:
    if "cells" not in one:
        return f"{one['ask']}: {one['value']} ({one['low']} to {one['high']})"
    what = "weights" if one["kind"] == "weight" else "counts"
    return f"{one['ask']}: {len(one['cells'])} {what}, each give or take {one['half']:.1f}"


def ask(
    release: Annotated[Path, "A release's folder."],
    question: Annotated[Path, "A JSON file of questions, as in docs/verified.md."],
    *,
    table: Annotated[Path | None, "The private rows, or their table at --source; without it, only the price."] = None,
    schema: Annotated[Path | None, "The table's schema [default: the release's]."] = None,
    width: Annotated[float | None, "Tell the least epsilon at which the interval is this narrow."] = None,
    term: Annotated[str | None, "Of which term [default: the last]."] = None,
    out: Annotated[Path | None, "The .json file to write, beside a page [default: answer.json]."] = None,
    language: LanguageOpt = None,
    **asked: Any,
) -> Said:
    """Ask what a release's analysis says of the private table.

    Without --table, the price: widths of intervals at five epsilons. With it, the answer; charges the ledger.
    """
    from synth.pipeline.verified import Questions
    from synth.report import answer_page
    from synth.report.words import written
    from synth.schema.dataset import load_any
    from synth.verified.language import load as questions_of

    if (table is None) != (asked["epsilon"] is None):
        raise UsageError("--table and --epsilon belong together: with both it is answered, without them it is priced")
    place = out or Path("answer.json")
    if table is not None:
        check_writable(place)
        check_writable(place.with_suffix(".html"))
    questions = Questions(release, questions_of(question))
    if table is None:
        at = {n: asked[n] for n in ("delta", "relation", "max_rows")}
        prices = questions.price(**at)
        if width is not None:
            prices["least_epsilon"] = questions.least_epsilon(width, term=term, **at)
        if out is not None:
            check_writable(out)
            write_text(out, as_file(prices))
        return prices, _prices(prices)
    known = None if schema is None else load_any(schema)
    answered = questions.answer(table, schema=known, **asked, **charged_by())
    with written(language):
        write_text(place.with_suffix(".html"), str(answer_page.render(answered.plain())))
    return _charged(place, "answer", answered.plain(), _answers(answered.answers), asked)


def _answers(answers: Sequence[dict[str, Any]]) -> Iterator[str]:
    for one in answers:
        for name, term in one["terms"].items():
            span = "not settled by so much noise, or not to be told apart"
            if term["estimate"] is not None:
                span = f"{_short(term['estimate'])} ({_short(term['low'])} to {_short(term['high'])})"
            near, within = "", one.get("within", {}).get(name)
            if within is not None and within["within"] is not None:
                is_within = "within" if within["within"] else "not within"
                near = f"; yours is {is_within}, wrong with chance {within['error']:.2g}"
            yield f"{name}: {span}; synthetic {_short(term['synthetic'])}{near}"


def _prices(prices: dict[str, Any]) -> Iterator[str]:
    for one in prices.get("prices", [prices]):
        for name, price in one["terms"].items():
            wide = ", ".join(f"{_short(w)} at {e}" for e, w in price["widths"].items())
            own = _short(price["sampling_width"])
            yield f"{name}: synthetic {_short(price['synthetic'])}; interval {wide}; sampling {own}"
    if "least_epsilon" in prices:
        least = prices["least_epsilon"]
        yield "no epsilon makes it so narrow" if least is None else f"least epsilon: {least:.3g}"
    yield "nothing was charged; answer it with --table and --epsilon"


def _short(value: float | None) -> str:
    return "none" if value is None else f"{value:.5g}"


def estimate(
    release: Annotated[Path, "A release's folder."],
    *,
    ask: Annotated[list[str], "As in docs/inference.md, for instance mean:COL or linear:COL~COL+COL; repeatable."],
    level: Annotated[float, "Confidence of the intervals, 0 to 1."] = 0.95,
) -> Said:
    """Estimate figures from a release, with intervals; free.

    Means, shares, quantiles, differences of groups and regressions.
    """
    from synth.pipeline.inference.estimates import estimates

    intervals = estimates(release, ask, level=level)
    plain = [{k: v if not isinstance(v, float) or isfinite(v) else None for k, v in one.items()} for one in intervals]
    said = (
        "; ".join([f"{r['ask']}, {r['name']}: {r['estimate']:.5g} ({r['low']:.5g} to {r['high']:.5g})", *r["warnings"]])
        for r in intervals
    )
    return {"epsilon_spent": 0.0, "level": level, "estimates": plain}, said


def register(app: typer.Typer) -> None:
    """Makes them commands."""
    command(app, f"schema_file ask {GUARANTEED}", schema_file=..., ask=..., delta=1e-5)(statistics)
    command(app, f"{GUARANTEED} source", epsilon=None, delta=1e-5)(ask)
    command(app)(estimate)
