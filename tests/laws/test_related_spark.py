"""Related tables on Spark: bounded, joined and counted by its executors as by us, and no key comes back."""

import datetime as dt
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import synth
from synth.mechanisms import linked
from synth.pipeline.charge import ChargedRun
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from synth.questions import Bins, Linked, Marginal
from synth.questions.linked import place
from synth.schema.dataset import PERSONS, number_of
from synth.schema.dataset import ROWS as BELOW
from synth.schema.table import parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.stored_trees import StoredTrees, stored
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.related_tables import places, read
from synth.sources.rows.forest import link
from tests.engines import spark
from tests.made import ID, a_key, codes, dated, facts_of, number, several

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.long]
KEY = ID
DAY = dated("2019-12-30", "2021-01-31", nullable=True)


def schema(most=9, order="day"):
    """Three levels, keys of two columns, long histories, columns that are never missing and that are."""
    return synth.app_api.parse_related(
        several(
            a_key("events", "roots", "id part", most, order=order),
            a_key("parts", "events", "event", 4),
            a_key("others", "roots", "id part", 60),
            roots=facts_of(id=KEY, part=KEY, x=codes("a", "3")),
            events=facts_of(id=KEY, part=KEY, event=KEY, n=number(0, 3), day=DAY),
            parts=facts_of(event=KEY, f=number(0, 1, decimals=1, nullable=True)),
            others=facts_of(id=KEY, part=KEY, w=number(0, 2)),
        )
        | {"dataset": "trees"}
    )


def tables(rng, *, roots=60):
    """Keys that stand twice, are missing, lead nowhere, are written in several ways; nobody has too many rows, and no
    two rows of a parent have one day, so that nothing is left to chance."""

    def key(at, odd=" {}.0"):
        forms = {3: odd, 5: "=\\'\0{}\u0663\u00e9 /1/"}  # by the remainder: spelled in several ways, hostile
        return pa.array([None if i < 0 else forms.get(i % 7, "{}").format(i) for i in at])

    own = np.arange(roots)
    own[::11] = -1
    own = np.append(own, own[:15])
    children = np.repeat(np.arange(roots), rng.integers(0, 9, roots))
    whose = rng.permutation(np.concatenate([children, [-1] * 9, [roots + 5] * 7]))
    event = rng.permutation(len(whose)) // 2 * 2  # two events have one number: what lies below belongs to both
    event[::13] = -1
    below = rng.permutation(np.concatenate([np.repeat(event, rng.integers(0, 3, len(event))), [-2, 10**6]]))
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.permutation(396)[: len(whose)]]
    undated = set(np.unique(whose, return_index=True)[1][::3].tolist())
    many = rng.permutation(np.repeat(np.arange(0, roots, 3), np.where(np.arange(0, roots, 3) == 6, 57, 3)))
    return {
        "roots": {"id": key(own), "part": pa.array(own % 2), "x": pa.array(["a" if o % 3 else "3.0" for o in own])},
        "events": {
            "id": key(whose, "{}.00\t"),
            "part": pa.array(whose % 2),
            "event": pa.array(event, pa.int64()),
            "n": pa.array(rng.integers(0, 4, len(whose))),
            "day": pa.array([None if i in undated else d for i, d in enumerate(days)], pa.date32()),
        },
        "parts": {
            "event": key(below),
            "f": pa.array([None if b % 3 == 0 else b % 10 / 10 for b in below.tolist()], pa.float64()),
        },
        "others": {"id": key(many), "part": pa.array(many % 2), "w": pa.array(many % 3)},
    }


def written(folder, rows, rng):
    """Each table as a folder of two files, the rows in another order."""
    for name, columns in rows.items():
        table = pa.table(columns)
        table = table.take(pa.array(rng.permutation(table.num_rows)))
        (folder / name).mkdir(parents=True)
        for i, (a, b) in enumerate(pairwise([0, table.num_rows // 3, table.num_rows])):
            pq.write_table(table.slice(a, b - a), folder / name / f"{i}.parquet")
    return folder


def there(folder, facts, seed=1):
    spark()
    at = {n: WarehousePlace(Engine("spark"), str(folder / n)).under(facts.tables[n]) for n in facts.tables}
    result = stored(facts, at, SeededNoise(seed), lambda: pytest.fail("rows were fetched"))
    assert isinstance(result, StoredTrees)
    return result


def here(rows, facts, seed=1):
    noise, opened = SeededNoise(seed), {}
    frames = {
        t: pd.DataFrame({n: pd.Series(c.to_pylist(), dtype=object) for n, c in cs.items()}) for t, cs in rows.items()
    }
    for name, at in places(frames, facts).items():
        own = facts.tables[name]
        opened[name] = read(at.under(own), own, facts.texts(name), noise, key=b"k" * 16).rows
    return link(facts, opened, noise)


def every(facts):
    """For each table and view a question: each column, and pairs with those above, with numbers and in two rows."""
    result = []
    for name in facts.downwards:
        above = facts.key_above(name)
        columns = {place(t, n): c.cells for t in facts.upwards(name) for n, c in facts.as_asked(t).columns.items()}
        own = {n: c for n, c in columns.items() if n.startswith(f"{name}/")}
        tables = [(Bins.each(n, c),) for n, c in own.items()]
        tables += [(Bins.each(a, own[a]), Bins.each(b, columns[b])) for a in own for b in columns if a != b]
        views = ["rows"] if above is None else ["rows", "siblings"]
        views += ["first", "last", "steps", "far"] if above is not None and above.order else []
        for view in views:
            pairs = view in ("siblings", "steps", "far")
            both = [(Bins.each(n, c), Bins.each("+" + n, c)) for n, c in own.items()] if pairs else []
            marginals = tuple(Marginal(bins=t, sigma=1.0) for t in [*tables[:12], *both])
            result.append(Linked(purpose="law", table=name, view=view, most=9, marginals=marginals))
    return result


@pytest.mark.slow
def test_every_view_counts_what_it_counts_here(tmp_path):
    rng = np.random.default_rng(0)
    rows, facts = tables(rng), schema()
    trees, forest = there(written(tmp_path, rows, rng), facts), here(rows, facts)
    for asked in every(facts):
        for one, other in zip(linked.exact(asked, trees), linked.exact(asked, forest), strict=True):
            assert np.array_equal(one, other), (asked.table, asked.view)
            assert one.sum() > 0, (asked.table, asked.view)
    trees.release()
    again = linked.exact(every(facts)[0], trees)
    assert np.array_equal(again[0], linked.exact(every(facts)[0], forest)[0])


def test_of_too_many_rows_as_many_are_kept_in_either_place(tmp_path):
    """As many of each parent as the bound, each as often, the same for every question, others for another secret; a
    cell that nobody can read stands for one position, however often it is asked for, and each as often."""
    rng, facts = np.random.default_rng(1), schema(most=2)
    roots, each = 400, 5
    whose, at = np.repeat(np.arange(roots), each), np.tile(np.arange(each), roots)
    rows = {
        "roots": {"id": np.arange(roots), "part": np.arange(roots), "x": ["a"] * roots},
        "events": {
            "id": whose,
            "part": whose,
            "event": np.arange(len(whose)),
            "n": np.where(at == 4, 99, at),
            "day": [dt.date(2020, 1, 1 + i) for i in at],
        },
        "parts": {"event": np.arange(len(whose)), "f": [0.5] * len(whose)},
        "others": {"id": np.arange(roots), "part": np.arange(roots), "w": pa.array([None] * roots, pa.int64())},
    }
    folder = written(tmp_path, {t: {n: pa.array(c) for n, c in cs.items()} for t, cs in rows.items()}, rng)
    first, second = there(folder, facts), there(folder, facts, seed=2)
    days = place("events", "day")
    unit = linked.UNIT
    table = [(Bins.each(days, facts.tables["events"].columns["day"].cells),)]
    results = [t.weighed("events", "rows", table, unit)[0] / (unit // 2) for t in (first, first, second)]
    for counted in results:
        assert counted.sum() == 2 * roots
        assert np.abs(counted[counted > 0] - 2 * roots / each).max() < 6 * np.sqrt(roots * 0.24)
    assert np.array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])
    events = [(Bins.each(place("roots", number_of("events")), 3),)]
    assert first.weighed("roots", "rows", events, 1)[0].tolist() == [0, 0, roots]
    lost = [(Bins.each(place("others", "w"), 3),)]
    drawn = [t.weighed("others", "rows", lost, 1)[0] for t in (first, first, second)]
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()
    assert drawn[0].sum() == roots
    assert np.abs(drawn[0] - roots / 3).max() < 6 * np.sqrt(roots * 2 / 9)


def test_a_run_on_spark_is_a_run(tmp_path, monkeypatch):
    """Of a folder of tables: marked, logged, charged once under its name; no row is fetched but for the mark."""
    spark()
    rows, facts = tables(np.random.default_rng(2)), schema()
    folder = written(tmp_path / "t", rows, np.random.default_rng(2))
    monkeypatch.setattr(ChargedRun, "_linked", lambda *_: pytest.fail("rows were fetched"))
    result = synth.run(
        folder,
        source="spark",
        schema=facts.model_copy(update={"dataset": None}),
        epsilon=4,
        delta=1e-5,
        method="independent",
        num_rows=20,
        seed=1,
        ledger=tmp_path / "l.sqlite",
        steward_log=tmp_path / "log.json",
    )
    assert set(result.frames) == set(facts.tables)
    assert '"events.day": 0' in (tmp_path / "log.json").read_text()
    with Ledger(tmp_path / "l.sqlite") as book:
        (line,) = [e for e in book.entries(f"spark/{folder.resolve()}") if e.kind == "spend"]
        assert len(book.marked()) == 1
    assert line.epsilon == 4


def test_one_table_of_persons_is_counted_there_as_here(tmp_path):
    rng = np.random.default_rng(3)
    flat = parse(
        facts_of(who=KEY, day=DAY, s=codes("f", "m", of="unit"))
        | {"unit": "who", "max_rows": 9, "order": "day", "linked": True}
    )
    facts = synth.schema.dataset.as_tables(flat)
    who = rng.integers(-1, 20, 90) % 21
    who = np.array([w for w in who if (who == w).sum() <= 9])
    table = pa.table(
        {
            "who": pa.array([None if w == 20 else f"p{w}" for w in who]),
            "s": pa.array(["fm"[w % 2] for w in who]),
            "day": pa.array(rng.integers(18300, 18600, len(who)).astype(np.int32), pa.int32()).cast(pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    spark()
    at = WarehousePlace(Engine("spark"), str(tmp_path / "t.parquet")).under(flat)
    trees = stored(facts, {PERSONS: at, BELOW: at}, SeededNoise(1), lambda: pytest.fail("rows were fetched"))
    frame = places(
        pd.DataFrame({n: pd.Series(table.column(n).to_pylist(), dtype=object) for n in table.column_names}), facts
    )
    rows = read(next(iter(frame.values())).under(flat), flat, facts.texts(), SeededNoise(1), key=b"k" * 16).rows
    forest = link(facts, dict.fromkeys(facts.tables, rows), SeededNoise(1))
    for asked in every(facts):
        for one, other in zip(linked.exact(asked, trees), linked.exact(asked, forest), strict=True):
            assert np.array_equal(one, other), (asked.table, asked.view)


def test_columns_that_only_the_codec_reads_are_fetched(tmp_path):
    """Whole numbers written as text: the tables are read here, as ever."""
    rng, facts = np.random.default_rng(4), schema()
    rows = tables(rng)
    rows["events"]["n"] = rows["events"]["n"].cast(pa.string())
    folder = written(tmp_path, rows, rng)
    spark()
    at = {n: WarehousePlace(Engine("spark"), str(folder / n)).under(facts.tables[n]) for n in facts.tables}
    assert stored(facts, at, SeededNoise(1), lambda: None) is None
