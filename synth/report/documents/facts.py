"""The facts that every document is made of, and the two kinds of sentence: a fact, or something for the steward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.languages import Texts, _, numerals, prose
from synth.questions import CountsRelease, LinkedRelease, Release
from synth.questions.linked import Linked, placed
from synth.release.card import papers
from synth.release.card.card import odds
from synth.release.card.limits import MADE_UP, share
from synth.release.card.statements import complete, shares
from synth.report import card_page
from synth.report.html import commas, number, percent
from synth.report.words import between, both
from synth.schema.column import Column
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Schema

TYPES = Texts(
    {
        "integer": "integer",
        "float": "float",
        "datetime": "datetime",
        "categorical": "categorical",
        "ordinal": "ordinal",
        "boolean": "boolean",
    }
)
NAME, TABLE = "synthetic-table", "synthetic.csv"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A question with its answer. ``fact``: the form's name of one that only the steward can answer; ``open``: nobody
    has, and ``answer`` says what is asked.
    """

    question: str
    answer: str
    fact: str = ""
    open: bool = False


@dataclass(frozen=True, kw_only=True)
class Document:
    """A page: its parts are titles with lines."""

    title: str
    intro: str
    parts: tuple[tuple[str, tuple[Line, ...]], ...]

    @property
    def missing(self) -> int:
        """Lines that wait for the steward."""
        return sum(line.open for _, lines in self.parts for line in lines)


@dataclass(frozen=True, kw_only=True)
class OfTable:
    """A synthetic table. ``name``: in records; ``file``: its CSV; ``rows``: what they are, in words; ``keys``: columns
    by which tables below refer to it; ``above``: the table above it, and by its own columns the ones they refer to.
    """

    name: str
    file: str
    rows: str
    schema: Schema
    keys: tuple[str, ...] = ()
    above: tuple[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """What is known of a release. ``files``: by name the size in bytes and the SHA-256 of each part that is described.

    **Guarantee**: derived from the release, public facts and what the steward stated.
    """

    card: Mapping[str, Any]
    schema: Schema | Dataset
    releases: Sequence[Release]
    files: Mapping[str, tuple[int, str]]

    @property
    def tables(self) -> tuple[OfTable, ...]:
        """The synthetic tables, the root's first."""
        if self.schema.several:
            return tuple(self._of_table(t) for t in self.schema.downwards)
        own = self.schema.written[ONE].retained()
        return (OfTable(name=NAME, file=TABLE, rows=_("The synthetic rows."), schema=own),)

    def _of_table(self, table: str) -> OfTable:
        key, below = self.schema.key_above(table), self.schema.keys_below(table)
        alone, below_it = _("{n} synthetic rows."), _("{n} synthetic rows, each of one row of {parent}.")
        rows = (below_it if key else alone).format(n=commas(self._rows(table)), parent=key.parent if key else "")
        above = None if key is None else (key.parent, dict(zip(key.columns, key.referred, strict=True)))
        return OfTable(
            name=table,
            file=f"{table}.csv",
            rows=rows,
            schema=self.schema.tables[table].retained(),
            keys=tuple(below[0].referred) if below else (),
            above=above,
        )

    def _rows(self, table: str) -> int:
        return int(self.card["rows"]["tables"][table])

    @property
    def root(self) -> str:
        """The table that all others belong to; empty of a table alone."""
        return self.schema.root if self.schema.several else ""

    @property
    def about(self) -> dict[str, Any]:
        """The card with every statement."""
        return complete(self.card)

    @property
    def own(self) -> Mapping[str, Any]:
        """What the steward stated of the deployment."""
        return self.card.get("deployment") or {}

    @property
    def name(self) -> str:
        """Of the product."""
        kind = _("Synthetic tables") if self.root else _("Synthetic table")
        return str(self.own.get("name") or f"{kind} {self.card.get('dataset') or ''}".strip())

    @property
    def description(self) -> str:
        """In a sentence or two."""
        source = _(
            "Made from private rows by the method {method} with differential privacy, epsilon {epsilon}, delta {delta}."
        ).format(method=self.card["method"], epsilon=number(self.card["epsilon"]), delta=number(self.card["delta"]))
        message = f"{self.extent}; {prose(MADE_UP)}. {source}"
        return f"{self.own['description']} {message}" if self.own.get("description") else message

    @property
    def extent(self) -> str:
        """Rows and columns."""
        if self.schema.several:
            each = _("{table} of {rows} rows and {columns} columns")
            reported = [
                each.format(table=t, rows=commas(self._rows(t)), columns=len(self.schema.tables[t].columns))
                for t in self.schema.downwards
            ]
            return _("Synthetic tables that belong together, {tables}").format(tables=", ".join(reported))
        alone = _("A synthetic table of {rows} rows and {columns} columns").format(
            rows=commas(self.card["rows"]["synthetic"]), columns=len(self.schema.all_columns)
        )
        return _("{table}, in which persons have several rows").format(table=alone) if self.schema.keys else alone

    @property
    def published(self) -> str:
        """The day, YYYY-MM-DD: as stated, else that of the run."""
        return str(self.own.get("published") or self.card["created"])[:10]

    @property
    def curators(self) -> list[str]:
        """Names of who publishes; empty where nobody said."""
        return papers.curators(self.own)

    @property
    def unit(self) -> str:
        """The unit of privacy in words."""
        return card_page.unit(self.card)

    @property
    def odds(self) -> str:
        """The most that a guess of 50:50 whether a unit was used can rise to, in percent, but for delta."""
        return numerals(share(odds(float(self.card["epsilon"]))))

    @property
    def counted(self) -> list[Any]:
        """The releases that hold tables of counts."""
        return [r for r in self.releases if isinstance(r, CountsRelease | LinkedRelease)]

    @property
    def most_columns(self) -> int:
        """Of a table of counts that was released; 0 where no counts were."""
        return max((len(m.bins) for r in self.counted for m in r.question.marginals), default=0)

    @property
    def measured(self) -> str:
        """What was asked of the private rows, in words."""
        if self.schema.keys:
            result: dict[str, set[frozenset[str]]] = {}
            for r in self.counted:
                for m in r.question.marginals:
                    result.setdefault(_asked(r.question, m.columns), set()).add(frozenset(m.columns))
            return ", ".join(what.replace("{n}", str(len(tables))) for what, tables in result.items())
        sizes: dict[int, set[frozenset[str]]] = {}
        for r in self.counted:
            for m in r.question.marginals:
                sizes.setdefault(len(m.bins), set()).add(frozenset(m.columns))
        several, single = _("{n} tables of {many} columns"), _("counts of {n} single columns")
        words = [
            (several if many > 1 else single).format(n=len(tables), many=many) for many, tables in sorted(sizes.items())
        ]
        others = sorted({m["mechanism"] for m in self.card["mechanisms"]})
        return ", ".join(words) if words else "; ".join(map(prose, others))

    @property
    def spent(self) -> str:
        """How the noise budget was divided."""
        return ", ".join(f"{prose(n)} {percent(s)}" for n, s in shares(self.card).items())

    @property
    def invariants(self) -> str:
        """What was taken as public, hence not protected: keys and their bounds too."""
        bounded = _(
            "which rows belong together by {columns}, and that at most {most} of {child} are kept of one row of "
            "{parent} (declared public by the steward in the schema)"
        )
        keys = [
            bounded.format(columns=", ".join(k.columns), most=k.most_children, child=k.child, parent=k.parent)
            for k in self.schema.keys
        ]
        facts = [
            _("{what} of {columns}").format(what=prose(i["what"]), columns=", ".join(i["of"]))
            + f" ({prose(i['vouched'])})"
            if "of" in i
            else f"{prose(i['what'])} ({prose(i['vouched'])})"
            for i in self.about["invariants"]
        ]
        return "; ".join([*facts, *keys])

    @property
    def in_all(self) -> str:
        """What whoever is in earlier releases that this one rests on has in all; empty where there are none."""
        answer = self.about.get("in_all_releases")
        return f" {prose(answer['statement'])}" if answer else ""

    @property
    def mechanisms(self) -> str:
        """Kinds of noise, with how often."""
        kinds: dict[str, int] = {}
        for m in self.card["mechanisms"]:
            kinds[m["mechanism"]] = kinds.get(m["mechanism"], 0) + int(m.get("count", 1))
        return "; ".join(_("{name}, {n} times").format(name=prose(name), n=count) for name, count in kinds.items())

    def stated(self, question: str, fact: str, wanted: str) -> Line:
        """A line that the form's fact answers, or that waits for the steward."""
        answers = {"curators": self.curators, "controller": self.own.get("controller") or self.curators}
        answer = papers.approval(self.own) if fact == "approver" else answers.get(fact, self.own.get(fact))
        text = ", ".join(answer) if isinstance(answer, list | tuple) else str(answer or "")
        return Line(question=question, answer=text or wanted, fact=fact, open=not text)


def _asked(question: Linked, columns: Sequence[str]) -> str:
    """What tables of this kind are, with a place for their number."""
    table, tables = question.table, {placed(c)[0] for c in columns}
    n = "{n}"
    if question.view == "first":
        return _("{n} tables of the first rows of {table}").format(n=n, table=table)
    if question.view == "last":
        return _("{n} tables of the last rows of {table}").format(n=n, table=table)
    if question.view == "far":
        return _("{n} tables of one row and that half a history later of {table}").format(n=n, table=table)
    if question.view == "steps":
        return _("{n} tables of one row and the next of {table}").format(n=n, table=table)
    if question.view == "siblings":
        return _("{n} tables of two rows of {table}").format(n=n, table=table)
    if len(columns) == 1:
        return _("counts of {n} single columns of {table}").format(n=n, table=table)
    return _("{n} tables of {many} columns of {tables}").format(n=n, many=len(columns), tables=both(sorted(tables)))


def kind_of(column: Column) -> str:
    """A column's kind, range and categories in words.

    >>> from synth.schema import table
    >>> kind_of(table.parse({"columns": {"a": {"type": "integer", "min": 0, "max": 9}}}).columns["a"])
    'integer, 0 to 9'
    """
    if column.type == "identifier":
        if column.pattern:
            return _("identifier: a fresh key for each synthetic row, like {pattern}").format(pattern=column.pattern)
        return _("identifier: a fresh key for each synthetic row")
    if column.is_numeric:
        message = f"{TYPES.get(column.type, column.type)}, {between(column.min, column.max)}"
    else:
        names = list(column.categories or ())
        many = _("{kind}, {n} values").format(kind=TYPES.get(column.type, column.type), n=len(names))
        message = many + (f": {', '.join(names)}" if len(names) <= 12 else "")
    return message + ("; " + _("may be missing") if column.missing_codes else "")
