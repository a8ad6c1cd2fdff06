"""What processes beside the server work out: calls of the library with plain arguments and answers.

Nothing here shows anything, and nothing of the application is loaded for it.
"""

import json
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import Any

import synth
from synth import app_api
from synth.languages import spoken

Plain = dict[str, Any]
KINDNESS = 5  # what a forecast adds to its nice value: it steps back behind pages
Task = Callable[..., Any] | str  # a function of this module, or the name below ``synth`` of one that is loaded there
LISTS = ("categorical", "ordinal", "identifier")  # hints that name columns


def settings() -> dict[str, str]:
    """What the environment says of the home, the ledger and the rights: told with each task, followed for it."""
    return {k: v for k, v in os.environ.items() if k.startswith("SYNTH_")}


def work(to: Connection, told: dict[str, str], kind: bool, task: Task, arguments: tuple[Any, ...], named: Any) -> None:
    """The process's side of ``workers.ask``, here since it has loaded this: what is printed is lost, since it might
    quote a cell. ``told``: the settings to follow."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.nice(KINDNESS * kind)
    for name in settings().keys() - told.keys():
        del os.environ[name]
    os.environ.update(told)
    try:
        deed = attrgetter(task)(synth) if isinstance(task, str) else task
        to.send((True, deed(*arguments, **named)))
    except synth.SynthError as error:
        to.send((False, error))
    except Exception as error:
        to.send((False, type(error).__name__))


def draft(table: str, source: str | None, hints: Plain, books: dict[str, str]) -> tuple[Plain, list[str]]:
    """The draft of a table as JSON data, and what to look at. ``hints``: lists of columns, missing codes, formats by
    column, and facts of its dialect; ``books``: code books by column. Errors: InputError with the reason."""
    made = app_api.drafting.described(
        table,
        source,
        stated=hints.get("dialect"),
        books=_books(books),
        kinds={n: hints[n] for n in LISTS if hints.get(n)},
        formats=hints.get("formats"),
        missing=hints.get("missing", ()),
    )
    return json.loads(made.schema.to_json()), made.notes


def draft_tables(folder: str | None, source: str | None, hints: Plain) -> tuple[Plain, list[str]]:
    """As ``draft``, of the tables in a folder, or of all in a database; columns are TABLE.COLUMN."""
    wanted = app_api.Wanted(
        root=hints.get("root"), public=hints.get("public", ()), keys=app_api.drafting.references(hints.get("key", ()))
    )
    kinds = {n: hints[n] for n in LISTS if hints.get(n)}
    place = Path(folder) if folder else None
    made = app_api.drafting.described_tables(
        place, source, wanted=wanted, kinds=kinds, missing=hints.get("missing", ())
    )
    return json.loads(made.to_json()), list(made.notes)


def imported(metadata: Plain, table: str, source: str | None, books: dict[str, str]) -> tuple[Plain, list[str]]:
    """A description from SDV metadata, what they do not say drafted from the rows. Errors: InputError."""
    made = app_api.drafting.imported(metadata, table, source, books=_books(books))
    facts = made.schema if hasattr(made, "schema") else made
    return json.loads(facts.to_json()), list(made.notes)


def booked(plain: Plain, column: str, book: str) -> tuple[Plain, list[str]]:
    """The description with a column's values and labels from its code book. Errors: InputError."""
    schema = synth.Schema.parse(plain, name="description", complete=False)
    made = app_api.code_books.with_codes(schema, column, app_api.code_books.load_codes(book))
    return json.loads(made.schema.to_json()), list(made.notes)


def _books(files: dict[str, str]) -> Plain:
    return {n: app_api.code_books.load_codes(file) for n, file in files.items()}


def check(plain: Plain, table: str | None, source: str | None) -> None:
    """Whether the tables are in order and have the described columns. Errors: InputError with the reason."""
    app_api.drafting.check_tables(app_api.parse_schema(plain, name="description"), table, source)


def fetched(source: str | None, table: str, out: str, schema: str) -> None:
    """A description's columns, copied from where they lie; of related tables each, into a folder."""
    facts = app_api.load_any(schema)
    for name, one in facts.tables.items():
        place, there = (Path(out) / f"{name}.parquet", name) if facts.several else (out, table)
        app_api.databases.fetch(source, there, str(place), columns=list(one.columns))


def charged_before(table: str | None, text: str, person: str, **asked: Any) -> list[str]:
    """The datasets to which rows like these were charged, as far as this person may know."""
    facts = app_api.parse_schema(json.loads(text))
    return app_api.charged_before(table, schema=facts, audience=app_api.audience_of(person), **asked)


def rough_rows(table: str, text: str, source: str | None) -> int:
    """About how many rows a table has; of several tables, the root."""
    facts = app_api.parse_schema(json.loads(text))
    place: str | Path = table
    if facts.several:
        place = facts.root if source is not None else app_api.tables_in(Path(table))[facts.root]
    return app_api.rough_rows(place, schema=facts.tables[facts.root], source=source)


def forecasts(text: str, epsilons: list[float], *, within: float, **asked: Any) -> list[Any]:
    """``synth.plan`` for each epsilon, in order; those begun ``within`` so many seconds, at least the first."""
    schema, began = app_api.parse_schema(json.loads(text)), time.monotonic()
    result: list[Any] = []
    for epsilon in epsilons:
        if not result or time.monotonic() - began < within:
            result.append(synth.plan(schema, epsilon=epsilon, **asked))
    return result


def vectors(text: str, **asked: Any) -> tuple[int, float, float, list[tuple[str, str, int, float, str]]]:
    """A made-up row as a method adds it up: its length in coordinates, its norm at most, what one unit can move; and of
    what stands together in it the columns, form, coordinates, norm and values. No row of a table is read."""
    schema = app_api.parse_schema(json.loads(text)).tables
    made = app_api.encode(next(iter(schema.values())), rows=1, **asked)
    columns = [(c.name, c.form, c.width, c.norm, value) for c, value in zip(made.columns, made.texts[0], strict=True)]
    return made.vectors.shape[1], made.norm, made.sensitivity, columns


def prior_look(text: str, paths: list[str], **asked: Any) -> Any:
    """What each prior covers and lacks."""
    return app_api.prior_look(paths, schema=synth.Schema.parse(json.loads(text)), **asked)


def prior_worth(text: str, *, prior: list[str], **asked: Any) -> Any:
    """What priors are worth."""
    return app_api.prior_worth(synth.Schema.parse(json.loads(text)), prior, **asked)


def previewed(text: str, out: str, **asked: Any) -> tuple[Any, str]:
    """The whole way on public rows: the comparison with the rows that stood in, and the folder."""
    schema = synth.Schema.parse(json.loads(text))
    paths = app_api.preview(schema, out, **asked).paths
    return app_api.appraise(paths["twin"], paths["synthetic"], schema)[0], out


def compared(table: str, release: str) -> Any:
    """A release beside the real rows, its verdict, and confirmed values that are rare."""
    place = Path(release)
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    schema = synth.Schema.load(place / "schema.json")
    result, said = app_api.appraise(table, place / "synthetic.csv", schema, fit=card.get("fit"))
    return result, said, app_api.standing_rare(release, table)


def compared_across(real: str, release: str) -> Any:
    """A release of several tables beside the real ones."""
    return app_api.appraise_related(real, release, app_api.load_related(Path(release) / "schema.json"))


def compared_alone(real: str, release: str, name: str) -> Any:
    """One of several tables beside the real one."""
    schema = app_api.load_related(Path(release) / "schema.json").tables[name]
    return app_api.appraise(app_api.tables_in(Path(real))[name], Path(release) / f"{name}.csv", schema)


def sampled(
    model: str, out: str | None, *, dialect: str = "plain", source: str | None = None, **asked: Any
) -> tuple[Any, float]:
    """Rows of a model in a file, of several tables in a folder, or in a database: how many, by table of several; and
    the probability of the condition."""
    place = None if source is None else app_api.databases.address(source)
    return app_api.sample_to(model, out, dialect=dialect, source=place, **asked)[:2]


def papers(release: str, answers: Plain, *, language: str) -> list[Plain]:
    """Each paper of a release, its title in this language, with what it asks and what it waits for."""
    with spoken(language):
        documents = app_api.unwritten_papers(release, answers)
    result = []
    for p in documents:
        facts = dict.fromkeys(line.fact for _title, lines in p.parts for line in lines if line.fact)
        facts |= {"approved": None} if "approver" in facts else {}  # the day beside the name
        result.append({"file": p.file, "title": p.title, "asks": list(facts), "waiting": sorted({*p.waiting})})
    return result


def composition(name: str) -> dict[str, float]:
    """A dataset's total epsilon under each way of adding up; the plain sum and the exact figure where noise is not
    told; nothing before a spend."""
    book = synth.Ledger()
    steps = app_api.ledger_composition(book.entries(), name)["steps"]
    if steps:
        return {k: float(v) for k, v in steps[-1].items() if isinstance(v, int | float)}
    total = next(iter(book.summary(name)), None)
    if total is None or not total.runs:
        return {}
    exact = app_api.exact_total(total)
    return {"basic": total.epsilon} | ({} if exact is None else {"exact": exact})


def decidable(releases: list[str], columns: list[str] | None = None) -> tuple[list[str], list[str]]:
    """Columns that noisy counts may decide by, and the questions about those ``columns``, by default three."""
    names = app_api.choice_columns(releases)
    schema = synth.Schema.load(Path(releases[0]) / "schema.json")
    return names, app_api.choice_questions(schema, [n for n in columns or names[:3] if n in names])
