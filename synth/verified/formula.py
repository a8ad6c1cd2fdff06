"""Formulas as in R and statsmodels, by formulaic: taken apart into tables by position, so that no text runs on rows.

A formula is a program of a stranger's. Its terms are counted before they are expanded; each factor is calculated here,
in floats; and formulaic, which settles contrasts and names, is given plain columns in the factors' place.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy
from synth.questions import Bins, Block
from synth.schema.table import Column, Schema

formulaic, pd = Lazy("formulaic"), Lazy("pandas")

MOST_TEXT, MOST_TERMS, MOST_COEFFICIENTS = 1000, 20, 60
MOST_EXPANDED = 4096  # terms, each as often as it arises, that brackets and powers may expand to
MOST_PARTS = 1 << 18  # parts of a column's range; a number of more values is read as the middle of its part
LARGEST = 1e300  # of a written number
FUNCTIONS: Mapping[str, Any] = {
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "abs": np.abs,
    "I": lambda x: x,
}
ALLOWED = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant, ast.Load, ast.Compare),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq),
)
QUOTED = re.compile(r"`([^`]+)`|\bQ\(\s*(?:\"([^\"]+)\"|'([^']+)')\s*\)")
FORBIDDEN = re.compile(r"\*\*\s*(\d{2,}|[5-9])|[{}\[\]`\"'|]|^\s*\.\s*$")
FORMS = (
    "write it as in R or statsmodels: columns, C(column), a:b, a*b, I(age ** 2), log(income), - 1; "
    f"functions are {', '.join(FUNCTIONS)} of one column, and `a name` or Q('a name') quotes"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """A formula's right side: ``names`` of the coefficients, and what ``Score`` needs to make them from positions."""

    names: tuple[str, ...]
    factors: tuple[Block, ...]
    terms: tuple[tuple[tuple[int, int], ...], ...]
    present: tuple[Block, ...]


def sides(text: str, *, place: str) -> tuple[str, str]:
    """Outcome and right side of "y ~ a + b". Errors: UsageError."""
    left, tilde, right = text.partition("~")
    if not tilde or "~" in right or not left.strip() or not right.strip() or len(text) > MOST_TEXT:
        raise UsageError("{}: must be OUTCOME ~ TERMS, of at most {} characters; {}", place, MOST_TEXT, FORMS)
    return left.strip(), right.strip()


def column_of(left: str) -> str:
    """The column of an outcome: the only name in it that is no function; the text itself where there is no such name.

    >>> column_of("log(income)"), column_of("Q('a name')"), column_of("y + z")
    ('income', 'a name', 'y + z')
    """
    quoted = _Quoted.of(left)
    names = {n for n in re.findall(r"[^\W\d]\w*", quoted.text) if n not in FUNCTIONS and n != "C"}
    return quoted.column(names.pop()) if len(names) == 1 else quoted.column(quoted.text)


@dataclass(frozen=True)
class _Quoted:
    """A formula whose quoted names, `name` and Q("name"), are replaced by plain ones; and what they stand for."""

    text: str
    names: Mapping[str, tuple[str, str]]
    by_numpy: frozenset[str] = frozenset()  # functions that were written as numpy's

    @classmethod
    def of(cls, text: str) -> "_Quoted":
        names: dict[str, tuple[str, str]] = {}

        def plain(match: re.Match[str]) -> str:
            name = next(g for g in match.groups() if g is not None)
            key = next((k for k, v in names.items() if v[0] == name), f"quoted_{len(names)}_")
            names.setdefault(key, (name, match[0]))
            return key

        return cls(QUOTED.sub(plain, text).replace("np.", ""), names, frozenset(re.findall(r"\bnp\.(\w+)\(", text)))

    def column(self, name: str) -> str:
        """The column that a name stands for."""
        return self.names[name][0] if name in self.names else name

    def written(self, text: str) -> str:
        """A coefficient's name as the formula wrote it."""
        for key, (_, words) in self.names.items():
            text = text.replace(key, words)
        for function in self.by_numpy:
            text = re.sub(rf"\b{function}\(", f"np.{function}(", text)
        return text


def design(right: str, schema: Schema, *, place: str) -> Design:
    """The right side of a formula under a schema, its categories in sorted order, as statsmodels has them.

    Errors: UsageError for text that is no formula, unknown columns, other functions, or too many terms.
    Privacy: public only.
    """
    quoted = _Quoted.of(right)
    if re.search(FORBIDDEN, quoted.text):
        raise UsageError("{}: powers up to 4, and neither braces, brackets, other quotes nor a dot; {}", place, FORMS)
    try:
        expanded = _expanded(formulaic.parser.DefaultFormulaParser().get_ast(quoted.text))
        terms = list(formulaic.Formula(quoted.text)) if expanded <= MOST_EXPANDED else []
        texts = dict.fromkeys(str(f.expr) for t in terms for f in t.factors if str(f.expr) not in ("1", "0"))
    except Exception:  # formulaic's own kinds of errors are many; the text is the researcher's
        raise UsageError("{}: is no formula; {}", place, FORMS) from None
    if expanded > MOST_EXPANDED:
        raise UsageError("{}: brackets and powers expand to more than {:,} terms; leave some out", place, MOST_EXPANDED)
    if not terms or len(terms) > MOST_TERMS + 1:
        raise UsageError("{}: has {} terms, and 1 to {} are possible; leave some out", place, len(terms), MOST_TERMS)
    known = {text: _Factor.of(text, schema, quoted, place=place) for text in texts}
    names_of = {text: f"factor_{i}_" for i, text in enumerate(known)}
    try:
        probe = pd.DataFrame({names_of[text]: f.probe for text, f in known.items()}, index=[0])
        structure = formulaic.model_matrix(_plain(terms, names_of), probe, na_action="ignore").model_spec.structure
    except Exception:  # public values alone: it tells nothing of a row
        raise UsageError("{}: cannot be made into a table of numbers; {}", place, FORMS) from None
    names, made_of = [], []
    blocks = {text: f.block for text, f in known.items()}
    order = {name: (i, known[text]) for i, (text, name) in enumerate(names_of.items())}
    for part in structure:
        for scoped in part.scoped_terms:
            choices = [_columns(*order[f.factor.expr], f.reduced) for f in scoped.factors]
            made_of += [tuple(reversed(pick)) for pick in product(*reversed(choices))]
        for column in part.columns:
            texts_back = re.sub(r"(?:^|(?<=:))factor_(\d+)_(?=\[|:|$)", lambda m: list(known)[int(m[1])], column)
            names.append(quoted.written(texts_back))
    if len(names) != len(made_of) or len(names) > MOST_COEFFICIENTS:
        raise UsageError("{}: has {} coefficients, at most {} are possible", place, len(names), MOST_COEFFICIENTS)
    return Design(
        names=tuple(names),
        factors=tuple(blocks.values()),
        terms=tuple(made_of),
        present=tuple(f.present for f in known.values()),
    )


def _expanded(node: Any) -> float:
    """At most how many terms a tree of formulaic's makes, each as often as it arises; infinite for other operators."""
    if not hasattr(node, "args"):
        return 1
    sizes = [_expanded(part) for part in node.args]
    match node.operator.symbol, sizes:
        case "+" | "-", _:
            return sum(sizes)
        case "*" | "/" | "in" | ":", (left, right):
            return left + right + left * right
        case "**" | "^", (size, _) if str(node.args[1]) in "1234":
            return size ** int(str(node.args[1]))
    return inf


def _plain(terms: list[Any], names: Mapping[str, str]) -> Any:
    """The formula of these terms with a column in the place of each factor's text."""
    kinds = formulaic.parser.types

    def factor(text: str) -> Any:
        return kinds.Factor(names.get(text, text), eval_method="lookup" if text in names else "literal")

    return formulaic.Formula([kinds.Term([factor(str(f.expr)) for f in t.factors]) for t in terms])


def outcome(left: str, schema: Schema, positive: str | None, *, place: str) -> tuple[Block, Block]:
    """The outcome's numbers by position, and where it has one. ``positive``: the category that counts as 1.

    Errors: UsageError for a column or category that is not there, or text that needs ``positive``.
    """
    quoted = _Quoted.of(left)
    name = quoted.column(quoted.text)
    column = schema.measured().get(name)
    if column is not None and not column.is_numeric:
        if positive is None or positive not in (column.categories or ()):
            raise UsageError('{}: {} holds categories; name one of them as "positive"', place, left)
        values = np.array([float(c == positive) for c in column.categories or ()])
        return _tables(name, column, values[:, None])
    if positive is not None:
        raise UsageError('{}: {} is no column of categories; leave out "positive"', place, left)
    factor = _Factor.of(quoted.text, schema, quoted, place=place)
    if factor.levels:
        raise UsageError("{}: {} is no number", place, left)
    return factor.block, factor.present


def _columns(index: int, factor: "_Factor", reduced: bool) -> list[tuple[int, int]]:
    wide = factor.block.width
    return [(index, j) for j in range(1 if reduced and factor.levels else 0, wide)]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Factor:
    """One factor: its column, its numbers by position; ``levels`` of categories."""

    column: str
    block: Block
    present: Block
    levels: tuple[str, ...] = ()

    @property
    def probe(self) -> Any:
        """A made-up value, by which formulaic settles names and contrasts."""
        return pd.Categorical([self.levels[0]], categories=self.levels) if self.levels else 1.5

    @classmethod
    def of(cls, text: str, schema: Schema, quoted: _Quoted, *, place: str) -> "_Factor":
        released = quoted.written(text)
        tree = _parsed(text, released, place=place)
        held = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - {*FUNCTIONS, "C"})
        if len(held) != 1 or quoted.column(held[0]) not in schema.measured():
            raise UsageError("{}: {} must be of one measured column of the release; {}", place, released, FORMS)
        key, name = held[0], quoted.column(held[0])
        column = schema.columns[name]
        if text == f"C({key})" or (text == key and not column.is_numeric):
            return cls._of_categories(name, column, place=f"{place}: {released}")
        if not column.is_numeric or column.type == "datetime" or "C(" in text:
            raise UsageError("{}: {}: {} is {}; only numbers are calculated with", place, released, name, column.type)
        with np.errstate(all="ignore"):
            values = np.asarray(_value(tree.body, _values(name, column)), dtype=float)
        block, present = _tables(name, column, np.broadcast_to(values, (len(_values(name, column)),))[:, None])
        return cls(column=name, block=block, present=present)

    @classmethod
    def _of_categories(cls, name: str, column: Column, *, place: str) -> "_Factor":
        if column.size > MOST_COEFFICIENTS + 1 or column.type == "datetime":
            raise UsageError(
                "{}: {} has {} values, at most {} are possible", place, name, column.size, MOST_COEFFICIENTS + 1
            )
        texts = list(column.categories or ())
        if column.is_numeric:
            texts = [f"{v:g}" for v in _values(name, column)]
        try:
            order = sorted(range(len(texts)), key=lambda i: float(texts[i]))
        except ValueError:
            order = sorted(range(len(texts)), key=lambda i: texts[i])
        block, present = _tables(name, column, np.eye(len(texts))[:, order])
        return cls(column=name, block=block, present=present, levels=tuple(texts[i] for i in order))


def _parsed(text: str, message: str, *, place: str) -> ast.Expression:
    """A factor's text as a tree of nothing but numbers, one level of known functions, and sums. Errors: UsageError."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError("{}: {} is no term; {}", place, message, FORMS) from None
    if not all(_permitted(node) for node in ast.walk(tree)):
        raise UsageError("{}: {} has what no term may have; {}", place, message, FORMS)
    return tree


def _permitted(node: ast.AST) -> bool:
    """Whether a node of a term's tree may stand there."""
    match node:
        case ast.Call():
            known = isinstance(node.func, ast.Name) and node.func.id in (*FUNCTIONS, "C")
            return known and len(node.args) == 1 and not node.keywords
        case ast.Constant():
            return type(node.value) in (int, float) and -LARGEST < node.value < LARGEST  # type: ignore[operator]
        case ast.Compare():
            return len(node.ops) == 1
        case _:
            return isinstance(node, ALLOWED)


def _value(node: Any, x: np.ndarray) -> Any:
    """The value of a checked tree where its one column is x."""
    match node:
        case ast.Constant():
            return float(node.value)  # type: ignore[arg-type]
        case ast.Name():
            return x
        case ast.Call():
            return FUNCTIONS[ast.unparse(node.func)](_value(node.args[0], x))
        case ast.UnaryOp():
            inner = _value(node.operand, x)
            return -inner if isinstance(node.op, ast.USub) else inner
        case ast.Compare():
            return OPERATORS[type(node.ops[0])](_value(node.left, x), _value(node.comparators[0], x)).astype(float)
        case _:
            return OPERATORS[type(node.op)](_value(node.left, x), _value(node.right, x))


OPERATORS: Mapping[type, Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
}


def parts(name: str, column: Column) -> Bins:
    """A bin for each position; of more than ``MOST_PARTS``, so many equal parts. Missing codes are in none."""
    width = max(-(-column.size // MOST_PARTS), 1)
    starts = np.arange(0, column.size, width)
    groups = np.arange(len(starts))
    if column.cells > column.size:
        starts, groups = np.append(starts, column.size), np.append(groups, -1)
    return Bins(column=name, cells=column.cells, starts=starts, groups=groups)


def _values(name: str, column: Column) -> np.ndarray:
    """A number column's value in each part: the middle one's."""
    bins = parts(name, column)
    starts = bins.starts[bins.groups >= 0]
    ends = np.minimum(np.append(starts[1:], column.size), column.size) - 1
    return float(column.bounds[0]) + float(column.step) * (starts + ends) / 2


def _tables(name: str, column: Column, values: np.ndarray) -> tuple[Block, Block]:
    """Numbers by part, and where they are numbers: a row with another value, or none, takes no part."""
    bins = parts(name, column)
    there = np.isfinite(values).all(axis=1)
    numbers = np.where(there[:, None], values, 0.0)
    return Block(bins=bins, table=numbers), Block(bins=bins, table=there.astype(float)[:, None])
