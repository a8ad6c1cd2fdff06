"""Related tables at the command line: which schema is meant, what is said after a run, rows of a stored model."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli.answer import say
from synth.errors import UsageError
from synth.schema.regular_files import is_file

if TYPE_CHECKING:
    from synth.evaluate.examination import Limits
    from synth.schema.related import Related
    from synth.schema.table import Schema


def described(path: str | Path, *, complete: bool) -> "Schema | Related":
    """The schema in a file, of one table or of related ones. Errors: InputError."""
    from synth.schema import related
    from synth.schema import table as schemas

    if is_file(path) and related.is_related(schemas.read(path)):
        return related.load(path)
    return schemas.load(path, complete=complete)


def summary_of_tables(plain: Mapping[str, Any], card: Mapping[str, Any]) -> None:
    """What a person wants to know after a run of related tables."""
    for table, rows in plain["num_rows"].items():
        print(f"{rows} synthetic rows of {table}: {plain['paths'].get(f'table {table}', 'not written')}")
    print(
        f"guarantee: epsilon {card['epsilon']:g}, delta {card['delta']:g}, {card['relation']}: {card['meaning']}, but "
        "for a probability of delta; "
        f"the unit is {card['unit_in_words']}"
    )
    print(f"charged: epsilon {plain['epsilon_spent']:g} to {plain['dataset']}")
    print(
        f"{plain['seconds_total']:.1f} s ({plain['seconds']:.1f} s to measure, fit and sample), "
        f"{plain['peak_mib']:.0f} MiB; card: {plain['paths'].get('card', '-')}"
    )


def sample_tables(
    model: Path, *, num_roots: int | None, where: Mapping[str, str], out: Path | None, seed: int | None, raw_text: bool
) -> tuple[dict[str, Any], str]:
    """Draws related rows into a folder; what is to be said of it, as data and as text. Errors: as of ``sample``."""
    from synth.pipeline import related_sample

    if out is not None and out.suffix:
        raise UsageError(f"--out {out}: related tables are written into a folder, a file each; name one")
    rows, share, paths = related_sample.sample_to(
        model, out or Path("sample"), num_roots=num_roots, where=where, seed=seed, raw_text=raw_text
    )
    plain = {"num_rows": rows, "probability": share, "epsilon_spent": 0.0, "paths": paths}
    lines = [f"{many} rows of {table}: {paths[table]}" for table, many in rows.items()]
    lines += [f"{table}, public: {path}" for table, path in paths.items() if table not in rows]
    told = f" (probability of the condition {share:.3g})" if where else ""
    return plain, "\n".join(lines) + told


def plan_tables(
    schema: Path, rows: int, epsilon: float, delta: float, relation: str, seconds: float, *, as_json: bool
) -> None:
    """Says what a run of related tables would ask and how exact it would be. Errors: InputError, UsageError."""
    from synth.pipeline.related_forecast import plan_related
    from synth.schema import related

    found = plan_related(
        related.load(schema), roots=rows, epsilon=epsilon, delta=delta, relation=relation, seconds=seconds
    )
    say(found.plain()) if as_json else print(found.in_words())


def report_tables(
    release: Path,
    out: Path,
    real: Path | None,
    target: str | None,
    single: Mapping[str, object],
    limits: "Limits",
    ledger: Path | None,
    *,
    as_json: bool,
) -> None:
    """Reports on a release of related tables. Errors: UsageError for an option of single tables; InputError."""
    from synth.report import chosen_release, related_publish
    from synth.report.steward import related as steward

    for name, value in single.items():
        if value:
            raise UsageError(f"--{name}: related tables have no such option; leave it out")
    if real is None:
        if target is not None:
            raise UsageError("--publishable reads no real row: leave out --target")
        paths = related_publish.write(release, out)
        say({"kind": "publishable", "epsilon_spent": 0.0, "paths": paths}) if as_json else print(paths["report"])
        return
    chosen_release.look(release, ledger=ledger)
    paths = steward.write(release, out, real=real, target=target, limits=limits)
    if as_json:
        say({"kind": "steward only, not for release", "paths": paths})
    else:
        print("\n".join(f"{p} (for the steward only, not for release)" for n, p in paths.items() if "json" not in n))
