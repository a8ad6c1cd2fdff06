"""One draw of what a run tells: the real curator, mechanisms and noise on one of two neighbouring tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from synth.evaluate.audit.likelihood_ratios import ratio
from synth.evaluate.audit.neighbours import ODD, Pair, Positions
from synth.generators.base import Run, Setting
from synth.generators.method import Method
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.reporting import Quiet
from synth.pipeline.request import RefitRequest
from synth.pipeline.run import fit_and_sample
from synth.privacy.accounting.events import Event
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.questions import CountsRelease, ExternalRelease
from synth.schema.dataset import ONE

MOST_VALUES = 32  # numbers of a release up to which each is looked at by itself
Seen = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RunParts:
    """The parts of a run that touch rows. An auditor of a suspect variant puts it in the place of ours."""

    generator: Method
    grant: Grant
    noise: SystemNoise = field(default_factory=SystemNoise)
    curator: type[Curator] = Curator
    mechanisms: Callable[[], Mapping[type, Any]] = mechanisms
    _calibrated: dict[str, Any] = field(default_factory=dict, repr=False)

    def setting(self, pair: Pair, public: int | None) -> Setting:
        """What the generator is told; calibrations, which are alike in every draw, are done once."""
        made = setting(pair.schema, self.grant, public_rows=public)
        for name in ("slice_sigma", "step_sigma"):
            if getattr(made, name, None) is not None:
                self._calibrated.setdefault(name, cache(getattr(made, name)))
        return replace(made, **self._calibrated)


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """All that a run told, and what it was charged. ``answers``: every one, where ``releases`` keep only some."""

    answers: Sequence[Any]
    releases: Sequence[Any]
    setting: Setting
    events: tuple[Event, ...]


def measure(pair: Pair, rows: Positions, parts: RunParts) -> Transcript:
    """Asks all of the generator's questions of one table, through the one door."""
    session = parts.curator(
        grant=parts.grant, commit=lambda: None, read=lambda: rows, mechanisms=parts.mechanisms(), noise=parts.noise
    )
    public = session.public_rows()
    if public is not None and pair.rows is not None:  # an absent unit keeps its place under zero_out
        public = pair.rows
    answers: list[Any] = []

    def ask(question: Any) -> Any:
        answers.append(session.ask(question))
        return answers[-1]

    circumstances = parts.setting(pair, public)
    releases = parts.generator.measure(Run(ask, circumstances))
    session.close()
    return Transcript(answers=answers, releases=releases, setting=circumstances, events=session.events)


def outputs(pair: Pair, parts: RunParts) -> Callable[[Positions], Seen]:
    """Draws of what an attacker can compute from all releases of a run."""

    return lambda rows: observed(measure(pair, rows, parts), pair)


def observed(transcript: Transcript, pair: Pair) -> Seen:
    """Numbers by name: the row count where it is told, log likelihood ratios, and short releases value by value."""
    numbers: Seen = {"rows": float(transcript.setting.public_rows or 0)}
    whole = 0.0
    for i, release in enumerate(transcript.answers):
        speaks = ratio(release, pair.one, pair.other)
        whole += speaks
        numbers[f"likelihood of answer {i}"] = speaks
        values = _values(release)
        numbers[f"size of answer {i}"] = float(len(values))
        if len(values) <= MOST_VALUES:
            numbers |= {f"answer {i}, value {j} of {len(values)}": float(v) for j, v in enumerate(values)}
    return {"likelihood of all answers": whole, **numbers}


def _values(release: Any) -> np.ndarray:
    if isinstance(release, CountsRelease | ExternalRelease):
        return np.concatenate([v.ravel() for v in release.values])
    if hasattr(release, "values"):
        return np.ravel(release.values)
    return np.array([getattr(release, "index", 0)])


def tables(pair: Pair, parts: RunParts) -> Callable[[Positions], Seen]:
    """Draws of what an attacker can compute from the final synthetic table, all stages of a run behind him."""

    return lambda rows: drawn(measure(pair, rows, parts), pair, parts)


def drawn(transcript: Transcript, pair: Pair, parts: RunParts) -> Seen:
    """What an attacker can compute from a synthetic table that is made of these releases."""
    wanted = RefitRequest(release="", seed=int(parts.noise.uniform_codes(1, high=2**32)[0]))
    made = fit_and_sample(parts.generator, transcript.releases, transcript.setting, Quiet(), wanted)
    return looked_at({n: a.to_pandas().to_numpy(dtype=str) for n, a in made.texts[ONE].items()}, pair)


def looked_at(texts: Mapping[str, np.ndarray], pair: Pair) -> Seen:
    """Counts of every value, of the odd unit's pairs of values and of its whole row, the row count, and extremes."""
    size = len(next(iter(texts.values())))
    counts: Seen = {"rows": float(size)}
    odd = {}
    for name, column in pair.schema.measured().items():
        values = _texts(column)
        odd[name] = texts[name] == values[ODD[name]]
        for value in values:
            counts[f"{name} {value}"] = float(np.count_nonzero(texts[name] == value))
        counts[f"kinds of {name}"] = float(len(set(texts[name].tolist())))
    names = list(odd)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            counts[f"odd {a} and {b}"] = float(np.count_nonzero(odd[a] & odd[b]))
    counts["odd rows"] = float(np.count_nonzero(np.logical_and.reduce(list(odd.values()))))
    return counts


def _texts(column: Any) -> list[str]:
    """All values of one of the audited tables' columns, as text."""
    if column.categories is not None:
        return list(column.categories)
    return [str(v) for v in range(int(column.min), int(column.max) + 1)]


def gathered(draw: Callable[[Positions], Seen], rows: Positions, count: int, tick: Callable[[], None]) -> list[Seen]:
    """``count`` draws on one table."""
    draws = []
    for _ in range(count):
        draws.append(draw(rows))
        tick()
    return draws


def matrix(one: Sequence[Seen], other: Sequence[Seen], *, most: int = 150) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Both tables' draws as (n, k) numbers, and the numbers' names: those of the first draws, 0 where one is absent."""
    names: dict[str, None] = {}
    for seen in (*one[:100], *other[:100]):
        names |= dict.fromkeys(seen)
    listed = list(names)[:most]
    sides = [np.array([[seen.get(n, 0.0) for n in listed] for seen in side]) for side in (one, other)]
    return sides[0], sides[1], listed
