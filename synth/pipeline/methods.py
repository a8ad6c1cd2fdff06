"""The methods by name: their options, what they ask of a schema, and the noise that a guarantee grants them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from synth.errors import UsageError, meant
from synth.generators import GENERATORS, TREES
from synth.generators.method import Method, OneOf, options_of, with_options
from synth.pipeline import retention
from synth.privacy.accounting.float_slack import EPSILON_SLACK
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Grant
from synth.privacy.relation import Adjacency, Relation
from synth.questions.kinds import kinds_of

DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # of GPUs that torch calls cuda
PURE = {"choice", "laplace", "above"}  # kinds of release of pure privacy


def methods(*, tree: bool = False) -> list[dict[str, Any]]:
    """The generators, or those of related tables (``tree``): name, one-line summary, barrier, guarantee and its
    relations, options, what each may be (``choices``: among which words one chooses), releases read; of single tables
    also what each keeps at the epsilons at which it was measured, and the rows and time it needs (retention.py).

    Privacy: public only.
    """
    return [
        {
            "name": g.name,
            "summary": g.summary,
            "barrier": g.barrier,
            "stage": stage(g),
            "guarantee": guarantee(g),
            "relations": list(g.relations),
            "options": options_of(g),
            "ranges": {n: str(r) for n, r in g.ranges.items()},
            "choices": {n: list(r.words) for n, r in g.ranges.items() if isinstance(r, OneOf) and not r.most},
            "reads": kinds_of(g.reads),
            "keeps": {} if tree else retention.everywhere(g.name),
            "needs": "" if tree else retention.needs(g.name),
        }
        for g in (TREES if tree else GENERATORS).values()
    ]


STAGES = {"before": "B1", "at the data": "B1", "in the": "B2", "between": "B3", "at the generator": "B4"}


def stage(generator: Method) -> str:
    """The barrier's name in arXiv 2309.15696: noise to what is measured, in the measure, after it, in the generator.

    Privacy: public only.

    >>> [stage(GENERATORS[n]) for n in ("mixture", "dp_ctgan", "gs_wgan", "dp_vae")]
    ['B1', 'B2', 'B3', 'B4']
    """
    return next(name for start, name in STAGES.items() if generator.barrier.startswith(start))


def guarantee(generator: Method) -> str:
    """What a run of a method guarantees, and how its parts are added up.

    Privacy: public only.

    >>> guarantee(GENERATORS["small_db"]).split(",")[0]
    'pure epsilon differential privacy of a whole run'
    """
    if is_pure(generator):
        return "pure epsilon differential privacy of a whole run, delta may be 0"
    how = (
        "exactly, all noise being Gaussian" if is_gaussian(generator) else "from above, by Renyi or loss distributions"
    )
    return f"(epsilon, delta) differential privacy of a whole run, added up {how}"


def generator_named(
    method: str, relation: Relation, options: Mapping[str, Any] | None = None, *, tree: bool = False
) -> Method:
    """The generator of that name with these options, if it supports the relation. Errors: UsageError.

    ``tree``: of related tables.
    """
    known = TREES if tree else GENERATORS
    if method not in known:
        if method in GENERATORS:
            raise UsageError("method {}: related tables are made by the method {} alone", method, ", ".join(TREES))
        raise UsageError("method {!r} is unknown; {}", method, meant(method, known))
    generator = known[method]
    if str(relation) not in generator.relations:
        names = ", ".join(generator.relations)
        raise UsageError("method {} has no guarantee under {}; it supports {}", method, relation, names)
    return with_options(generator, options or {})


def granted(epsilon: float, delta: float, adjacency: Adjacency, *, learning: bool) -> Grant:
    """The noise budget of a guarantee; where categories are to be learnt, part of delta goes to their thresholds."""
    failure = min(0.1 * delta, 0.1 * epsilon * EPSILON_SLACK) if learning else 0.0
    mu = calibrate(epsilon, delta - failure) if delta else 0.0  # a pure run has no Gaussian noise
    return Grant(epsilon=epsilon, delta=delta, adjacency=adjacency, mu=mu, failure_delta=failure)


def is_gaussian(questions: Method) -> bool:
    """Whether all of a run's questions are Gaussian: then it has a mu, by which runs compose exactly."""
    others = {"external", *PURE} & set(kinds_of(questions.reads))
    return not others and questions.gaussian


def is_pure(questions: Method) -> bool:
    """Whether all of a run's questions are purely private: then delta may be 0."""
    return set(kinds_of(questions.reads)) <= PURE


def check_pure(questions: Method) -> None:
    """Errors: UsageError where a run with delta 0 would ask for what has no pure privacy."""
    if not is_pure(questions):
        names = ", ".join(n for n, g in GENERATORS.items() if is_pure(g))
        raise UsageError(
            "delta 0: method {} adds noise that has no pure guarantee; give a delta of 1e-6, or choose one of {}",
            questions.name,
            names,
        )


@cache
def finds_gpu() -> bool:
    """Whether torch finds a GPU; it loads only where a driver stands among the machine's devices.

    Privacy: public only.
    """
    if not any(Path(driver).exists() for driver in DRIVERS):
        return False
    import torch  # costs seconds

    return torch.cuda.is_available()


def resolve_device(device: str, asked: Method) -> str:
    """The device that a name means to a method.

    Errors: UsageError where there is none, and for one that the method would not use.
    """
    if device == "cpu" or (device == "auto" and not asked.takes_device):
        return "cpu"
    if device != "auto" and device.split(":")[0] != "cuda":
        raise UsageError("device {!r} is not known; {}", device, meant(device, ["auto", "cpu", "cuda"]))
    if not asked.takes_device:
        raise UsageError("device {!r}: method {} computes on the processor alone; use cpu, or auto", device, asked.name)
    import torch  # costs seconds, so only where it is needed

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not torch.cuda.is_available():
        raise UsageError("device {!r}: torch finds no GPU here; use cpu, or auto, which takes one where it is", device)
    return device
