"""The facts that every document is made of, and the two kinds of sentence: a fact, or something for the steward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.questions import CountsRelease, Release
from synth.release.card.card import odds
from synth.release.card.limits import MADE_UP, guesses, share
from synth.release.card.statements import complete, shares
from synth.schema.column import Column
from synth.schema.table import Schema


@dataclass(frozen=True, kw_only=True)
class Line:
    """A question with its answer. ``open``: only the steward can answer it, and has not; then it says what is asked."""

    question: str
    answer: str
    open: bool = False


@dataclass(frozen=True, kw_only=True)
class Document:
    """A page: its parts are titles with lines. ``lang``: of its text."""

    title: str
    intro: str
    parts: tuple[tuple[str, tuple[Line, ...]], ...]
    lang: str = "en"

    @property
    def missing(self) -> int:
        """Lines that wait for the steward."""
        return sum(line.open for _, lines in self.parts for line in lines)


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """What is known of a release. ``files``: by name the size in bytes and the SHA-256 of each part that is described.

    **Guarantee**: derived from the release, public facts and what the steward stated.
    """

    card: Mapping[str, Any]
    schema: Schema
    releases: Sequence[Release]
    files: Mapping[str, tuple[int, str]]

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
        return str(self.own.get("name") or f"Synthetic table {self.card.get('dataset') or ''}".strip())

    @property
    def description(self) -> str:
        """In a sentence or two."""
        told = (f"A synthetic table of {self.card['rows']['synthetic']:,} rows and {len(self.schema.columns)} columns; "
                f"{MADE_UP}. Made from a private table by the method {self.card['method']} with "
                f"differential privacy, epsilon {self.card['epsilon']:g}, delta {self.card['delta']:g}.")  # fmt: skip
        return f"{self.own['description']} {told}" if self.own.get("description") else told

    @property
    def published(self) -> str:
        """The day, YYYY-MM-DD: as stated, else that of the run."""
        return str(self.own.get("published") or self.card["created"])[:10]

    @property
    def curators(self) -> list[str]:
        """Names of who publishes; empty where nobody said."""
        told = self.own.get("curators") or []
        return [told] if isinstance(told, str) else [str(n) for n in told]

    @property
    def unit(self) -> str:
        """The unit of privacy in words."""
        if self.card["unit"] == "row":
            return "one row"
        return f"one person ({self.card['unit']}), with at most {self.card['max_rows_of_a_unit']} rows"

    @property
    def odds(self) -> str:
        """The most that a guess of 50:50 whether a unit was used can rise to, in percent, but for delta."""
        return share(odds(float(self.card["epsilon"])))

    @property
    def guesses(self) -> list[tuple[str, str, float]]:
        """What may be guessed with an even chance, the most that it can rise to, and but for which probability."""
        return [(what, share(sure), accident) for what, sure, accident in guesses(self.card)]

    @property
    def most_columns(self) -> int:
        """Of a table of counts that was released; 0 where no counts were."""
        counts = [r for r in self.releases if isinstance(r, CountsRelease)]
        return max((len(m.bins) for r in counts for m in r.question.marginals), default=0)

    @property
    def measured(self) -> str:
        """What was asked of the private rows, in words."""
        sizes: dict[int, set[frozenset[str]]] = {}
        for r in (r for r in self.releases if isinstance(r, CountsRelease)):
            for m in r.question.marginals:
                sizes.setdefault(len(m.bins), set()).add(frozenset(m.columns))
        words = [f"{len(tables)} tables of {many} columns" if many > 1 else f"counts of {len(tables)} single columns"
                 for many, tables in sorted(sizes.items())]  # fmt: skip
        others = sorted({m["mechanism"] for m in self.card["mechanisms"]})
        return ", ".join(words) if words else "; ".join(others)

    @property
    def spent(self) -> str:
        """How the noise budget was divided."""
        return ", ".join(f"{n} {100 * s:.1f} %" for n, s in shares(self.card).items())

    @property
    def invariants(self) -> str:
        """What was taken as public, hence not protected."""
        return "; ".join(f"{i['what']}{' of ' + ', '.join(i['of']) if 'of' in i else ''} ({i['vouched']})"
                         for i in self.about["invariants"])  # fmt: skip

    @property
    def mechanisms(self) -> str:
        """Kinds of noise, with how often."""
        kinds: dict[str, int] = {}
        for m in self.card["mechanisms"]:
            kinds[m["mechanism"]] = kinds.get(m["mechanism"], 0) + int(m.get("count", 1))
        return "; ".join(f"{name}, {count} times" for name, count in kinds.items())

    def stated(self, question: str, fact: str, wanted: str) -> Line:
        """A line that the deployment's fact answers, or that waits for the steward."""
        told = self.own.get(fact)
        text = ", ".join(told) if isinstance(told, list | tuple) else str(told or "")
        return Line(question=question, answer=text or wanted, open=not text)


def kind_of(column: Column) -> str:
    """A column's kind, range and categories in words.

    >>> from synth.schema import table
    >>> kind_of(table.parse({"columns": {"a": {"type": "integer", "min": 0, "max": 9}}}).columns["a"])
    'integer, 0 to 9'
    """
    if column.type == "identifier":
        return "identifier: a fresh key for each synthetic row"
    if column.is_numeric:
        told = f"{column.type}, {column.min} to {column.max}"
    else:
        names = list(column.categories or ())
        told = f"{column.type}, {len(names)} values" + (f": {', '.join(names)}" if len(names) <= 12 else "")
    return told + ("; may be missing" if column.missing_codes else "")
