"""The options that several commands share, each with its help text."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from synth.errors import UsageError
from synth.files.regular_files import is_file
from synth.schema.column import MOST_PREFIX

TableArg = Annotated[Path, typer.Argument(help="CSV (also .gz), Parquet or .xlsx file of private rows.")]
SchemaOpt = Annotated[Path, typer.Option("--schema", help="The table's schema, a JSON file.")]
LearnShareOpt = Annotated[float | None, typer.Option("--learn-share", help="Budget share for absent facts.")]
LedgerOpt = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="Ledger: a file, or postgresql://user@host/database [default: $SYNTH_LEDGER, else the user's own file].",
    ),
]


def known_language(code: str | None) -> str | None:
    """A language, looked up before the command begins. Errors: UsageError for one without a catalogue."""
    if code is not None:
        from synth.report.words import written

        with written(code):
            pass
    return code


LanguageOpt = Annotated[
    str | None,
    typer.Option("--language", callback=known_language, help="Of pages and papers: en or de [default: en]."),
]
JsonOpt = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
EpsilonOpt = Annotated[float, typer.Option("--epsilon", help="Privacy loss of the whole run; smaller is more private.")]
DeltaOpt = Annotated[float, typer.Option("--delta", help="Probability that epsilon does not bound the loss.")]
MethodOpt = Annotated[str, typer.Option("--method", help="Method; `synth methods` lists them.")]
RelationOpt = Annotated[
    str, typer.Option("--relation", help="Which tables are neighbours: add_remove, replace_one or zero_out.")
]
TargetOpt = Annotated[str | None, typer.Option("--target", help="Column to predict; gets more of the budget.")]
UnitOpt = Annotated[str | None, typer.Option("--unit", help="Identifier column that names a person.")]
MaxRowsOpt = Annotated[int | None, typer.Option("--max-rows", help="Most rows kept of one person.")]
LinkedOpt = Annotated[
    bool | None,
    typer.Option(
        "--linked/--unlinked",
        help="Rows of one person stay together in the result, or stand alone [default: as the schema asks].",
        show_default=False,
    ),
]
OptionOpt = Annotated[list[str] | None, typer.Option("--option", help="Option of the method, NAME=VALUE; repeatable.")]
MaxCategoriesOpt = Annotated[int, typer.Option("--max-categories", help="Most categories that a column may have.")]
ApprovedByOpt = Annotated[str | None, typer.Option("--approved-by", help="Who approved the spend.")]
RowsOpt = Annotated[int | None, typer.Option("--num-rows", help="Rows to draw [default: the noisy number of rows].")]
SeedOpt = Annotated[
    int | None, typer.Option("--seed", help="Seed of initialisation and sampling, never of privacy noise.")
]
DatasetOpt = Annotated[
    str | None,
    typer.Option("--dataset", help="Dataset to charge in the ledger [default: the schema's, else the file's name]."),
]


def run_id() -> str | None:
    """The id of the job that this process works for, None outside of a job."""
    from synth.jobs import RUN

    return os.environ.get(RUN) or None


def _address(source: str | None) -> str | None:
    """What ``@name`` stands for."""
    if source is None or not source.startswith("@"):
        return source
    from synth.sources import named_databases  # costs a second

    return named_databases.address(source)


SOURCE_HELP = (
    "Database or cluster: postgres://user@host/db, duckdb:///file.duckdb, sqlite:///file.db, spark or "
    "spark://host:7077, or @NAME of the file that SYNTH_SOURCES names."
)
NamedSourceOpt = Annotated[str | None, typer.Option("--source", help=SOURCE_HELP)]  # as it is written: it is stored
SourceOpt = Annotated[str | None, typer.Option("--source", callback=_address, help=SOURCE_HELP)]
CandidatesOpt = Annotated[
    list[Path] | None,
    typer.Option("--with", help="Folder of another candidate; repeatable. With --choice all, private."),
]
PapersOpt = Annotated[
    Path | None,
    typer.Option("--papers", help="Answers for the papers, a JSON file; `synth card papers` writes an empty one."),
]
PaidOpt = Annotated[Path | None, typer.Option("--paid", help="Counts by which it was chosen, from `synth statistics`.")]
PriorOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--prior",
        help="Public table like the private one (an older file, a neighbour's) or the folder of an earlier release, "
        "used as far as the noisy answers bear it out; repeatable.",
    ),
]
PriorReasonOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--prior-reason",
        help="Why the prior's file is public, and who vouches for it; goes on the card; once for all, or for each.",
    ),
]
ForOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        help="What the table is for: 'age by sex by district', 'income ~ age + sex*education', 'compare income across "
        "sex', 'predict income'; gets more of the budget; repeatable.",
    ),
]
DeviceOpt = Annotated[str, typer.Option("--device", help="Where to compute: auto, cpu or cuda.")]

PatternOpt = Annotated[
    list[str] | None,
    typer.Option("--pattern", help="COL=P[0-9]{6}, the public form in which made-up keys are written; repeatable."),
]
RawTextOpt = Annotated[
    bool,
    typer.Option("--raw-text", help="Write CSV text as it is, even where a spreadsheet would run it as a formula."),
]

DialectOpt = Annotated[
    str,
    typer.Option("--dialect", help="CSV as the schema's dialect and formats say (same), or UTF-8 with commas (plain)."),
]

RootOpt = Annotated[str | None, typer.Option("--root", help="Related tables: the one whose rows are the units.")]
PublicOpt = Annotated[list[str] | None, typer.Option("--public", help="A table that is public anyway; repeatable.")]
KeyOpt = Annotated[
    list[str] | None, typer.Option("--key", help="CHILD.COL=PARENT.COL, or CHILD.A+B=PARENT.C+D; repeatable.")
]
MostOpt = Annotated[
    list[str] | None, typer.Option("--most-children", help="CHILD=N: rows of one parent that are kept; repeatable.")
]

EVERYTHING = "*"
AssumeOpt = Annotated[
    str | None,
    typer.Option(
        "--assume-public",
        metavar="[COLUMN,...]",
        help="Vouch for drafted facts; for lists of values that tell of persons only where they are named.",
    ),
]
ReasonOpt = Annotated[
    list[str] | None,
    typer.Option("--reason", help="COLUMN=TEXT: why this column's list may be public; goes on the card; repeatable."),
]


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """The arguments with a value for ``--assume-public`` where it stands alone; a file's name after it is none.

    >>> spelled_out(["t.csv", "--assume-public", "--out", "s.json"])
    ['t.csv', '--assume-public=*', '--out', 's.json']
    >>> spelled_out(["t.csv", "--assume-public", "zip,icd"])
    ['t.csv', '--assume-public', 'zip,icd']
    """
    out = list(arguments)
    for i, word in enumerate(out):
        after = out[i + 1] if i + 1 < len(out) else "-"
        if word == "--assume-public" and (after.startswith("-") or is_file(after)):
            out[i] = f"{word}={EVERYTHING}"
    return out


def assumed(text: str | None) -> bool | list[str]:
    """What ``--assume-public`` says: not given, given alone, or the columns that it names.

    >>> assumed(None), assumed("*"), assumed("zip, icd")
    (False, True, ['zip', 'icd'])
    """
    if text is None:
        return False
    return True if text == EVERYTHING else [part.strip() for part in text.split(",") if part.strip()]


def one_or_each(texts: Sequence[str] | None) -> str | tuple[str, ...] | None:
    """What ``--prior-reason`` says: once for all priors, or once for each."""
    return texts[0] if texts and len(texts) == 1 else tuple(texts) if texts else None


def reasons(texts: Sequence[str] | None) -> dict[str, str]:
    """COLUMN=TEXT by column. Errors: UsageError for a text that is none, or a column named twice."""
    result: dict[str, str] = {}
    for text in texts or ():
        name, sign, why = text.partition("=")
        if not (sign and name and why.strip()) or name in result:
            raise UsageError(f"--reason {text}: write COLUMN=TEXT, once for each column")
        result[name] = why.strip()
    return result


def lengths(text: str | None) -> dict[str, int]:
    """What ``--group`` says: columns with the number of first characters that are kept. Errors: UsageError.

    >>> lengths("zip=2, icd=1")
    {'zip': 2, 'icd': 1}
    """
    result = {}
    for part in filter(None, (p.strip() for p in (text or "").split(","))):
        name, _, number = part.rpartition("=")
        if not (name and number.isascii() and number.isdigit() and 1 <= int(number) <= MOST_PREFIX):
            raise UsageError(f"--group {part}: write COLUMN=LENGTH, with 1 to {MOST_PREFIX} characters")
        result[name] = int(number)
    return result


def patterns(texts: list[str] | None) -> dict[str, str]:
    """What ``--pattern`` says: columns with the form of their made-up keys. Errors: UsageError.

    >>> patterns(["id=P[0-9]{6}"])
    {'id': 'P[0-9]{6}'}
    """
    from synth.schema.key_pattern import problem

    stated: dict[str, str] = {}
    for text in texts or ():
        name, _, form = text.partition("=")
        if not (name and form) or name in stated or problem(form):
            raise UsageError(
                f"--pattern {text}: {problem(form) if form else 'write COLUMN=PATTERN'}, once for a column"
            )
        stated[name] = form
    return stated


def parse_options(texts: list[str]) -> dict[str, str]:
    """NAME=VALUE texts as options. Errors: UsageError for a text without an equals sign.

    >>> parse_options(["loss=kl", "k=2"])
    {'loss': 'kl', 'k': '2'}
    """
    for text in texts:
        if "=" not in text.lstrip("="):
            raise UsageError(f"--option {text}: write NAME=VALUE, for instance --option steps=400")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}
