"""Related tables on Spark as trees: bounded, joined and counted by its executors, so that only counts come back.

It is the forest of rows/forest.py. A table's rows are numbered among those of their key by what they are, and a secret
number, hashed with key and number, says which are kept, and what a cell stands for that nobody can read: the same for
every question, however often an executor reckons it again. A row below carries the columns of those above, so that one
pass counts across tables; pairs of rows are joined by their parent. Keys are compared as canonical texts, by the
executors alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from synth.questions.linked import FAR, NEAR, View, placed
from synth.schema import histories
from synth.schema.codec import Draws, Encoded
from synth.schema.dataset import Dataset, number_of
from synth.schema.table import Column
from synth.sources.engines.engine import Spark
from synth.sources.engines.spark_session import has_python
from synth.sources.engines.sql import LOST, settled
from synth.sources.engines.warehouse import WarehousePlace, WarehouseRows
from synth.sources.rows.block_counts import CountPlan
from synth.sources.rows.encoded import Tables
from synth.sources.rows.forest import Branch, Forest
from synth.sources.rows.marginals import joint_tables
from synth.sources.table_source import Place

WITHIN = "OVER (PARTITION BY k, b ORDER BY"
MISSING = " WHERE k <> ''"


def stored(
    schema: Dataset, places: Mapping[str, Place], draws: Draws, fetched: Callable[[], Forest]
) -> "StoredTrees | None":
    """The trees of tables that all lie on one Spark; None where they do not, or have cells that only the codec reads.

    ``fetched``: how the rows are had for what cannot be counted there. Types alone decide, never what stands in cells.
    Errors: InputError.
    """
    there = {n: p for n, p in places.items() if isinstance(p, WarehousePlace)}
    source = next((p.source for p in there.values()), None)
    if not isinstance(source, Spark) or len(there) < len(places):
        return None
    alike = all(p.source.address == source.address for p in there.values())
    if not (
        alike
        and all(_readable(schema, name, place) for name, place in there.items())
        and has_python(source.backend._session)
    ):
        return None
    return StoredTrees(schema, there, source, int(draws.uniform_codes(1, high=2**63 - 1)[0]), fetched)


def _readable(schema: Dataset, name: str, place: WarehousePlace) -> bool:
    """Whether Spark's own SQL reads the columns, the keys and the order as the codec does."""
    above, measured = schema.key_above(name), schema.tables[name].measured()
    keys = [place.person(n) for n in schema.key_columns(name)]
    ordered = above is None or above.order is None or above.order in measured
    numbered = ordered or place.expression.schema()[str(above and above.order)].is_integer()
    return place.compiled(schema.tables[name]) is not None and None not in keys and numbered


class StoredTrees(Forest):
    """A forest that stays on Spark. ``secret``: from the secret generator, as fresh as the run.

    **Guarantee**: that of ``link``: which rows of a key are kept, and in which order, follows from the secret number
    and that key's rows alone. Privacy: reads rows, exact.
    """

    def __init__(
        self,
        schema: Dataset,
        places: Mapping[str, WarehousePlace],
        source: Spark,
        secret: int,
        fetched: Callable[[], Forest],
    ) -> None:
        self._schema, self._places, self._secret, self._fetch = schema, dict(places), secret, fetched
        self._parents = {n: (k.parent if (k := schema.key_above(n)) else None) for n in schema.tables}
        self._source, self._dialect = source, source.dialect
        self._asked = {n: schema.as_asked(n).columns for n in schema.downwards}
        named = [(table, column) for table, columns in self._asked.items() for column in columns]
        self._names = {at: f"q{i}" for i, at in enumerate(named)}
        self._held: dict[str, str] = {}

    @cached_property
    def _branches(self) -> dict[str, Branch]:  # type: ignore[override]
        """The rows, fetched: for questions that are no counts."""
        forest = self._fetch()
        return {name: forest[name] for name in forest}

    def __iter__(self) -> Iterator[str]:
        """The tables' names; nothing is read."""
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)

    def described(self, draws: Draws) -> dict[str, Encoded]:
        """For each table the counts of clamped and unreadable cells, which are the steward's alone."""
        counts = {}
        for name, place in self._places.items():
            if not self._compiled(name):  # persons without columns of their own
                continue
            rows = WarehouseRows(place, self._schema.tables[name], draws, self._compiled(name))
            own = rows.described()
            counts[name] = Encoded({}, dict(own.clamped), dict(own.unreadable))
            rows.release()
        return counts

    def _compiled(self, table: str) -> dict[str, str]:
        return self._places[table].compiled(self._schema.tables[table]) or {}

    def release(self) -> None:
        """Lets go of what executors hold; a later question reads the tables again."""
        for name in self._held.values():
            self._source.release(name)
        self._held = {}

    def weighed(self, table: str, view: View, tables: Tables, unit: int) -> list[np.ndarray]:
        """As ``Forest.weighed``, counted by the executors. Errors: InputError, never the engine's words."""

        def ask(names: Sequence[str], plan: CountPlan) -> list[np.ndarray]:
            return self._source.counted(self._entries(table, view, names), replace(plan, unit=unit))

        return joint_tables(tables, ask)

    def _entries(self, table: str, view: View, names: Sequence[str]) -> str:
        """The rows or pairs of a view: columns p0, p1, ... and in how many parts their root is."""
        pairs = view in ("steps", "far", "siblings")
        chosen = []
        for i, (owner, column, other) in enumerate(map(placed, names)):
            chosen.append(f"{'y' if other else 'x'}.{self._names[owner, column]} AS p{i}")
        rows = self._full(table)
        # two rows of one parent: of one root, and at the same place among siblings all the way down
        levels = ("root", *(f"r{i}" for i in range(1, len(self._schema.upwards(table)) - 1)))
        same = " AND ".join(f"x.{n} = y.{n}" for n in levels)
        relation = f"{rows} AS x JOIN {rows} AS y ON {same}" if pairs else f"{rows} AS x"
        condition, parts = _view(view)
        listed = ", ".join([*chosen, f"CAST({parts} AS BIGINT) AS p{len(chosen)}"])
        return f"(SELECT {listed} FROM {relation}{' AND' if pairs else ' WHERE'} {condition}) AS entries"

    def _full(self, table: str) -> str:
        """The name of a table's rows with all columns above them, which the executors hold.

        ``root`` and ``r1``, ``r2``, ... say which row it is; ``c`` is what its children refer to.
        """
        if table not in self._held:
            self._held[table] = self._source.hold(self._joined(table))
        return self._held[table]

    def _joined(self, table: str) -> str:
        level, above = len(self._schema.upwards(table)) - 1, self._schema.key_above(table)
        measured = self._schema.tables[table].measured()
        chosen = [f"t.p{i} AS {self._names[table, n]}" for i, n in enumerate(measured)]
        chosen += [f"t.{d} AS {self._names[table, n]}" for n, d in self._derived(table).items()]
        relation = f"{self._bounded(table)} AS t"
        if above is None:
            chosen += ["t.k AS root", "0 AS place", "1 AS siblings", "CAST(1 AS BIGINT) AS parts"]
        else:
            carried = [n for at, n in self._names.items() if at[0] in self._schema.upwards(above.parent)]
            carried += ["root", *(f"r{i}" for i in range(1, level))]
            chosen += [f"f.{n}" for n in carried]
            chosen += [f"t.place AS r{level}", "t.place", "t.siblings", "f.parts * t.siblings AS parts"]
            relation = f"{self._full(above.parent)} AS f JOIN {relation} ON f.c = t.k"
        for i, key in enumerate(self._schema.keys_below(table)):
            kind = self._dialect.whole(key.most_children + 1)
            number = self._names[table, number_of(key.child)]
            chosen.append(f"CAST(COALESCE(s{i}.many, 0) AS {kind}) AS {number}")
            place = self._places[key.child]  # how many children of each key are kept: their keys alone are read
            who = f"SELECT {_key(place, key.columns)} AS k FROM {place.relation}"
            many = f"SELECT k, LEAST(COUNT(*), {key.most_children}) AS many FROM ({who}) AS keys{MISSING} GROUP BY k"
            relation += f" LEFT JOIN ({many}) AS s{i} ON t.c = s{i}.k"
        return f"SELECT t.c, {', '.join(chosen)} FROM {relation}"

    def _bounded(self, table: str) -> str:
        """A table's kept rows: key ``k``, own key ``c``, positions p0, ..., ``place`` among ``siblings``."""
        above, columns = self._schema.key_above(table), self._schema.tables[table].measured()
        order = None if above is None else above.order
        time = "turn" if order is None else f"{f'p{list(columns).index(order)}' if order in columns else 't'}, turn"
        known = ", ".join(["c", "t", *(f"p{i}" for i in range(len(columns)))])
        whole = "CONCAT(CAST(place AS STRING), '/', b, '/', k)"
        cells = self._place_lost(columns.values(), whole)
        bare = above is None and self._schema.several  # a root without a key is a unit of its own
        most = 1 if above is None else above.most_children
        numbered = f"SELECT *, ROW_NUMBER() {WITHIN} {known}) AS place FROM {self._marked(table, bare)}"
        secret = self._dialect.hash.format(self._salted("turn", whole))
        ranked = f"SELECT *, ROW_NUMBER() {WITHIN} {secret}, place) AS turn FROM ({numbered}) AS numbered_rows"
        bounded = f"SELECT k, b, c, t, turn{cells} FROM ({ranked}) AS ranked_rows WHERE turn <= {most} OR k = ''"
        if above is None:
            return f"({bounded})"
        placed_rows = (
            f"SELECT *, ROW_NUMBER() {WITHIN} {time}) - 1 AS place, COUNT(*) OVER (PARTITION BY k, b) AS siblings "
            f"FROM ({bounded}) AS kept_rows"
        )
        more = "".join(f", {sql} AS {n}" for n, sql in self._of_order(table, time).items())
        return f"(SELECT *{more} FROM ({placed_rows}) AS placed_rows)"

    def _marked(self, table: str, bare: bool) -> str:
        """A table's rows as marks and positions; of those without a key all that are alike are numbered by ``b``."""
        place, above = self._places[table], self._schema.key_above(table)
        below = self._schema.keys_below(table)
        compiled = self._compiled(table)
        own = _key(place, below[0].referred) if below else "''"
        order = above.order if above is not None and above.order not in compiled else None
        time = f"CAST({self._dialect.identifier(order)} AS DOUBLE)" if order else "0"
        chosen = [f"{own} AS c", f"{own if above is None else _key(place, above.columns)} AS k"]
        chosen += [f"COALESCE({time}, CAST('Infinity' AS DOUBLE)) AS t"]
        chosen += [f"COALESCE({sql}, {LOST}) AS p{i}" for i, sql in enumerate(compiled.values())]
        every = ", ".join(f"p{i}" for i in range(len(compiled)))  # a table of its own has a column, at least
        which = f"CASE WHEN k = '' THEN CONCAT_WS(',', {every}) ELSE '' END AS b" if bare else "'' AS b"
        marked = f"SELECT *, {which} FROM (SELECT {', '.join(chosen)} FROM {place.relation}) AS read_rows"
        return f"({marked}{'' if bare else MISSING}) AS marked_rows"

    def _place_lost(self, columns: Iterable[Column], row: str) -> str:
        """Positions without marks; a cell that nobody can read gets one by the secret number, as its row alone says."""
        chosen = []
        for i, column in enumerate(columns):
            sql, drawn = settled(f"p{i}", column), self._dialect.hash.format(self._salted(str(i), row))
            if not column.missing_codes:
                sql = f"CASE WHEN p{i} = {LOST} THEN PMOD({drawn}, {column.size}) ELSE {sql} END"
            chosen.append(f", CAST({sql} AS {self._dialect.whole(column.cells)}) AS p{i}")
        return "".join(chosen)

    def _salted(self, what: str, row: str) -> str:
        return f"CONCAT('{self._secret}/{what}/', {row})"

    def _derived(self, table: str) -> dict[str, str]:
        """What is derived from the order of long histories (histories.py), and under which name it is reckoned."""
        columns = histories.derived(self._schema.tables[table].measured(), self._schema.key_above(table))
        return {n: f"d{i}" for i, n in enumerate(columns)}

    def _of_order(self, table: str, time: str) -> dict[str, str]:
        """The derived columns in SQL, by those names; ``time``: in which order one parent's rows are."""
        key, derived = self._schema.key_above(table), {}
        measured = self._schema.tables[table].measured()
        for column, name in self._derived(table).items():
            order = str(key and key.order)
            fact, here = measured[order], f"p{list(measured).index(order)}"
            if column == histories.gap_of(order):
                before = f"LAG({here}) {WITHIN} {time})"
                step = f"LEAST(GREATEST(CAST({here} AS BIGINT) - {before}, 0), {fact.size - 1}) + 1"
                sql = f"CASE WHEN {here} < {fact.size} AND {before} < {fact.size} THEN {step} ELSE 0 END"
            else:
                low, width = (int(x) for x in (fact.bounds[0], fact.step))
                moment = f"TIMESTAMP_SECONDS({low} + CAST({here} AS BIGINT) * {width})"
                sql = f"CASE WHEN {here} < {fact.size} THEN MONTH({moment}) - 1 ELSE 12 END"
            derived[name] = f"CAST({sql} AS {self._dialect.whole(self._asked[table][column].cells)})"
        return derived


def _key(place: WarehousePlace, columns: Sequence[str]) -> str:
    """The canonical text of a key in SQL, empty where a part is missing; several parts with how long each is."""
    parts = [str(place.person(n)) for n in columns]
    if len(parts) == 1:
        return parts[0]
    missing = " OR ".join(f"{p} = ''" for p in parts)
    each = ", ".join(f"LENGTH({p}), ':', {p}" for p in parts)
    return f"CASE WHEN {missing} THEN '' ELSE CONCAT({each}) END"


def _view(view: View) -> tuple[str, str]:
    """Which rows or pairs a view has, x the first and y the second, and what each weighs (``forest._selected``)."""
    many, apart = "x.siblings", "y.place - x.place"
    of_parent = f"(x.parts DIV {many})"
    near = f"LEAST({many} - 1, {NEAR})"
    return {
        "rows": ("TRUE", "x.parts"),
        "first": ("x.place = 0", of_parent),
        "last": (f"x.place = {many} - 1", of_parent),
        "steps": ("y.place = x.place + 1", f"{of_parent} * ({many} - 1)"),
        "far": (
            f"{many} >= {FAR} AND y.place = x.place + ({many} DIV 2)",
            f"{of_parent} * ({many} - {many} DIV 2)",
        ),
        "siblings": (
            f"{apart} <> 0 AND ABS({apart}) <= {NEAR}",
            f"{of_parent} * {near} * (2 * {many} - {near} - 1)",
        ),
    }[view]
