"""`synth ledger`: show, cap and verify what has been spent; copies of ledgers, and a ledger's way onto a server."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synth.cli.answer import helped
from synth.cli.options import Said, command
from synth.errors import InputError, UsageError

if TYPE_CHECKING:
    from synth.privacy.accounting.guarantee import Guarantee
    from synth.privacy.ledger.ledger import Ledger, Policy, Total

ledger_app = typer.Typer(callback=helped, invoke_without_command=True, help="Show, cap and verify what has been spent.")
NAMES = {"basic": "basic", "advanced": "advanced", "zcdp": "zCDP", "rdp": "RDP", "exact": "exact"}
NamingOpt = Annotated[Path | None, "--schema", "Schema that may name the dataset."]


def _opened(ledger: str | None, *, there: bool = True) -> "Ledger":
    """The ledger; who asks to see one by name means one that is ``there``: a new one would tell of no spend."""
    from synth.privacy.ledger import copies
    from synth.privacy.ledger.ledger import Ledger

    if there and ledger is not None and not (store := copies.at(ledger)).there():
        what = "has no ledger yet" if store.shares else "no such file"
        raise InputError(f"ledger {store.shown}: {what}; name the ledger that runs are charged to")
    return Ledger(ledger)


def _named(table: str, dataset: str | None, schema: Path | None, book: "Ledger") -> str:
    """The dataset that is meant; a schema beside the table under its name may tell, as `schema init` writes it."""
    from synth.pipeline.private_rows import dataset_name
    from synth.schema.table import load

    if dataset is None and schema is None:
        path = Path(table)
        beside = path.with_name(path.name.split(".")[0] + ".schema.json")
        schema = beside if path.is_file() and beside.is_file() else None
    declared = dataset or (load(schema).dataset if schema is not None else None)
    return dataset_name(table, declared, book=book)


@command(ledger_app, "dataset ledger", name="policy")
def ledger_policy(
    table: Annotated[str, "The table, or any name together with --dataset."] = "",
    *,
    max_epsilon: Annotated[float | None, "Cap on the sum of epsilons."] = None,
    max_delta: Annotated[float, "Cap on the sum of deltas."] = 1e-3,
    reserve: Annotated[float | None, "Part of the cap that `synth ask` alone may spend."] = None,
    no_cap: Annotated[bool, "Record the decision that this dataset has no cap."] = False,
    new: Annotated[bool, "The dataset is new: nothing was ever charged to it."] = False,
    relation: Annotated[str | None, "The only relation allowed."] = None,
    approved_by: Annotated[str | None, "Who approved the policy."] = None,
    schema: NamingOpt = None,
    **asked: Any,
) -> Said:
    """Set or show the budget of a dataset."""
    if not table and not asked["dataset"]:
        raise UsageError("name the table, or the dataset with --dataset")
    if no_cap and max_epsilon is not None:
        raise UsageError("--no-cap and --max-epsilon exclude each other; choose one")
    if reserve is not None and max_epsilon is None:
        raise UsageError("--reserve is a part of a cap: name it with --max-epsilon")
    sets = max_epsilon is not None or no_cap
    book = _opened(asked["ledger"], there=not sets)
    name = _named(table, asked["dataset"], schema, book)
    known = book.known(name)
    if sets and not known and not new:
        raise UsageError(
            f"dataset {name!r} is new: nothing was ever charged to it, so the name may be misspelt; add --new if "
            f"it is right, --schema with the run's schema, or --dataset with a name that `synth ledger show` lists"
        )
    if sets:
        caps: dict[str, Any] = {"max_epsilon": max_epsilon, "max_delta": max_delta, "reserve": reserve}
        book.set_policy(name, **caps, relation=relation, approved_by=approved_by)
    policy = book.policy(name)
    words = f"{name}{'' if known or new else ', to which nothing was ever charged'}: {_policy_words(policy)}"
    return {"dataset": name, "policy": asdict(policy) if policy else None}, [words]


def _policy_words(policy: "Policy | None") -> str:
    if policy is None:
        return "no policy, nothing is capped"
    if policy.max_epsilon is None:
        return f"nothing is capped, as {policy.actor} decided on {policy.time[:10]}"
    reserved = f", of which {policy.reserve:g} for questions" if policy.reserve else ""
    return f"at most epsilon {policy.max_epsilon:g}{reserved} and delta {policy.max_delta:g} over all runs"


@command(ledger_app, "dataset ledger", name="show")
def ledger_show(
    table: Annotated[str, "Only this table's lines."] = "",
    *,
    schema: NamingOpt = None,
    last: Annotated[int, "Lines on a page."] = 100,
    page: Annotated[int, "Page to show; 1 has the newest lines, 2 those before them."] = 1,
    **asked: Any,
) -> Said:
    """Show what has been spent, what remains, and the last lines."""
    from synth.privacy.accounting.compare_runs import composite

    book = _opened(asked["ledger"])
    name = _named(table, asked["dataset"], schema, book) if table or asked["dataset"] else None
    (entries, count), totals = book.page(name, size=last, number=page), book.summary(name)
    exact = {t.dataset: composite(t) for t in totals}
    apart = {t.dataset: _apart(t, book) for t in totals}
    plain = {
        "ledger": book.store.shown,
        "datasets": [
            {**asdict(t), "epsilon_exact": exact[t.dataset], "apart": [g.plain() for g in apart[t.dataset]]}
            for t in totals
        ],
        "lines": count,
        "page": page,
        "entries": [asdict(e) for e in reversed(entries)],
    }
    lines = [_total_line(total, exact[total.dataset], apart[total.dataset]) for total in totals]
    if count > len(entries):
        lines.append(f"{len(entries)} of {count} lines, page {page} of {-(-count // last)} (--page, --last):")
    lines += [
        f"{e.number:5d}  {e.time}  {e.kind:11s} {e.dataset}  epsilon {e.epsilon:g}  delta {e.delta:g}  "
        f"{e.relation or ''}  {e.actor or ''}"
        for e in reversed(entries)
    ]
    return plain, lines


def _apart(total: "Total", book: "Ledger") -> "list[Guarantee]":
    """The sum of each kind of guarantee, where the runs of a dataset have several, which do not add up."""
    from synth.privacy.accounting.guarantee import Guarantee, sums

    if total.runs < 2 or total.mu2 is not None:  # these compose
        return []
    each = sums(Guarantee.of_line(vars(e)) for e in book.entries(total.dataset) if e.kind == "spend")
    return each if len(each) > 1 else []


def _total_line(total: "Total", exact: float | None, apart: "Sequence[Guarantee]") -> str:
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


@command(ledger_app, "ledger", name="verify")
def ledger_verify(
    *,
    head: Annotated[str | None, "A head hash that you noted earlier."] = None,
    rebuild: Annotated[bool, "Once the lines verify, derive totals and indexes from them again."] = False,
    ledger: str | None,
) -> Said:
    """Check the hash chain: no line altered, removed or reordered."""
    if rebuild:
        _opened(ledger).rebuild()
    verified = _opened(ledger).verify(head)
    remedy = "restore it from a backup, and find out who changed it"
    fault = None if verified.ok else InputError(f"the ledger does not verify: {verified.problem}; {remedy}")
    return asdict(verified), [f"{verified.lines} lines, the chain holds; head {verified.head}"], fault


@command(ledger_app, "dataset ledger", name="composition")
def ledger_composition(
    table: Annotated[str, "Only this table's spends."] = "",
    *,
    schema: NamingOpt = None,
    delta: Annotated[float, "Delta at which runs are composed that have none."] = 1e-6,
    **asked: Any,
) -> Said:
    """Compare the spends under five ways of accounting.

    Basic, advanced, zCDP, RDP and exact; for information only, the ledger adds up as before.
    """
    from synth.privacy.accounting import compare_runs

    if not 0 < delta < 1:
        raise UsageError(f"delta {delta:g}: must lie between 0 and 1; 1e-6 is usual")
    book = _opened(asked["ledger"], there=False)
    wanted = _named(table, asked["dataset"], schema, book) if table or asked["dataset"] else None
    lines, names = book.entries(), [wanted] if wanted else [t.dataset for t in book.summary() if t.runs]
    composed = [compare_runs.ledger_composition(lines, name, at=delta) for name in names]
    note = "for information: a policy caps the basic sum, which alone holds for runs chosen in sight of earlier results"
    return {"ledger": book.store.shown, "datasets": composed}, [*(x for one in composed for x in _composed(one)), note]


def _composed(one: dict[str, Any]) -> Iterator[str]:
    if one["reason"]:
        yield f"{one['dataset']}: {one['reason']}"
        return
    last = one["steps"][-1]
    yield f"{one['dataset']}: {last['runs']} runs together, at delta {last['delta']:g}"
    yield "runs  " + "".join(f"{NAMES[c]:>10s}" for c in one["calculi"])
    for step in one["steps"]:
        yield f"{step['runs']:4d}  " + "".join(f"{step[c]:10.4f}" for c in one["calculi"])


@command(ledger_app, "ledger", name="backup")
def ledger_backup(
    out: Annotated[Path, "A new file; the key goes beside it, as FILE.key."],
    *,
    ledger: str | None,
) -> Said:
    """Copy the ledger, even while runs are spending.

    Keep the copy elsewhere, encrypted.
    """
    from synth.privacy.ledger import copies

    lines = copies.backup(copies.at(ledger), out)
    plain = {"lines": lines, "ledger": str(out), "key": f"{out}.key"}
    return plain, [f"{lines} lines copied to {out}, the key to {out}.key"]


@command(ledger_app, "ledger", name="restore")
def ledger_restore(
    backup: Annotated[Path, "A copy of the ledger, made earlier."],
    *,
    ledger: str | None,
) -> Said:
    """Put a backup in the ledger's place.

    Spends that the backup lacks are charged again as far as they are known.
    """
    from synth.privacy.ledger import copies

    made = copies.restore(copies.at(ledger), backup)
    lines = [f"{made.lines} lines restored" + (f"; the damaged file is {made.aside}" if made.aside else "")]
    lines += [
        f"{name}: epsilon {epsilon:g}, delta {delta:g} charged for runs that the backup does not hold"
        for name, (epsilon, delta) in made.charged.items()
    ]
    return asdict(made), lines


@command(ledger_app, "ledger", name="import")
def ledger_import(
    old: Annotated[Path, "The ledger's file; it takes no spend afterwards."],
    *,
    ledger: str | None,
) -> Said:
    """Move a ledger's file onto a server.

    Lines, hashes, key and notes stay as they are. The file takes no spend afterwards: no budget is there twice.
    """
    from synth.privacy.ledger import copies

    lines = copies.take_over(copies.at(ledger), old)
    return {"lines": lines}, [f"{lines} lines are on the server; the file takes no spend any more"]


@command(ledger_app, "ledger", name="grant")
def ledger_grant(
    role: Annotated[str, "The server's role for runs and the application."],
    *,
    ledger: str | None,
) -> Said:
    """Let a server's role add lines to its ledger.

    Makes the ledger where there is none. Asked by the role that is to own its tables; the other one can then add and
    read lines, and neither alter nor remove any.
    """
    book = _opened(ledger, there=False)
    book.grant(role)
    plain = {"role": role, "lines": book.page(size=1)[1]}
    return plain, [f"{role} may add lines to the ledger and read them"]


def register(app: typer.Typer) -> None:
    """Makes them commands."""
    app.add_typer(ledger_app, name="ledger")
