"""What a forecast says. A module of its own, so that whoever only shows forecasts need not load what makes them."""

from dataclasses import asdict, dataclass, field
from typing import Any

from synth.pipeline.retention import retention
from synth.privacy.accounting.events import BudgetPart

SHOWN = 6  # names of columns in a line


class Plain:
    """What is said as JSON data field by field."""

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)  # type: ignore[call-overload]


@dataclass(frozen=True, kw_only=True)
class PlannedQuestion:
    """One question of the run: its tables, cells, and the noise (rows, or roots) of its most and least exact table.

    Of related tables ``table`` says about whose rows, and ``error`` the mean total variation from noise alone, 0 to 1,
    at most; ``beside``: of tables of two columns, what is left of it with the priors, were the private tables like one
    of them.
    """

    purpose: str
    tables: int
    cells: int
    sigma_least: float
    sigma_most: float
    table: str | None = None
    error: float | None = None
    beside: float | None = None

    def in_words(self) -> str:
        """One line."""
        noise = f"noise of {self.sigma_least:.3g} to {self.sigma_most:.3g}"
        if self.table is None:
            return f"  {self.purpose}: {self.tables} tables, {self.cells} cells, {noise} rows a cell"
        left = "" if self.beside is None else f", with the prior {self.beside:.3f}"
        about = f"{self.table}, {self.purpose}: {self.tables} tables, {self.cells} cells"
        return f"  {about}, {noise} roots a cell, expected error {self.error:.3f}{left}"


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Shares of rows that would have to change, 0 to 1: of single columns, and of pairs (None of one column)."""

    columns: float
    pairs: float | None

    @property
    def last(self) -> float:
        """Of pairs, where there are any."""
        return self.columns if self.pairs is None else self.pairs


@dataclass(frozen=True, kw_only=True)
class PriorWorth(Plain):
    """The error at one epsilon ``without`` priors and ``beside`` them, and of the prior ``alone``, if it is like the
    private table. ``like``: the prior that stood in for that; ``columns``: on how many columns they agree.

    Privacy: public only.
    """

    epsilon: float
    like: str
    columns: int
    without: Errors
    beside: Errors
    alone: Errors

    def in_words(self) -> str:
        """One line."""
        what = "columns" if self.without.pairs is None else "tables of two columns"
        alone, without, beside = (f"{100 * e.last:.2g} %" for e in (self.alone, self.without, self.beside))
        return (
            f"prior, rehearsed at epsilon {self.epsilon:g} as if the table were like {self.like} "
            f"({self.columns} columns): of {what} {beside} of the rows would have to change instead of {without}; the "
            f"prior alone {alone}. A prior that is not like the table counts for less, down to nothing"
        )


@dataclass(frozen=True, kw_only=True)
class LearningForecast:
    """What learning takes: ``share`` of the budget (mu squared), 0 to 1, alone worth ``epsilon``; of which ``columns``.

    ``category``: so many units must have a value for it to be learnt in half of the runs, None where none is learnt;
    ``bound``: so many must lie in a cell of the public grid for bounds to reach there. ``seen``: rows of one unit that
    are seen in a table.

    Privacy: public only.
    """

    share: float
    epsilon: float
    columns: list[str]
    category: float | None
    bound: float
    seen: int

    def in_words(self) -> str:
        """One line.

        >>> about = LearningForecast(share=0.1, epsilon=0.25, columns=["t.a"], category=201.4, bound=80, seen=1)
        >>> print(about.in_words().split("; a value")[0])
        learnt first: 1 column (t.a), for 10 % of the budget, epsilon 0.25 alone
        """
        named = ", ".join(self.columns[:SHOWN]) + (" ..." if len(self.columns) > SHOWN else "")
        parts = [
            f"learnt first: {len(self.columns)} column{'s' if len(self.columns) > 1 else ''} ({named}), for "
            f"{100 * self.share:.2g} % of the budget, epsilon {self.epsilon:.2g} alone",
            *([] if self.category is None else [f"a value is learnt if about {self.category:.0f} rows have it"]),
            f"bounds reach where about {self.bound:.0f} rows are near each other",
            f"of a unit {'one row counts' if self.seen == 1 else f'{self.seen} rows count'} in a table",
        ]
        return "; ".join(parts)


@dataclass(frozen=True, kw_only=True)
class UseForecast(Plain):
    """One use at one epsilon.

    ``error``: mean share of rows that would have to change in its tables by noise, at most; None where they are too
    many to be counted for certain, and are chosen from, or, ``faint``, where noise leaves nothing of a column.
    ``second``: what a second sample of as many rows would show in as many cells. ``tables``: that it needs; ``cells``:
    of one of them, on average. ``means``: of a use that asks for means, how far noise puts a group's off on average, in
    standard deviations of the number, if groups have equal rows; None for others.

    Privacy: public only.
    """

    use: str
    epsilon: float
    error: float | None
    second: float
    tables: int
    cells: float
    faint: bool = False
    means: float | None = None

    def in_words(self) -> str:
        """One line.

        >>> print(UseForecast(use="age by sex", epsilon=1, error=0.021, second=0.014, tables=1, cells=40).in_words())
        age by sex: by noise up to 2.1 % of the rows would have to change, ...
        """
        many = f"{self.tables:,} table{'s' if self.tables > 1 else ''} of about {self.cells:,.0f} cells"
        if self.faint:
            return f"{self.use}: not counted, since noise leaves nothing of one of its columns; choose a larger epsilon"
        if self.error is None:
            return f"{self.use}: too many tables to count them all; those are counted that the model misses most"
        off = (
            "" if self.means is None else f"means off by {self.means:.2g} standard deviations in groups of equal rows, "
        )
        return (
            f"{self.use}: {off}by noise up to {100 * self.error:.2g} % of the rows would have to change, another "
            f"sample of real rows {100 * self.second:.2g} %; {many}"
        )


@dataclass(frozen=True, kw_only=True)
class Plan(Plain):
    """The forecast. Errors of tables are total variation, 0 to 1, from noise alone, at most.

    ``budget``: what each question takes of the budget, as the card of a run says it.
    ``cells_two_way``: mean number of cells of the two-way tables, which are finer for a larger epsilon. ``prior``: what
    the priors are worth, where some are named. ``uses``: what each use gets at several epsilons; ``least_epsilon``: by
    use the least for the error that was asked for. Of related tables, and of one whose persons keep their rows,
    ``unit`` says of what ``rows`` are counted; errors stand with the questions, ``like`` names the prior from which the
    rehearsed ones are drawn, and time and memory are not forecast.
    """

    method: str
    relation: str
    unit: str | None = None
    epsilon: float
    delta: float
    rows: int
    mu: float
    sensitivity: float
    meaning: str
    steps: list[PlannedQuestion]
    budget: list[BudgetPart]
    error_one_way: float | None = None
    error_two_way: float | None = None
    cells_two_way: float | None = None
    seconds: float | None = None
    peak_mib: float | None = None
    prior: PriorWorth | None = None
    like: str | None = None
    uses: list[UseForecast] = field(default_factory=list)
    least_epsilon: dict[str, float | None] = field(default_factory=dict)
    learning: LearningForecast | None = None

    def in_words(self) -> str:
        """The forecast as a few lines."""
        what, unit = ("rows", "") if self.unit is None else ("roots", f"; the unit is {self.unit}")
        lines = [
            f"{self.method} on {self.rows} {what}, epsilon {self.epsilon:g}, delta {self.delta:g}, "
            f"{self.relation}{unit}",
            f"meaning: {self.meaning}" + (", but for a probability of delta" if self.delta else ""),
            *(s.in_words() for s in self.steps),
        ]
        lines += [self.learning.in_words()] if self.learning is not None else []
        lines += table(self.budget)
        if self.unit is None:
            two = "not measured" if self.error_two_way is None else f"{self.error_two_way:.3f}"
            kept = retention(self.method, epsilon=self.epsilon, rows=self.rows)
            lines += [
                f"expected error of one-way tables {self.error_one_way:.3f}, of two-way tables {two} "
                "(total variation, from noise alone)",
                f"keeps, as measured on public tables: {kept.in_words if kept else 'not measured'}",
            ]
        lines += [self.prior.in_words()] if self.prior is not None else []
        lines += lines_of(self.uses, self.least_epsilon, epsilon=self.epsilon)
        even = f"units are like those of {self.like}" if self.like else "numbers of children are even"
        lines.append(
            f"about {self.seconds:.0f} s and {self.peak_mib:.0f} MiB; nothing was read or spent"
            if self.unit is None
            else f"errors are total variation from noise alone, at most, if {even}; nothing was read or spent"
        )
        return "\n".join(lines)


def lines_of(uses: list[UseForecast], least_epsilon: dict[str, float | None], *, epsilon: float) -> list[str]:
    """What each use gets at several epsilons, that of this run among them, and the least for an error asked for."""
    lines = []
    for one in dict.fromkeys(u.epsilon for u in uses):
        lines.append(f"at epsilon {one:g}" + (" (this run)" if one == epsilon else ""))
        lines += [f"  {u.in_words()}" for u in uses if u.epsilon == one]
    for use, least in least_epsilon.items():
        enough = "none up to 20 is enough" if least is None else f"{least:g}"
        lines.append(f"least epsilon for the error asked for, {use}: {enough}")
    return lines


def table(budget: list[BudgetPart]) -> list[str]:
    """How the budget is divided, a line a question."""
    wide = max((len(p.question) for p in budget), default=8)
    lines = [f"  {'question':{wide}}  share of the budget  noise"]
    for p in budget:
        same = f"{p.noise_least:.3g}" == f"{p.noise_most:.3g}"
        noise = f"{p.noise_least:.3g}" if same else f"{p.noise_least:.3g} to {p.noise_most:.3g}"
        lines.append(f"  {p.question:{wide}}  {100 * p.share:17.1f} %  {noise}")
    return lines
