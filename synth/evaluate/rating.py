"""The rule by which a figure becomes a verdict on a use: one rule for every page, and for what may leave.

A figure is good up to an absolute limit, or up to a multiple of what a second real sample would show: noise that is
small against sampling does no harm that a second survey would not do too. A ceiling bounds that multiple, since a
sample so small that it is far off itself serves nobody. What is rated is the figure as it is shown: equal figures have
equal verdicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

GOOD, CARE, NOT = "good for", "usable with care for", "not for"
LEVELS = (GOOD, CARE, NOT)
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
LIMITS = DISTANCES | AMOUNTS
COEFFICIENTS = Limit(1.5, 4.0, 1.5, 4.0)  # of a regression, in standard errors of the real estimate
LOSS = Limit(0.02, 0.08, 0.04, 0.10)  # of a trained model's score
DETECTION = Limit(0.60, 0.80, 0.60, 0.80)  # area under ROC of a classifier that looks for synthetic rows
SKILL = (0.2, 0.5)  # of what a model trained on real rows predicts beyond guessing: lost, and still good, or usable
LITTLE_SKILL = 0.05  # beyond guessing, below which real rows themselves predict nothing
GUESSING = {"auc": 0.5, "r2": 0.0}
ADVICE = {GOOD: "use it", CARE: "use it with care", NOT: "do not use it"}
MEASURES = {
    "columns": "values in the wrong place, one column",
    "pairs": "rows in the wrong place, two columns",
    "triples": "rows in the wrong place, three columns",
    "subgroups": "rows in the wrong place, worst tenth of groups",
    "prediction": "score of a model, beside one trained on real rows",
    "detection": "classifier's area, 0.50 cannot tell",
    "regression": "standard errors off, root mean square over coefficients",
    "averages": "standard deviations, the mean that is farthest off",
    "group_means": "standard deviations, the group's mean that is farthest off",
    "correlations": "the correlation that is farthest off",
    "implausible": "rows with two values that half of the real rows never have together",
    "children": "rows with another number of rows below",
    "across": "rows in the wrong place, columns of two rows",
}
WITHIN, ALIKE = "small in itself", "hardly more than a second real sample"
BETWEEN, BEYOND = "more than a second real sample", "too far off"
CEILING = "a second real sample would be far off too: the rows are too few for this use"
HALF, WORSE = "more than half of the relation is lost", "worse than independent: do not use"
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


@dataclass(frozen=True, kw_only=True)
class Use:
    """One use and how far the table serves it.

    ``second``: what a second sample of real rows would show; ``independent``: what the real columns would if the
    relation were lost. ``why``: what decided. ``but``: what the verdict does not hold for, in words. No figure where
    nothing was measured. ``at_most``: whether the figure is only known not to be larger. ``parts``: further
    figures in words, as those of a regression's coefficients. ``care``: parts that are usable with care alone.
    """

    name: str
    use: str
    level: str
    why: str
    value: float | None = field(repr=False)
    second: float | None = field(repr=False, default=None)
    independent: float | None = field(repr=False, default=None)
    but: tuple[str, ...] = field(repr=False, default=())
    care: tuple[str, ...] = field(repr=False, default=())
    at_most: bool = False
    parts: tuple[str, ...] = field(repr=False, default=())

    @property
    def shown(self) -> tuple[str, str]:
        """The figure and a second real sample's, as people read them: shares of rows in percent, scores as they are."""
        value = self._in_words(self.value)
        return f"up to {value}" if self.at_most else value, self._in_words(self.second)

    def _in_words(self, value: float | None) -> str:
        shares = self.name in DISTANCES or self.name == "implausible"
        return "-" if value is None else percent(value) if shares else f"{value:.2f}"

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
        lines = [
            f"not for {', '.join(self.but)}" * bool(self.but),
            f"with care for {', '.join(self.care)}" * bool(self.care),
        ]
        todo = f"to do: {self.remedy}" if self.remedy else ""
        return "; ".join(part for part in (self.why, *lines, *self.parts, todo) if part)

    @property
    def sentence(self) -> str:
        """The use with its figure and the reason."""
        beside = "" if self.second is None else f"; a second real sample: {self.shown[1]}"
        figures = "" if self.value is None else f" ({self.shown[0]} {self.measure}{beside})"
        return f"{self.use}{figures}: {self.reason}"

    def plain(self) -> dict[str, object]:
        """As JSON data."""
        return {
            **vars(self),
            "but": list(self.but),
            "care": list(self.care),
            "parts": list(self.parts),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, kw_only=True)
class Uses:
    """A verdict: the uses that were judged, best first.

    ``unsure``: what speaks against all of them, else empty.
    """

    uses: tuple[Use, ...]
    unsure: str = ""

    def at(self, level: str) -> list[Use]:
        """The uses of one of ``LEVELS``."""
        return [u for u in self.uses if u.level == level]

    def plain(self) -> list[dict[str, object]]:
        """As JSON data."""
        return [u.plain() for u in self.uses]


def advice(rating: tuple[str, str]) -> str:
    """What a level and its reason mean for whoever uses the figure.

    >>> advice((GOOD, WITHIN))
    'use it: small in itself'
    """
    level, why = rating
    return why if level == NOT and why == WORSE else f"{ADVICE[level]}: {why}"


def best_first(uses: Iterable[Use | None]) -> tuple[Use, ...]:
    """The uses that there are by their levels, in their order within one; none above what it is built on.

    >>> low, high = (Use(name=n, use=n, level=v, why="", value=None) for n, v in (("columns", NOT), ("pairs", GOOD)))
    >>> [u.level for u in best_first([low, high])]
    ['not for', 'not for']
    """
    held: list[Use] = []
    for use in (u for u in uses if u is not None):
        below = [u.level for u in held if u.name == BUILT_ON.get(use.name) and not u.use.startswith("named: ")]
        base = min(below, key=LEVELS.index, default=GOOD)
        capped = LEVELS.index(base) > LEVELS.index(use.level) and not use.use.startswith("named: ")
        held.append(replace(use, level=base, why=BASE) if capped else use)
    return tuple(sorted(held, key=lambda u: LEVELS.index(u.level)))


def percent(value: float) -> str:
    """A share as people read it, to a tenth of a percent.

    >>> percent(0.0526)
    '5.3 %'
    """
    return f"{100 * value:.1f} %"


def rate(
    limit: Limit,
    value: float,
    *,
    second: float = 0.0,
    independent: float | None = None,
    digits: int = 3,
    fitted: bool = True,
) -> tuple[str, str]:
    """The level of a figure of which less is better, and what decided. ``digits``: to which it is shown.

    ``independent``: the same of columns that have lost their relation. ``fitted``: whether the fit reached what noise
    explains; one that did not is nowhere called good.

    >>> rate(DISTANCES["pairs"], 0.05, second=0.04)
    ('good for', 'hardly more than a second real sample')
    """
    value, second = round(value, digits), round(second, digits)
    level, why = _beside(limit, value, second)
    if independent is not None and independent > max(limit.good, TIMES[0] * second):
        if value >= independent:
            return NOT, WORSE
        if level == GOOD and value > second + LOST * (independent - second):
            level, why = CARE, HALF
    return (CARE, UNFITTED) if level == GOOD and not fitted else (level, why)


def _beside(limit: Limit, value: float, second: float) -> tuple[str, str]:
    good, care = TIMES[0] * second, TIMES[1] * second
    if value <= limit.good:
        return GOOD, WITHIN
    if value <= min(good, limit.good_ceiling):
        return GOOD, ALIKE
    if value <= max(limit.care, min(care, limit.care_ceiling)):
        return CARE, CEILING if value <= good else BETWEEN
    return NOT, CEILING if value <= care else BEYOND


def use_by_parts(
    name: str,
    use: str,
    rated: Mapping[str, tuple[str, str]],
    *,
    value: float,
    second: float,
    why: str,
    fitted: bool = True,
) -> Use:
    """A use of several parts, each with its own level and figures in words: good where all are, not for where half of
    them are not. ``value``, ``second``: of the part that is farthest off; ``why``: what decided on it."""
    not_for = [f"{n} ({w})" for n, (level, w) in rated.items() if level == NOT]
    careful = [f"{n} ({w})" for n, (level, w) in rated.items() if level == CARE]
    level = NOT if not_for and 2 * len(not_for) >= len(rated) else CARE if not_for or careful else GOOD
    return Use(
        name=name,
        use=use,
        level=CARE if level == GOOD and not fitted else level,
        why=UNFITTED if level == GOOD and not fitted else why,
        value=value,
        second=second,
        but=_first(not_for),
        care=_first(careful),
    )


def _first(parts: Sequence[str]) -> tuple[str, ...]:
    more = (f"and {len(parts) - NAMED} more",) if len(parts) > NAMED else ()
    return (*parts[:NAMED], *more)


def rate_between(limit: Limit, low: float, high: float, *, second: float, fitted: bool = True) -> tuple[str, str]:
    """The level of a figure that is only known to lie between two: good where its upper end is, bad where its lower."""
    upper, why = rate(limit, high, second=second, fitted=fitted)
    if upper == GOOD:
        return upper, why
    lower, below = rate(limit, low, second=second)
    if lower == NOT:
        return lower, below
    return CARE, UNFITTED if not fitted else "noise may displace so many" if lower == GOOD else below


def rate_score(
    name: str, value: float, real: float, *, floor: float | None = None, fitted: bool = True
) -> tuple[str, str] | None:
    """The level of a trained model's score beside one trained on real rows; None where those predict nothing.

    ``floor``: of one trained on a second sample of the real rows.
    """
    value, real = round(value, 2), round(real, 2)
    lost, second = round(max(0.0, real - value), 2), max(0.0, real - (real if floor is None else round(floor, 2)))
    level, why = rate(LOSS, lost, second=second, digits=2, fitted=fitted)
    if name in GUESSING:
        skill = real - GUESSING[name]
        if skill < LITTLE_SKILL:
            return None
        by_skill = GOOD if lost <= SKILL[0] * skill else CARE if lost <= SKILL[1] * skill else NOT
        if LEVELS.index(by_skill) > LEVELS.index(level):
            return by_skill, f"{100 * lost / skill:.0f} % of what real rows predict is lost"
    return level, why


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A distance, that of a second real sample, and that of the real columns taken as independent."""

    distance: float = field(repr=False)
    by_chance: float = field(repr=False)
    independent: float | None = field(repr=False, default=None)


def use_of(name: str, use: str, of: Scored, *, fitted: bool = True, but: Mapping[str, str] | None = None) -> Use:
    """The use that a distance decides. ``but``: parts that it does not hold for, with the reason of each."""
    rating = rate(DISTANCES[name], of.distance, second=of.by_chance, independent=of.independent, fitted=fitted)
    level, why = (CARE, PART) if but and rating[0] == GOOD else rating
    return Use(
        name=name,
        use=use,
        level=level,
        why=why,
        value=of.distance,
        second=of.by_chance,
        independent=of.independent,
        but=_first([f"{n} ({w})" for n, w in (but or {}).items()]),
    )
