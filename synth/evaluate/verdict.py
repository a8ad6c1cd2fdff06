"""What a synthetic table is good for: one object, made by one rule, for every page and for what may leave.

A figure is good up to an absolute limit, or up to a multiple of what another sample of real rows would show: noise that
is small against sampling does no harm that a second survey would not do too. A ceiling bounds that multiple, since a
sample so small that it is far off itself serves nobody. What is rated is the figure as it is shown: equal figures have
equal verdicts.

The object is made twice: ``from_rows`` of a comparison with the real rows, ``publishable`` of the release alone.
Whoever shows it asks it for its words, which are in the language spoken: ``heading``, ``title``, ``shown``, ``reason``,
``sentence`` of a ``Use``; ``lines`` of a ``Verdict`` (a table), ``at`` (the uses of a level), ``unsure`` (through
``prose``). What is stored is ``plain()``, in English, and ``Verdict.read`` makes the object of it again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, WrapValidator, field_validator

from synth.languages import Said, Texts, _, numerals, prose, spoken

GOOD, CARE, NOT = "good for", "usable with care for", "not for"
LEVELS = (GOOD, CARE, NOT)
HEADINGS = Texts({GOOD: ("Good for",), CARE: ("Usable with care for",), NOT: ("Not for",)})
TIMES = (1.5, 3.0)  # a second sample's figure, up to which a distance is good, and usable
LOST = 0.5  # of a relation, from which on it is not called good


@dataclass(frozen=True)
class Limit:
    """Up to what a figure is good and usable in itself, and the most it may be beside a far second sample."""

    good: float
    care: float
    good_ceiling: float
    care_ceiling: float


DISTANCES = {
    "columns": Limit(0.02, 0.08, 0.10, 0.20),
    "pairs": Limit(0.04, 0.12, 0.15, 0.30),
    "triples": Limit(0.08, 0.20, 0.20, 0.35),
    "subgroups": Limit(0.08, 0.20, 0.20, 0.35),
    "children": Limit(0.04, 0.12, 0.10, 0.20),
    "across": Limit(0.04, 0.12, 0.15, 0.30),
}
AMOUNTS = {  # means in standard deviations of the real values, spreads as logarithms of their ratio
    "averages": Limit(0.05, 0.15, 0.20, 0.40),
    "spreads": Limit(0.15, 0.40, 0.30, 0.45),
    "group_means": Limit(0.05, 0.15, 0.20, 0.40),
    "correlations": Limit(0.05, 0.15, 0.15, 0.30),
    "implausible": Limit(0.01, 0.05, 0.05, 0.20),
}
OTHERS = {
    "regression": Limit(1.5, 4.0, 1.5, 4.0),  # in standard errors of the real estimate
    "prediction": Limit(0.02, 0.08, 0.04, 0.10),  # lost of a trained model's score
    "detection": Limit(0.60, 0.80, 0.60, 0.80),  # area under ROC of a classifier that looks for synthetic rows
}
LIMITS = DISTANCES | AMOUNTS | OTHERS
SKILL = (0.2, 0.5)  # of what a model trained on real rows predicts beyond guessing: lost, and still good, or usable
LITTLE_SKILL = 0.05  # beyond guessing, below which real rows themselves predict nothing
GUESSING = {"auc": 0.5, "r2": 0.0}
ADVICE = {GOOD: Said("use it"), CARE: Said("use it with care"), NOT: Said("do not use it")}
USES = {
    "columns": "shares of single columns",
    "averages": "averages and spreads of numbers",
    "pairs": "tables of two columns",
    "correlations": "correlations of numbers",
    "group_means": "averages of groups of people",
    "implausible": "reading single rows as examples",
    "triples": "relations of three columns",
    "subgroups": "comparing groups of people, small ones too",
    "detection": "standing for real rows one by one, as in tests of software or free exploration",
}
MEASURES = {
    "columns": "rows that would have to change, one column",
    "pairs": "rows that would have to change, two columns",
    "triples": "rows that would have to change, three columns",
    "subgroups": "rows that would have to change, worst tenth of groups",
    "prediction": "score of a model, beside one trained on real rows",
    "detection": "how well a computer tells them apart, 0.50: not at all",
    "regression": "standard errors off, root mean square over coefficients",
    "averages": "standard deviations, the mean that is farthest off",
    "group_means": "standard deviations, the group's mean that is farthest off",
    "correlations": "the correlation that is farthest off",
    "implausible": "rows with two values that half of the real rows never have together",
    "children": "rows with another number of rows below",
    "across": "rows that would have to change, columns of two rows",
}
WITHIN, ALIKE = "small in itself", "hardly more than another sample of real rows"
BETWEEN, BEYOND = "more than another sample of real rows", "too far off"
CEILING = "another sample of real rows would be far off too: the rows are too few for this use"
HIDDEN = "noise may displace so many"
HALF = "more than half of the relation is lost"
WORSE = "further off than columns that have nothing to do with each other"
UNFITTED = "the fit did not reach what noise explains; another fit with another seed is free"
PART = "not all of it"
BASE = "what it is built on is not served"
BUILT_ON = {  # uses, and that of which each is made: none is rated above it
    "pairs": "columns",
    "triples": "pairs",
    "subgroups": "pairs",
    "group_means": "averages",
    "correlations": "averages",
}
TOO_FEW = "gather more rows, or gather groups and values: no epsilon helps"
REMEDIES = {  # of what a table is not for
    "columns": "spend more on the next run, or ask for its shares as a verified answer",
    "averages": "state closer public bounds, or ask for the mean as a verified answer",
    "group_means": "ask for the means as a verified answer, or gather small groups",
    "correlations": "name the two columns as a use, or ask for a regression as a verified answer",
    "pairs": "name the pairs that matter as a use, and spend more on the next run",
    "triples": "name the three columns as a use",
    "subgroups": "name the comparison as a use, or gather small groups",
    "prediction": "name the prediction as a use, and spend more on the next run",
    "detection": "use it for what many rows say together",
    "implausible": "declare what never occurs as a rule",
    "regression": "ask for the regression as a verified answer",
    "children": "spend more on the next run",
    "across": "name the columns as a use, and spend more on the next run",
}
NAMED = 5  # parts that a use names as not served
ALIKE_NAMED = 3  # uses of one kind that are named one by one
KINDS = Texts(  # of which related tables have many
    {"columns": "single columns", "across": "tables of two columns", "children": "numbers of rows below another"}
)
Text = Annotated[str, WrapValidator(lambda value, check: value if isinstance(value, Said) else check(value))]


class Part(BaseModel):
    """A part of a use that is served less than the rest, and ``why`` in words; ``and 3 more`` stands for others."""

    model_config = ConfigDict(frozen=True)

    name: Text
    why: Text = ""

    def __str__(self) -> str:
        """In the language spoken.

        >>> str(Part(name="income", why="too far off")), str(Part(name=Said("and {} more", 3)))
        ('income (too far off)', 'and 3 more')
        """
        return f"{prose(self.name)} ({prose(self.why)})" if self.why else prose(self.name)


class Use(BaseModel):
    """One use and how far the table serves it.

    ``second``: what a second sample of real rows would show; ``independent``: what the real columns would if the
    relation were lost. ``why``: what decided. ``but``: parts that the verdict does not hold for; ``care``: those that
    are usable with care alone. No figure where nothing was measured. ``at_most``: whether the figure is only known not
    to be larger. ``parts``: further figures in words, as those of a regression's coefficients.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    use: Text
    level: str
    why: Text
    value: float | None = Field(repr=False)
    second: float | None = Field(repr=False, default=None)
    independent: float | None = Field(repr=False, default=None)
    but: tuple[Part, ...] = Field(repr=False, default=())
    care: tuple[Part, ...] = Field(repr=False, default=())
    at_most: bool = False
    parts: tuple[Text, ...] = Field(repr=False, default=())

    @field_validator("but", "care", mode="before")
    @classmethod
    def _of_earlier_cards(cls, parts: Iterable[Any]) -> list[Any]:
        return [{"name": p} if isinstance(p, str) else p for p in parts]

    @property
    def heading(self) -> str:
        """Its level, as a heading."""
        return str(HEADINGS[self.level][0])

    @property
    def title(self) -> str:
        """What for."""
        return prose(self.use)

    @property
    def shown(self) -> tuple[str, str]:
        """The figure and another real sample's, as people read them: shares of rows in percent, scores as they are."""
        value, second = self._in_words(self.value), self._in_words(self.second)
        return _("up to {value}").format(value=value) if self.at_most else value, second

    def _in_words(self, value: float | None) -> str:
        shares = self.name in DISTANCES or self.name == "implausible"
        return "-" if value is None else numerals(percent(value) if shares else f"{value:.2f}")

    @property
    def measure(self) -> str:
        """What the figure is."""
        return MEASURES[self.name]

    @property
    def remedy(self) -> str:
        """What to do where it is not for all of the use; empty where nothing is to be done."""
        if self.level != NOT and not self.but:
            return ""
        return TOO_FEW if self.why == CEILING else REMEDIES[self.name]

    @property
    def reason(self) -> str:
        """What decided, what the verdict does not hold for, and what to do."""
        kinds = ((_("not for {parts}"), self.but), (_("with care for {parts}"), self.care))
        lines = [said.format(parts=", ".join(map(str, parts))) for said, parts in kinds if parts]
        todo = [_("to do: {remedy}").format(remedy=prose(self.remedy))] if self.remedy else []
        return "; ".join([prose(self.why), *lines, *map(prose, self.parts), *todo])

    @property
    def sentence(self) -> str:
        """The use with its figure and the reason."""
        value, second = self.shown
        beside = "" if self.second is None else _("; another sample of real rows: {second}").format(second=second)
        figures = "" if self.value is None else f" ({value} {prose(self.measure)}{beside})"
        return f"{self.title}{figures}: {self.reason}"

    def plain(self) -> dict[str, Any]:
        """As JSON data, its sentence in English."""
        plain = {n: list(v) if isinstance(v, tuple) else v for n, v in self.model_dump().items()}
        with spoken("en"):
            return {**plain, "sentence": self.sentence}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Columns, or a column and one of its groups, that are ``distance`` off."""

    names: tuple[str, ...]
    distance: float = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The uses that were judged, best first, and where the table is farthest from the real one.

    ``unsure``: what speaks against all of them, else empty. ``worst``: the five worst places by kind (column, pair,
    triple, group), of ``triples_looked_at`` tables of three columns; ``reconciled``: why two well-known scores need not
    agree. These are there where real rows were looked at: it is then as private as they are.
    """

    uses: tuple[Use, ...]
    unsure: str = ""
    worst: Mapping[str, tuple[Place, ...]] = field(repr=False, default_factory=dict)
    triples_looked_at: int = 0
    reconciled: str = field(repr=False, default="")

    @classmethod
    def of(cls, uses: Iterable[Use | None], *, unsure: str = "", **more: Any) -> "Verdict":
        """Of the uses that there are, by their levels, in their order within one; none above what it is built on, and
        none good where something speaks against all.

        >>> both = {"columns": NOT, "pairs": GOOD}.items()
        >>> low, high = (Use(name=n, use=n, level=v, why="", value=None) for n, v in both)
        >>> [u.level for u in Verdict.of([low, high]).uses]
        ['not for', 'not for']
        """
        held: list[Use] = []
        for one in (u for u in uses if u is not None):
            use = one.model_copy(update={"level": CARE, "why": UNFITTED}) if unsure and one.level == GOOD else one
            below = [u.level for u in held if u.name == BUILT_ON.get(use.name) and not u.use.startswith("named: ")]
            base = min(below, key=LEVELS.index, default=GOOD)
            capped = LEVELS.index(base) > LEVELS.index(use.level) and not use.use.startswith("named: ")
            held.append(use.model_copy(update={"level": base, "why": BASE}) if capped else use)
        return cls(uses=tuple(sorted(held, key=lambda u: LEVELS.index(u.level))), unsure=unsure, **more)

    @classmethod
    def read(cls, plain: Iterable[Mapping[str, Any]]) -> "Verdict":
        """Of what a card or a report's JSON holds. Errors: pydantic.ValidationError for anything else."""
        return cls(uses=tuple(map(Use.model_validate, plain)))

    def at(self, level: str) -> list[Use]:
        """The uses of one of ``LEVELS``."""
        return [u for u in self.uses if u.level == level]

    def in_short(self, level: str) -> list[str]:
        """What for at this level; of more than ``ALIKE_NAMED`` places of one kind, as in many related tables, how many.

        >>> several = [Use(name="across", use=f"relations: {n}", level=NOT, why="", value=None) for n in "abcd"]
        >>> Verdict.of(several).in_short(NOT)
        ['tables of two columns (4 places)']
        """
        served: list[str] = []
        kinds: dict[str, list[str]] = {}
        for one in self.at(level):
            kinds.setdefault(one.use if one.use.startswith("named: ") else one.name, []).append(one.title)
        for name, titles in kinds.items():
            many = len(titles) > ALIKE_NAMED and name in KINDS
            served += [_("{use} ({n} places)").format(use=KINDS[name], n=len(titles))] if many else titles
        return served

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """As a table: the level, what for, the figure, a second sample's, and the reason."""
        return [(u.heading, u.title, *u.shown, u.reason) for u in self.uses]

    def _repr_html_(self) -> str:
        """As a table, for notebooks."""
        import pandas as pd

        heads = ["", _("for"), _("this table"), _("another sample of real rows"), _("why")]
        return str(pd.DataFrame(self.lines, columns=heads).to_html(index=False))

    def plain(self) -> list[dict[str, Any]]:
        """The uses as JSON data."""
        return [u.plain() for u in self.uses]


def percent(value: float) -> str:
    """A share as people read it, to a tenth of a percent.

    >>> percent(0.0526)
    '5.3 %'
    """
    return Said("{:.1f} %", 100 * value)


def advice(rating: tuple[str, str]) -> str:
    """What a level and its reason mean for whoever uses the figure.

    >>> advice((GOOD, WITHIN))
    'use it: small in itself'
    """
    level, why = rating
    return why if level == NOT and why == WORSE else Said("{}: {}", ADVICE[level], Said(why))


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How far something is off, of which less is better.

    ``second``: another sample of real rows; ``independent``: the real columns taken as independent. ``low``: where the
    value is only known to lie between it and ``value``, as behind noise; None where it is known.
    """

    value: float = field(repr=False)
    second: float = field(repr=False, default=0.0)
    independent: float | None = field(repr=False, default=None)
    low: float | None = field(repr=False, default=None)


def mean(several: Iterable[Measured]) -> Measured | None:
    """The mean of several; None of none. What one of them lacks, the mean lacks."""
    listed = list(several)
    each = ([getattr(m, n) for m in listed] for n in ("value", "second", "independent", "low"))
    value, second, independent, low = (None if None in e or not e else float(np.mean(e)) for e in each)
    return (
        None
        if value is None or second is None
        else Measured(value=value, second=second, independent=independent, low=low)
    )


def rate(
    limit: Limit,
    value: float,
    *,
    second: float = 0.0,
    independent: float | None = None,
    low: float | None = None,
    digits: int = 3,
    fitted: bool = True,
) -> tuple[str, str]:
    """The level of a figure of which less is better, and what decided. ``digits``: to which it is shown.

    ``independent``, ``low``: as of ``Measured``: good is what is good at the far end, bad what is bad at the near one.
    ``fitted``: whether the fit reached what noise explains; one that did not is nowhere called good.

    >>> rate(DISTANCES["pairs"], 0.05, second=0.04)
    ('good for', 'hardly more than another sample of real rows')
    >>> rate(DISTANCES["pairs"], 0.3, low=0.01)
    ('usable with care for', 'noise may displace so many')
    """
    value, second = round(value, digits), round(second, digits)
    level, why = _beside(limit, value, second)
    if low is not None and level != GOOD:
        least, why = _beside(limit, round(low, digits), second)
        level, why = (CARE, HIDDEN) if least == GOOD else (least, why)
    if independent is not None and independent > max(limit.good, TIMES[0] * second):
        if value >= independent:
            return NOT, WORSE
        if level == GOOD and value > second + LOST * (independent - second):
            level, why = CARE, HALF
    return (CARE, UNFITTED) if level == GOOD and not fitted else (level, why)


def rate_average(mean: Measured, spread: Measured) -> tuple[str, str]:
    """The level of a number's mean and spread, the worse one, and what decided."""
    both = (rate(AMOUNTS[n], **vars(m)) for n, m in (("averages", mean), ("spreads", spread)))
    return max(both, key=lambda r: LEVELS.index(r[0]))


def _beside(limit: Limit, value: float, second: float) -> tuple[str, str]:
    good, care = TIMES[0] * second, TIMES[1] * second
    if value <= limit.good:
        return GOOD, WITHIN
    if value <= min(good, limit.good_ceiling):
        return GOOD, ALIKE
    if value <= max(limit.care, min(care, limit.care_ceiling)):
        return CARE, CEILING if value <= good else BETWEEN
    return NOT, CEILING if value <= care else BEYOND


def rate_score(name: str, value: float, real: float, *, floor: float | None = None) -> tuple[str, str] | None:
    """The level of a trained model's score beside one trained on real rows; None where those predict nothing.

    ``floor``: of one trained on a second sample of the real rows.
    """
    value, real = round(value, 2), round(real, 2)
    lost, second = round(max(0.0, real - value), 2), max(0.0, real - (real if floor is None else round(floor, 2)))
    level, why = rate(LIMITS["prediction"], lost, second=second, digits=2)
    if name in GUESSING:
        skill = real - GUESSING[name]
        if skill < LITTLE_SKILL:
            return None
        by_skill = GOOD if lost <= SKILL[0] * skill else CARE if lost <= SKILL[1] * skill else NOT
        if LEVELS.index(by_skill) > LEVELS.index(level):
            return by_skill, Said("{:.0f} % of what real rows predict is lost", 100 * lost / skill)
    return level, why


def use_of(
    name: str, of: Measured, use: str = "", *, digits: int = 3, but: Mapping[str, str] | None = None, **more: Any
) -> Use:
    """The use that a figure decides. ``use``: in words, else ``USES``'s; ``but``: parts that it does not hold for, with
    the reason of each; ``more``: further fields."""
    level, why = rate(LIMITS[name], **vars(of), digits=digits)
    level, why = (CARE, PART) if but and level == GOOD else (level, why)
    figures: dict[str, Any] = {
        "value": of.value,
        "second": of.second,
        "independent": of.independent,
        "at_most": of.low is not None,
    }
    return Use(
        **{"name": name, "use": use or USES[name], "level": level, "why": why, **figures, **more}, but=_first(but or {})
    )


def use_by_parts(name: str, rated: Mapping[str, tuple[str, str, str]], off: Sequence[Measured]) -> Use | None:
    """A use of several parts, each with its level, what decided on it, and its figures in words: good where all are,
    not for where half of them are not; None without any. ``off``: how far each is, the farthest first."""
    if not rated:
        return None
    bad, care = ({n: said for n, (at, _why, said) in rated.items() if at == level} for level in (NOT, CARE))
    level = NOT if bad and 2 * len(bad) >= len(rated) else CARE if bad or care else GOOD
    why = max(rated.values(), key=lambda r: (LEVELS.index(r[0]), r[1] != CEILING))[1]
    return use_of(name, off[0], level=level, why=why, but=bad, care=_first(care))


def _first(parts: Mapping[str, str]) -> tuple[Part, ...]:
    listed = [Part(name=n, why=w) for n, w in parts.items()]
    return (*listed[:NAMED], *([Part(name=Said("and {} more", len(parts) - NAMED))] if len(parts) > NAMED else []))
