"""`synth ledger`: show, cap and verify what has been spent."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.guide import helped
from synth.cli.options import DatasetOpt, JsonOpt, LedgerOpt
from synth.errors import InputError, UsageError
from synth.privacy.accounting.guarantee import Guarantee, sums
from synth.privacy.ledger import copies
from synth.privacy.ledger.ledger import Ledger, Policy, Total

ledger_app = typer.Typer(callback=helped, invoke_without_command=True, help="Show, cap and verify what has been spent.")


def _ledger_name(table: str, dataset: str | None, schema: Path | None, book: Ledger) -> str:
    from synth.pipeline.private_rows import dataset_name
    from synth.schema import table as schemas

    if dataset is None and schema is None:
        schema = _beside(table)
    declared = dataset or (schemas.load(schema).dataset if schema is not None else None)
    return dataset_name(table, declared, book=book)


def _there(ledger: str | None) -> None:
    """Who asks to see a ledger by name means one that is there: a new, empty one would tell that nothing was spent."""
    if ledger is not None and not (store := copies.at(ledger)).there():
        what = "has no ledger yet" if store.shares else "no such file"
        raise InputError(f"ledger {store.shown}: {what}; name the ledger that runs are charged to")


def _beside(table: str) -> Path | None:
    """The schema that lies beside a table under its name, as `synth schema init` writes it; None where none does."""
    path = Path(table)
    result = path.with_name(path.name.split(".")[0] + ".schema.json")
    return result if path.is_file() and result.is_file() else None


@ledger_app.command("policy")
def ledger_policy(
    table: Annotated[str, typer.Argument(help="The table, or any name together with --dataset.")] = "",
    max_epsilon: Annotated[float | None, typer.Option("--max-epsilon", help="Cap on the sum of epsilons.")] = None,
    max_delta: Annotated[float, typer.Option("--max-delta", help="Cap on the sum of deltas.")] = 1e-3,
    reserve: Annotated[
        float | None, typer.Option("--reserve", help="Part of the cap that `synth ask` alone may spend.")
    ] = None,
    no_cap: Annotated[bool, typer.Option("--no-cap", help="Record the decision that this dataset has no cap.")] = False,
    new: Annotated[bool, typer.Option("--new", help="The dataset is new: nothing was ever charged to it.")] = False,
    relation: Annotated[str | None, typer.Option("--relation", help="The only relation allowed.")] = None,
    approved_by: Annotated[str | None, typer.Option("--approved-by", help="Who approved the policy.")] = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="Schema that may name the dataset.")] = None,
    dataset: DatasetOpt = None,
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Set or show the budget of a dataset."""
    if not table and not dataset:
        raise UsageError("name the table, or the dataset with --dataset")
    if no_cap and max_epsilon is not None:
        raise UsageError("--no-cap and --max-epsilon exclude each other; choose one")
    if reserve is not None and max_epsilon is None:
        raise UsageError("--reserve is a part of a cap: name it with --max-epsilon")
    if max_epsilon is None and not no_cap:
        _there(ledger)
    book = Ledger(ledger)
    name = _ledger_name(table, dataset, schema, book)
    known = book.known(name)
    if (max_epsilon is not None or no_cap) and not known and not new:
        raise UsageError(
            f"dataset {name!r} is new: nothing was ever charged to it, so the name may be misspelt; add --new if "
            f"it is right, --schema with the run's schema, or --dataset with a name that `synth ledger show` lists"
        )
    if max_epsilon is not None or no_cap:
        book.set_policy(
            name,
            max_epsilon=max_epsilon,
            max_delta=max_delta,
            relation=relation,
            approved_by=approved_by,
            reserve=reserve,
        )
    result = book.policy(name)
    if as_json:
        say({"dataset": name, "policy": asdict(result) if result else None})
    else:
        print(f"{name}{'' if known or new else ', to which nothing was ever charged'}: {_policy_words(result)}")


def _policy_words(policy: Policy | None) -> str:
    if policy is None:
        return "no policy, nothing is capped"
    if policy.max_epsilon is None:
        return f"nothing is capped, as {policy.actor} decided on {policy.time[:10]}"
    reserved = f", of which {policy.reserve:g} for questions" if policy.reserve else ""
    return f"at most epsilon {policy.max_epsilon:g}{reserved} and delta {policy.max_delta:g} over all runs"


@ledger_app.command("show")
def ledger_show(
    table: Annotated[str, typer.Argument(help="Only this table's lines.")] = "",
    schema: Annotated[Path | None, typer.Option("--schema", help="Schema that may name the dataset.")] = None,
    dataset: DatasetOpt = None,
    ledger: LedgerOpt = None,
    last: Annotated[int, typer.Option("--last", help="Lines on a page.")] = 100,
    page: Annotated[int, typer.Option("--page", help="Page to show; 1 has the newest lines, 2 those before them.")] = 1,
    as_json: JsonOpt = False,
) -> None:
    """Show what has been spent, what remains, and the last lines."""
    from synth.privacy.accounting.composite import composite

    _there(ledger)
    book = Ledger(ledger)
    name = _ledger_name(table, dataset, schema, book) if table or dataset else None
    (lines, count), totals = book.page(name, size=last, number=page), book.summary(name)
    exact = {t.dataset: composite(t) for t in totals}
    apart = {t.dataset: _apart(t, book) for t in totals}
    if as_json:
        plain = [
            {**asdict(t), "epsilon_exact": exact[t.dataset], "apart": [g.plain() for g in apart[t.dataset]]}
            for t in totals
        ]
        say(
            {
                "ledger": book.store.shown,
                "datasets": plain,
                "lines": count,
                "page": page,
                "entries": [asdict(e) for e in reversed(lines)],
            }
        )
        return
    for total in totals:
        print(_total_line(total, exact[total.dataset], apart[total.dataset]))
    if count > len(lines):
        print(f"{len(lines)} of {count} lines, page {page} of {-(-count // last)} (--page, --last):")
    for e in reversed(lines):
        print(
            f"{e.number:5d}  {e.time}  {e.kind:11s} {e.dataset}  epsilon {e.epsilon:g}  delta {e.delta:g}  "
            f"{e.relation or ''}  {e.actor or ''}"
        )


def _apart(total: Total, book: Ledger) -> list[Guarantee]:
    """The sum of each kind of guarantee, where the runs of a dataset have several, which do not add up."""
    if total.runs < 2 or total.mu2 is not None:  # these compose
        return []
    each = sums(Guarantee.of_line(vars(e)) for e in book.entries(total.dataset) if e.kind == "spend")
    return each if len(each) > 1 else []


def _total_line(total: Total, exact: float | None, apart: Sequence[Guarantee]) -> str:
    """One dataset's totals in words."""
    spent = f"{total.dataset}: {total.runs} runs, epsilon {total.epsilon:g}, delta {total.delta:g} spent"
    if apart:
        kinds = "; ".join(f"epsilon {g.epsilon:g}, delta {g.delta:g} for one {g.unit} ({g.kind[0]})" for g in apart)
        spent = f"{total.dataset}: {total.runs} runs, whose guarantees have no sum: {kinds}"
    if len(total.spellings) > 1:
        spent += f" under {len(total.spellings)} spellings of one name, added up: {', '.join(total.spellings)}"
    known = f" (composed exactly: epsilon {exact:.4g} at that delta)" if exact is not None else ""
    if total.remaining_epsilon is None:
        return f"{spent}{known}; no policy, nothing is capped"
    return f"{spent}{known}; remaining epsilon {total.remaining_epsilon:g}, delta {total.remaining_delta:g}"


@ledger_app.command("verify")
def ledger_verify(
    ledger: LedgerOpt = None,
    head: Annotated[str | None, typer.Option("--head", help="A head hash that you noted earlier.")] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Once the lines verify, derive totals and indexes from them again.")
    ] = False,
    as_json: JsonOpt = False,
) -> None:
    """Check the hash chain: no line altered, removed or reordered."""
    _there(ledger)
    if rebuild:
        Ledger(ledger).rebuild()
    result = Ledger(ledger).verify(head)
    if as_json:
        say(asdict(result))
    if not result.ok:
        raise InputError(
            f"the ledger does not verify: {result.problem}; restore it from a backup, and find out who changed it"
        )
    if not as_json:
        print(f"{result.lines} lines, the chain holds; head {result.head}")
