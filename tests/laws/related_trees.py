"""A schema of three tables, rows of it, rows that are hostile, and exact counts of all views: for laws of sources."""

from collections.abc import Mapping

import numpy as np

import synth
from synth.mechanisms import linked
from synth.privacy.noise import SeededNoise
from synth.questions import Bins, Linked, Marginal
from synth.questions.linked import place
from synth.schema.dataset import number_of
from synth.sources.related_tables import places, read
from synth.sources.rows.forest import link
from tests.made import ID, a_key, codes, dated, facts_of, number, several

KEY = ID
SCHEMA = synth.app_api.parse_related(
    several(
        a_key("events", "roots", "id", 3, order="day"),
        a_key("parts", "events", "event", 2),
        roots=facts_of(id=KEY, x=codes("a", "3", "1.10", missing=["?"])),
        events=facts_of(
            id=KEY, event=KEY, n=number(0, 9, nullable=True), day=dated("2020-01-01", "2020-12-31", nullable=True)
        ),
        parts=facts_of(event=KEY, f=number(0, 1, decimals=1, nullable=True)),
    )
    | {"dataset": "trees"}
)
ROWS = {
    "roots": {"id": ["p1", "p2", "3.0", "p4", ""], "x": ["a", "3.0", "1.10", "?", " a"]},
    "events": {
        "id": ["p1", "p1", "p2", "3", "p4"],
        "event": ["10", "11", "20", "e30", ""],
        "n": ["1", "2.0", "", "9", "x"],
        "day": ["2020-02-03", "2020-01-02", "2020-05-06T10:00", "", "2020-12-31"],
    },
    "parts": {"event": ["10", "10.0", "11", "e30", "20"], "f": ["0.5", "1", "", "0.25", "x"]},
}
BIG = "7" * 5_000_000
HOSTILE = {
    "blank": ["", " ", "  "],
    "NUL": ["\0", "a\0", "1\0"],
    "5 MB": [BIG],
    "numbers": ["1e400", "-1e400", "infinity", "nan", "9" * 40, "0x1p3", "1e-400"],
    "decimals": ["1.10", "7.125", "1.", ".5", "+7", "-0", "1E+3", "\u0663"],
    "dates": ["99999-01-01", "0000-00-00", "2020-02-30", "infinity", "1066-10-14"],
    "new texts": [f"new {i / 8}" for i in range(2_001)],
}
SURROGATES = ["\ud800", "a\udfff", "\udc80"]
EDGES = ["'", '"', "a,b", "a\nb", "=1+1", "\ufeff", "\u202e", "TRUE", "None", "NULL"]


def beside(texts: list[str]) -> dict[str, dict[str, list[str]]]:
    """Hostile texts as keys and as cells; in the root's table each key stands twice, and orphans point nowhere."""
    lost = [t[:9] for t in texts]
    return {
        "roots": {"id": [*texts, *texts], "x": [*texts, *texts]},
        "events": {
            "id": [*texts, *(f"nobody {t}" for t in lost)],
            "event": [*texts, *(f"o{t}" for t in lost)],
            "n": [*texts, *texts],
            "day": [*texts, *texts],
        },
        "parts": {"event": [*texts, *(f"none {t}" for t in lost)], "f": [*texts, *texts]},
    }


def both(one: Mapping, other: Mapping) -> dict[str, dict[str, list[str]]]:
    return {t: {n: [*cells, *other[t][n]] for n, cells in columns.items()} for t, columns in one.items()}


NUMBER = place("events", number_of("parts"))


def questions() -> list[Linked]:
    def each(table, column, **more):
        return Bins.each(place(table, column, **more), SCHEMA.tables[table].columns[column].cells)

    of_root, n, day, f = each("roots", "x"), each("events", "n"), each("events", "day"), each("parts", "f")
    many = [Bins.each(place("roots", number_of("events")), 4), Bins.each(NUMBER, 3)]
    asked = {
        ("roots", "rows", 1): [(of_root,), (of_root, many[0])],
        ("events", "rows", 3): [(n,), (day,), (n, of_root), (n, many[1], many[0])],
        ("events", "first", 1): [(n,), (day, n)],
        ("events", "steps", 2): [(n, each("events", "n", other=True))],
        ("events", "siblings", 6): [(n, each("events", "n", other=True))],
        ("parts", "rows", 6): [(f,), (f, of_root), (f, n)],
    }
    return [
        Linked(
            purpose="law",
            table=t,
            view=v,
            most=most,  # type: ignore[arg-type]
            marginals=tuple(Marginal(bins=b, sigma=1.0) for b in bins),
        )
        for (t, v, most), bins in asked.items()
    ]


ASKED = questions()


def counts(tables, source: str | None = None) -> list[np.ndarray]:
    """Every view's exact tables, of tables in a folder, in frames or at a source."""
    noise, opened = SeededNoise(1), {}
    for name, at in places(tables, SCHEMA, source).items():
        own = SCHEMA.tables[name]
        opened[name] = read(at.under(own), own, SCHEMA.texts(name), noise, key=b"k" * 16).rows
    forest = link(SCHEMA, opened, noise)
    return [table for asked in ASKED for table in linked.exact(asked, forest)]
