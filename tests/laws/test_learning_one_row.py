"""Learning sees one row at most of each root in each table, whatever hangs below it, however its tables are read.

All small trees beside others; neighbours that differ by one root with a planted text in all its rows, from every reader
that related tables have. False alarms are below 10^-6.
"""

import sqlite3
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import synth
from synth.mechanisms import values
from synth.pipeline import learn_schema
from synth.pipeline.learn_schema import learn
from synth.pipeline.private_rows import wanted
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Relation
from synth.questions import Counts, Values
from synth.schema import dataset as datasets
from synth.schema.dataset import ONE, as_tables
from synth.sources.formats import files
from synth.sources.related_tables import places
from synth.sources.rows.forest import TableRows, one_of_each_root
from synth.sources.table_source import place_of
from tests.laws.secret_numbers import texts
from tests.made import ID, a_key, facts_of, several

KEY, WORD = ID, {"type": "categorical"}
PLAIN = several(
    a_key("c", "r", "id", 2),
    a_key("g", "c", "cid", 2),
    r=facts_of(id=KEY, a=WORD),
    c=facts_of(id=KEY, cid=KEY, b=WORD),
    g=facts_of(cid=KEY, d=WORD, n={"type": "integer"}),
) | {"dataset": "trees"}
SCHEMA = datasets.parse_related(PLAIN, complete=False)
SENTINEL, MANY = "SENTINEL", 5


class Numbers:
    """Secret numbers of rows in their order, the same for the first rows of any table: shared rows stand first."""

    def __init__(self, seed):
        self.seed = seed

    def uniform_codes(self, size, *, high):
        self.seed += 1
        return np.random.default_rng(self.seed).integers(0, high, size)


def rows(roots):
    """``roots``: for each a list of children, of which each is its number of grandchildren."""
    children = [(f"k{i}", f"k{i}.{j}", many) for i, below in enumerate(roots) for j, many in enumerate(below)]
    lower = [key for _, key, many in children for _ in range(many)]
    return {
        "r": TableRows(positions={}, texts={"id": texts([f"k{i}" for i in range(len(roots))])}, num_rows=len(roots)),
        "c": TableRows(
            positions={},
            texts={"id": texts([c[0] for c in children]), "cid": texts([c[1] for c in children])},
            num_rows=len(children),
        ),
        "g": TableRows(positions={}, texts={"cid": texts(lower)}, num_rows=len(lower)),
    }


TREES = [list(below) for many in range(4) for below in product(range(4), repeat=many)]


def test_a_tree_more_or_less_is_one_row_of_each_table_and_no_other_row():
    rng = np.random.default_rng(4)
    reached = dict.fromkeys(SCHEMA.tables, 0)
    for number, tree in enumerate(TREES):
        beside = [TREES[i] for i in rng.integers(len(TREES), size=3)]
        without = one_of_each_root(SCHEMA, rows(beside), Numbers(number))
        whole = one_of_each_root(SCHEMA, rows([*beside, tree]), Numbers(number))
        for table, chosen in whole.items():
            more = set(chosen.tolist()) - set(without[table].tolist())
            assert set(without[table].tolist()) <= set(chosen.tolist())
            assert len(more) == len(chosen) - len(without[table]) <= 1
            reached[table] = max(reached[table], len(more))
    assert set(reached.values()) == {1}, "the bound is reached in each table"


def test_each_row_of_a_root_is_as_likely_as_another():
    """A root of two children with two grandchildren and one: each of the three is drawn in a third of the cases."""
    many = 3000
    chosen = one_of_each_root(SCHEMA, rows([[2, 1]] * many), SystemNoise())["g"]
    assert len(chosen) == many
    assert stats.chisquare(np.bincount(chosen % 3, minlength=3)).pvalue > 1e-6


def test_a_key_that_stands_twice_lends_its_rows_once_to_each_root():
    held = rows([[1], [1]])
    held["c"] = TableRows(positions={}, texts={"id": texts(["k0", "k1"]), "cid": texts(["same", "same"])}, num_rows=2)
    held["g"] = TableRows(positions={}, texts={"cid": texts(["same"])}, num_rows=1)
    assert one_of_each_root(SCHEMA, held, Numbers(0))["g"].tolist() == [0, 0]


def frames(*, planted, roots=8):
    """Roots with children; the last one, where it is there, has the planted text in every row, more than are kept."""
    names = [f"k{i}" for i in range(roots)] + ["last"] * planted
    of = {n: SENTINEL if n == "last" else "usual" for n in names}
    children = [(n, f"{n}.{j}") for n in names for j in range(MANY)]
    lower = [(c, n) for n, c in children for _ in range(MANY)]
    return {
        "r": pd.DataFrame({"id": names, "a": [of[n] for n in names]}),
        "c": pd.DataFrame(
            {"id": [n for n, _ in children], "cid": [c for _, c in children], "b": [of[n] for n, _ in children]}
        ),
        "g": pd.DataFrame({"cid": [c for c, _ in lower], "d": [of[n] for _, n in lower], "n": [7] * len(lower)}),
    }


def at(reader, tables, folder):
    """The tables where a reader finds them: what ``places`` is given, and its source."""
    if reader == "frames":
        return tables, None
    if reader == "sqlite":
        with sqlite3.connect(folder / "t.db") as there:
            for name, table in tables.items():
                table.to_sql(name, there, index=False)
        return None, f"sqlite:///{folder / 't.db'}"
    if reader == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(folder / "t.duckdb")) as there:
            for name, table in tables.items():
                there.register("one", table)
                there.execute(f'create table "{name}" as select * from one')
                there.unregister("one")
        return None, f"duckdb:///{folder / 't.duckdb'}"
    if reader in ("dta", "sav", "xpt"):
        for name, table in tables.items():
            files.write(folder / f"{name}.{reader}", {n: table[n].tolist() for n in table})
        return folder, None
    write = {"parquet": "to_parquet", "xlsx": "to_excel"}.get(reader, "to_csv")
    for name, table in tables.items():
        getattr(table, write)(folder / f"{name}.{reader}", index=False)
    return folder, None


def seen(tables, source=None):
    """What learning sees of tables somewhere."""
    there = wanted(places(tables, SCHEMA, source), SCHEMA)
    return learn_schema.rows_to_learn(SCHEMA, there, adjacency_of(SCHEMA, Relation.ADD_REMOVE), SystemNoise())


@pytest.mark.parametrize(
    "reader", ["frames", "csv", "csv.gz", "xlsx", "parquet", "dta", "sav", "xpt", "sqlite", "duckdb"]
)
def test_a_text_in_all_rows_of_one_root_counts_once_from_every_reader(reader, tmp_path):
    for planted in (False, True):
        (place := tmp_path / str(planted)).mkdir()
        rows_seen = seen(*at(reader, frames(planted=planted), place))
        for column in ("r.a", "c.b", "g.d"):
            counts = np.bincount(rows_seen[column].codes, minlength=len(rows_seen[column].values))
            assert dict(zip(rows_seen[column].values, counts.tolist(), strict=True)) == {
                "usual": 8,
                **({SENTINEL: 1} if planted else {}),
            }
        assert len(rows_seen["g.n"]) == len(rows_seen["g.n (fineness)"]) == 8 + planted


def persons_in_words(*, planted, linked):
    """What learning sees of one table in which persons repeat; the last one has the planted text in every row."""
    plain = facts_of(id=KEY, b={**WORD, "of": "unit" if linked else None}, x=WORD) | {"unit": "id", "max_rows": MANY}
    flat = synth.Schema.parse(plain, complete=False)
    frame = frames(planted=planted)["c"].assign(x="usual")[["id", "b", "x"]]
    frame.loc[len(frame)] = ["", "nobody's", "usual"]
    schema = as_tables(flat) if linked else flat
    adjacency = replace(adjacency_of(schema, Relation.ADD_REMOVE), max_rows=1)
    there = wanted({ONE: place_of(frame)}, schema)
    words = learn_schema.rows_to_learn(schema, there, adjacency, SystemNoise())["b"]
    return dict(zip(words.values, np.bincount(words.codes, minlength=len(words.values)).tolist(), strict=True))


@pytest.mark.parametrize("linked", [True, False])
def test_a_text_in_all_rows_of_one_person_counts_once_and_rows_of_nobody_as_in_the_run(linked):
    for planted in (False, True):
        nobody = 0 if linked else 1  # passed over where persons keep their rows, else a unit of its own
        assert persons_in_words(planted=planted, linked=linked) == {
            "usual": 8,
            "nobody's": nobody,
            **({SENTINEL: 1} if planted else {}),
        }


LONELY, FAILURE = 20_000, 0.01


def lonely(most):
    """Every root has a text of its own in each of its children, ``most`` of which are kept."""
    keys = [{**PLAIN["keys"][0], "most_children": most}]
    schema = datasets.parse_related({"tables": {n: PLAIN["tables"][n] for n in "rc"}, "keys": keys}, complete=False)
    own = np.arange(LONELY)
    children = pd.DataFrame(
        {"id": np.repeat(own, most), "cid": np.arange(LONELY * most), "b": np.repeat([f"t{i}" for i in own], most)}
    )
    return schema, {"r": pd.DataFrame({"id": own, "a": "usual"}), "c": children}


def reported_share(schema, tables, *, evil=1):
    """The share of lonely texts that learning tells, from the question that it asks; the mu**2 that it spends."""
    adjacency, asked, reported = adjacency_of(schema, Relation.ADD_REMOVE), [], []
    rows_seen = dict(
        learn_schema.rows_to_learn(schema, wanted(places(tables, schema), schema), adjacency, SystemNoise())
    )
    words = rows_seen["c.b"]
    rows_seen["c.b"] = learn_schema.Words(words.values, np.repeat(words.codes, evil))

    def ask(question):
        assert isinstance(question, Values | Counts)
        asked.append(values.events(question, adjacency)[0])
        release = values.answer(question, rows_seen, SystemNoise())
        reported.append(len(release.texts))
        return release

    learn(ask, schema, adjacency, mu=0.4, failure_delta=FAILURE)
    spent = sum((e.sensitivity / e.sigma) ** 2 for e in asked)
    return reported[-1] / LONELY, spent


def test_lonely_texts_pass_as_rarely_as_was_paid_for_and_nothing_is_wasted():
    """Two columns share the failure: 100 of 20,000 may pass. Seen three times, 340 would."""
    schema, tables = lonely(3)
    share, spent = reported_share(schema, tables)
    assert stats.binom.sf(round(share * LONELY) - 1, LONELY, FAILURE / 2) > 1e-6
    assert stats.binom.cdf(round(share * LONELY), LONELY, 0.8 * FAILURE / 2) > 1e-6, "too high a threshold"
    assert 0.4**2 * (1 - 1e-6) < spent <= 0.4**2, "neither less noise than paid for, nor more"


def test_the_law_finds_a_reader_that_shows_all_rows_of_a_root():
    schema, tables = lonely(3)
    share, _ = reported_share(schema, tables, evil=3)
    assert stats.binom.sf(round(share * LONELY) - 1, LONELY, FAILURE / 2) < 1e-6
