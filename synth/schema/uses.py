"""What a table is to be used for, as the steward or the researchers say it: tables, regressions, groups, targets.

Uses are public, as a target is: a method divides its budget by them, reports answer in their words. Each is written as
a line of text, or as JSON. Names with spaces, or words of the grammar, stand in backquotes.

    age by sex by district                          a table of two to four columns
    income ~ age + sex*education                    a regression
    compare income, hours across sex, district      what differs between groups
    means of income, hours by sex                   averages of numbers within groups
    predict income, health                          columns that models will predict
    columns age, income                             columns that matter more
    correlations of age, income, hours              how numbers go together

A weight stands behind: `age by sex (weight 2)`. Columns of several tables are named TABLE.COLUMN.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from synth.errors import InputError, meant
from synth.languages import Said
from synth.schema.column import CATEGORICAL

MOST_COLUMNS = 4  # of a table
MOST_USES, MOST_TABLES = 1000, 2000
MOST_WEIGHT = 100.0
MOST_TEXT = 1000  # characters of a line, as of a formula
FEWEST_BINS = 2  # of a column in a table of several
MOST_CELLS = 1 << 17  # of all named tables of three and more columns together, on the coarsest bins
FORMS = (
    "write `age by sex by district`, `income ~ age + sex*education`, `compare income across sex`, "
    "`mean of income by sex`, `predict income`, "
    "`columns age, income` or `correlations of age, income`"
)
WEIGHT = re.compile(r"\s*\(\s*weight\s+([0-9.]+)\s*\)\s*$", re.I)
LISTED = re.compile(r"\s*(?:,|\band\b)\s*")
BY = re.compile(r"\s*(?:,|\band\b|\bby\b)\s*")
QUOTE = re.compile(r"`([^`]*)`")
GRAMMAR = {"by", "x", "across", "between", "compare", "predict", "of", "and", "columns", "column", "correlations", "np"}
WORD = re.compile(r"(?<![\w.`\"'])[^\W\d][\w.]*(?![\w.`\"']|\s*\()")  # of a formula: no function, nothing quoted

Named = tuple[str, ...]
LISTS = ("of", "groups", "columns")  # facts of uses that name columns


class _Use(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    form: ClassVar[str] = "{columns}"  # as a line of text
    weight: float = Field(default=1.0, gt=0, le=MOST_WEIGHT)

    @property
    def names(self) -> Named:
        """The columns that it names; of a formula none, which whoever reads formulas knows."""
        return tuple(name for part in LISTS for name in getattr(self, part, ()))

    @property
    def tables(self) -> tuple[Named, ...]:
        """The tables that it needs."""
        return ()

    @property
    def words(self) -> str:
        """The use as a line of text, without its weight."""
        return self.form.format(**{part: ", ".join(map(quoted, getattr(self, part, ()))) for part in LISTS})


class TableUse(_Use):
    """A table of counts: ``{"kind": "table", "columns": ["age", "sex", "district"]}``."""

    kind: Literal["table"] = "table"
    columns: Named = Field(min_length=2, max_length=MOST_COLUMNS)

    @property
    def tables(self) -> tuple[Named, ...]:
        """Itself."""
        return (self.columns,)

    @property
    def words(self) -> str:
        """The columns with "by" between them."""
        return " by ".join(map(quoted, self.columns))


class RegressionUse(_Use):
    """A regression: ``{"kind": "regression", "formula": "income ~ age + sex*education"}``.

    ``positive``: the category of the outcome that counts as 1; by default the schema's, of two the last.
    """

    kind: Literal["regression"] = "regression"
    formula: str = Field(min_length=3, max_length=MOST_TEXT)
    positive: str | None = None

    @property
    def words(self) -> str:
        """The formula."""
        return self.formula


class ComparisonUse(_Use):
    """What differs between groups of people: ``{"kind": "comparison", "of": ["income"], "groups": ["sex"]}``."""

    form = "compare {of} across {groups}"
    kind: Literal["comparison"] = "comparison"
    of: Named = Field(min_length=1)
    groups: Named = Field(min_length=1, max_length=MOST_COLUMNS - 1)

    @property
    def tables(self) -> tuple[Named, ...]:
        """Each column with those of the groups."""
        return tuple((*self.groups, n) for n in self.of)


class MeansUse(ComparisonUse):
    """Averages of numbers within groups: ``{"kind": "means", "of": ["income"], "groups": ["sex"]}``."""

    form = "mean of {of} by {groups}"
    kind: Literal["means"] = "means"  # type: ignore[assignment]

    @property
    def words(self) -> str:
        """Both lists."""
        return super().words.replace("mean of", "means of", 1) if len(self.of) > 1 else super().words


class PredictionUse(_Use):
    """Columns that models will predict: ``{"kind": "prediction", "columns": ["income"]}``."""

    form = "predict {columns}"
    kind: Literal["prediction"] = "prediction"
    columns: Named = Field(min_length=1)


class ColumnsUse(_Use):
    """Columns that matter more than the others: ``{"kind": "columns", "columns": ["age", "income"]}``."""

    form = "columns {columns}"
    kind: Literal["columns"] = "columns"
    columns: Named = Field(min_length=1)


class CorrelationUse(_Use):
    """How columns go together, pair by pair: ``{"kind": "correlation", "columns": ["age", "income", "hours"]}``."""

    form = "correlations of {columns}"
    kind: Literal["correlation"] = "correlation"
    columns: Named = Field(min_length=2)

    @property
    def tables(self) -> tuple[Named, ...]:
        """All pairs."""
        return tuple(combinations(self.columns, 2))


Use = Annotated[
    TableUse | RegressionUse | ComparisonUse | MeansUse | PredictionUse | ColumnsUse | CorrelationUse,
    Field(discriminator="kind"),
]


def quoted(name: str) -> str:
    """A column's name as it stands in a line: in backquotes where it has more than letters, digits and points.

    >>> quoted("age"), quoted("hours per week")
    ('age', '`hours per week`')
    """
    return name if re.fullmatch(r"[\w.-]+", name) else f"`{name}`"


def of_text(text: str) -> Use:
    """The use that a line says. Errors: InputError that says how lines are written.

    Privacy: public only.

    >>> of_text("age by sex by `home district` (weight 2)").words
    'age by sex by `home district`'
    >>> of_text("compare income and hours across sex").tables
    (('sex', 'income'), ('sex', 'hours'))
    >>> of_text("mean of income by sex by district").tables
    (('sex', 'district', 'income'),)
    """
    line, weight = " ".join(text[: 2 * MOST_TEXT].split()), 1.0
    if len(text) <= MOST_TEXT and (match := WEIGHT.search(line)):
        try:
            line, weight = line[: match.start()], float(match[1])
        except ValueError:
            raise InputError("use {}: the weight must be a number; {}", shown(text), FORMS) from None
    if not line or len(text) > MOST_TEXT:
        raise InputError("use {}: must be 1 to {} characters; {}", shown(text), MOST_TEXT, FORMS)
    plain, names = without_quotes(line)
    try:
        return _read(plain, line, names, weight)
    except ValueError:  # pydantic's own, of lists that are too short or too long
        raise InputError(
            "use {}: a table has 2 to {} columns, a comparison 1 to {} of groups, a weight is above 0 and at most "
            "{:g}; {}",
            shown(text),
            MOST_COLUMNS,
            MOST_COLUMNS - 1,
            MOST_WEIGHT,
            FORMS,
        ) from None


def _read(plain: str, line: str, quotes: Sequence[str], weight: float) -> Use:
    def listed(text: str, mark: re.Pattern[str] = LISTED) -> Named:
        return tuple(restored(part.strip(), quotes) for part in mark.split(text) if part.strip())

    if "~" in plain:
        return RegressionUse(formula=line, weight=weight)
    if match := re.fullmatch(r"compare (.+?) (?:across|between|by) (.+)", plain, re.I):
        return ComparisonUse(of=listed(match[1]), groups=listed(match[2]), weight=weight)
    if match := re.fullmatch(r"(?:means?|averages?) (?:of )?(.+?) (?:by|across|between) (.+)", plain, re.I):
        return MeansUse(of=listed(match[1]), groups=listed(match[2], BY), weight=weight)
    for kind, start in (
        (PredictionUse, "predict"),
        (ColumnsUse, "columns?"),
        (CorrelationUse, "correlations?(?: (?:of|between))?"),
    ):
        if match := re.fullmatch(rf"{start}:? (.+)", plain, re.I):
            return kind(columns=listed(match[1]), weight=weight)
    parts = re.split(r" by | x | × ", plain, flags=re.I)
    if len(parts) > 1:
        return TableUse(columns=tuple(restored(p.strip(), quotes) for p in parts), weight=weight)
    raise InputError("use {}: is none that is understood; {}", shown(line), FORMS)


def without_quotes(line: str) -> tuple[str, list[str]]:
    """The line with a mark for each quoted name, and these names."""
    names: list[str] = []

    def mark(match: re.Match[str]) -> str:
        names.append(match[1])
        return f"\x00{len(names) - 1}\x00"

    return QUOTE.sub(mark, line), names


def restored(text: str, quotes: Sequence[str]) -> str:
    """The text with these names in place of the marks of ``without_quotes``."""
    return re.sub("\x00(\\d+)\x00", lambda m: quotes[int(m[1])], text)


def shown(text: str) -> str:
    """A line in a message, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def read(plain: Any) -> Any:
    """What stands as ``uses`` in a schema, lines of text as uses. Errors: InputError."""
    if isinstance(plain, list | tuple):
        return [of_text(use) if isinstance(use, str) else use for use in plain]
    return plain


def of_plan(
    text: str, columns: Collection[str], find: Callable[[str], tuple[str, str]] = lambda name: ("", name)
) -> tuple[list[Use], list[str]]:
    """The uses in a research plan ``text``, and its lines that name none: a line is a use, or prose that names columns.

    Prose that names two to four of the ``columns`` asks for their table. Empty lines, bullets and numbers before a line
    are passed over. ``find``: the table and the column that a name means; a column that one table alone has may stand
    without it.

    Privacy: public only.

    >>> plan = "1. income ~ age\\n- How does income differ with age and sex?\\nFunded by X."
    >>> uses, rest = of_plan(plan, ["age", "sex", "income"])
    >>> [u.words for u in uses], rest
    (['income ~ age', 'income by age by sex'], ['Funded by X.'])
    >>> plan = "How do days differ by sex?\\ndays ~ sex"
    >>> [u.words for u in of_plan(plan, ["stays.days", "patients.sex"], find=lambda n: tuple(n.split(".")))[0]]
    ['stays.days by patients.sex', 'stays.days ~ patients.sex']
    """
    many = Counter(find(n)[1].casefold() for n in columns)
    short = {find(n)[1].casefold(): n for n in columns if find(n)[1] != n and many[find(n)[1].casefold()] == 1}
    short = {s: n for s, n in short.items() if s not in GRAMMAR}
    uses: list[Use] = []
    rest: list[str] = []
    for line in (re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", _in_full(one, short)).strip() for one in text.splitlines()):
        if not line:
            continue
        use = _of_line(line, columns)
        if use is None:
            rest.append(line)
        elif use not in uses:
            uses.append(use)
    return uses, rest


def _in_full(line: str, short: dict[str, str]) -> str:
    """A line with its short names as TABLE.COLUMN, but for the weight behind it."""
    if not short:
        return line
    weight = WEIGHT.search(line)
    body, end = (line[: weight.start()], line[weight.start() :]) if weight else (line, "")
    text, names = without_quotes(body)
    full = [short.get(n.casefold(), n) for n in names]
    text = re.sub(_any_of(short), lambda m: quoted(short[m[0].casefold()]), text, flags=re.I)
    return restored(text, [f"`{n}`" for n in full]) + end


def _of_line(line: str, columns: Collection[str]) -> Use | None:
    try:
        use = of_text(line)
    except InputError:
        use = None
    if use is not None and (isinstance(use, RegressionUse) or set(use.names) <= set(columns)):
        return use
    named = _mentioned(line, columns)
    return TableUse(columns=tuple(named)) if 2 <= len(named) <= MOST_COLUMNS else None


def _mentioned(line: str, columns: Collection[str]) -> list[str]:
    """The columns whose names stand in a line as words, in their order there; of names within names the longest."""
    matches = [
        (m.start(), -len(name), name)
        for name in columns
        for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", line, re.I)
    ]
    names, end = [], 0
    for start, length, name in sorted(matches):
        if start >= end and name not in names:
            names.append(name)
            end = start - length
    return names


def problems(schema: Any) -> Iterator[str]:
    """A sentence for each rule that the uses of a ``schema``, of one table or of several, break."""
    uses, known, measured = schema.uses or (), schema.inner_columns, schema.inner_measured
    if len(uses) > MOST_USES:
        yield Said("it names {} uses, at most {} are possible; name the important ones", len(uses), MOST_USES)
    cells = many = 0
    for number, use in enumerate(uses, start=1):
        about = Said("use {} ({})", number, shown(use.words))
        for problem in _own_problems(use, known, measured):
            yield Said("{}: {}", about, problem)
        many += len(use.tables)
        cells += sum(FEWEST_BINS ** len(t) for t in use.tables if len(t) > 2)
    if many > MOST_TABLES or cells > MOST_CELLS:
        yield Said("its uses need {:,} tables, at most {:,} are possible; name fewer columns", many, MOST_TABLES)
    for number, use in enumerate(uses if schema.keys else (), start=1):
        about, tables = Said("use {} ({})", number, shown(use.words)), use.tables
        if isinstance(use, RegressionUse):
            text, names = without_quotes(in_quotes(use.formula, known))
            tables = (tuple(dict.fromkeys(names)),)
            for name in sorted({*names} - known.keys()) or WORD.findall(text):
                yield Said("{}: {!r} is not among the columns; {}", about, name, meant(name, known))
        for table in tables:
            if known.keys() >= {*table} and table and schema.lowest(table) is None:
                yield Said(
                    "{}: {} and its others stand in tables of which none is below all; name columns of one table "
                    "and of those above it",
                    about,
                    quoted(table[0]),
                )


def _own_problems(use: Use, columns: Mapping[str, Any], measured: Collection[str]) -> Iterator[str]:
    for name in dict.fromkeys(use.names):
        if name not in columns:
            yield Said("{!r} is not among the columns; {}", name, meant(name, measured))
        elif name not in measured:
            named = {"identifier": Said("an identifier"), "omitted": Said("left out")}
            what = named.get(columns[name].type, Said("given by a rule"))
            yield Said("{!r} is {}, which is never modelled; choose another column", name, what)
    for name in use.of if isinstance(use, MeansUse) else ():
        if name in measured and columns[name].type in CATEGORICAL:
            yield Said("{} is no number and has no mean; compare it across the groups instead", name)
    names = [list(t) for t in use.tables] or [list(use.names)]
    if any(a == b for t in names for a, b in pairwise(sorted(t))):
        yield Said("it names a column twice; name it once")


def in_quotes(formula: str, known: Iterable[str]) -> str:
    """The formula with all columns that it names as TABLE.COLUMN in backquotes.

    >>> in_quotes("log(b.y) ~ a.x + `a.a name`", ["a.x", "b.y", "a.a name"])
    'log(`b.y`) ~ `a.x` + `a.a name`'
    """
    text, names = without_quotes(formula)
    marked = re.sub(_any_of(known), lambda m: f"`{m[0]}`", text)
    return restored(marked, [f"`{n}`" for n in names])


def _any_of(names: Iterable[str]) -> str:
    """A pattern of these names as words of a text, of names within names the longest."""
    every = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))
    return rf"(?<![\w.\"'])(?:{every})(?![\w.\"'])"


def of_formula(schema: Any, use: RegressionUse) -> tuple[Any, RegressionUse]:
    """A regression as one on a single table: the columns that it names, TABLE.COLUMN, and its formula on them.

    Privacy: public only.
    """
    alone = schema.tables[schema.root]
    if not schema.keys:
        return alone, use
    every = schema.inner_columns
    text = in_quotes(use.formula, every)
    own = {n: every[n].model_copy(update={"within": None}) for n in without_quotes(text)[1] if n in every}
    return type(alone).model_construct(columns=own), use.model_copy(update={"formula": text})


def pairs(tables: Iterable[Named]) -> list[Named]:
    """What is counted of these tables: their pairs, each once; single columns as they are.

    >>> pairs([("a.x", "b.y", "b.z"), ("a.x",)])
    [('a.x', 'b.y'), ('a.x', 'b.z'), ('b.y', 'b.z'), ('a.x',)]
    """
    made: dict[frozenset[str], Named] = {}
    for table in tables:
        split: list[Named] = [*combinations(table, 2)] or [table]
        for one in split:
            made.setdefault(frozenset(one), one)
    return list(made.values())
