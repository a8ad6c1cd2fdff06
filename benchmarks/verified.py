"""Verified answers: how far they are from the private table's own, beside the synthetic rows alone.

    python benchmarks/verified.py [--epsilons 0.1,0.2,0.5] [--releases 2] [--draws 6]

Regressions on Adult and on NIST's excerpt of the American Community Survey, of which ``--releases`` are made by mixture
at epsilon 1; an error is the root mean square over coefficients, in standard errors of the private table's own
estimate. Beside the answer stand the synthetic rows alone, and a release that has the answer's epsilon too. Prints
Markdown; lines that the JSON, benchmarks/results/verified.json, holds are passed over.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from markdown_tables import across
from public_tables import prepared, public
from runner import ROOT, Row, grid, measured, start

import synth
from synth.generators.base import Run, Setting
from synth.mechanisms import embeddings
from synth.pipeline.verified import Questions
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.sources.table_source import place_of
from synth.verified.inference import solved
from synth.verified.law import Law
from synth.verified.plan import Planned, VerifiedQuestions
from synth.verified.plan import measured as of_release

DELTA = 1e-5
RETAINED = ROOT / "build" / "verified"  # releases at epsilon 1, made once
ANSWER, ALONE, SUM = "verified answer", "synthetic rows alone", "all epsilon into the release"
WAYS = (ANSWER, ALONE, SUM)
ADULT = "income ~ age + Q('education-num') + Q('hours-per-week') + C(sex)"
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "Adult, gains and losses": ("adult", {"formula": f"{ADULT} + I(`capital-gain` > 0) + I(`capital-loss` > 0)"}),
    "Adult, their amounts": ("adult", {"formula": f"{ADULT} + `capital-gain` + `capital-loss`"}),
    "ACS, log income": (
        "acs",
        {
            "kind": "linear",
            "formula": "log(PINCP) ~ AGEP + I(AGEP ** 2) + C(SEX) + EDU + C(MSP) + C(DREM) + C(DPHY) + C(OWN_RENT)",
        },
    ),
}
LOGISTIC = {"kind": "logistic", "positive": ">50K"}
NUMBERS = {"PINCP": (0, 500_000), "AGEP": (0, 99), "EDU": (1, 12)}
GROUPS = ("SEX", "MSP", "DREM", "DPHY", "OWN_RENT")
Positions = Mapping[str, np.ndarray]


def positions(rows: Any, schema: synth.Schema) -> Positions:
    """Rows as a curator has them."""
    result = place_of(rows).under(schema).encoded(schema, SystemNoise(), person=None, key=bytes(32)).encoded.positions
    return {n: np.asarray(result[n]) for n in schema.measured()}


@contextmanager
def table(name: str) -> Iterator[tuple[Any, synth.Schema]]:
    """A table's rows and schema."""
    if name == "adult":
        with prepared("adult") as folder:
            yield folder / "train.csv", synth.Schema.load(folder / "schema.json")
        return
    rows = public("acs_nist_national_2019.csv.gz")[[*NUMBERS, *GROUPS]]
    facts: dict[str, Any] = {
        n: {"type": "integer", "min": a, "max": b, "missing": ["N"]} for n, (a, b) in NUMBERS.items()
    }
    for n in GROUPS:
        values = sorted(set(rows[n]) - {"N"})
        facts[n] = {"type": "categorical", "categories": values} | (
            {"missing": ["N"]} if (rows[n] == "N").any() else {}
        )
    yield rows, synth.Schema.parse({"columns": facts})


def released(rows: Any, schema: synth.Schema, out: Path, epsilon: float) -> Path:
    """A release by mixture."""
    if not out.exists():
        ledger = out.with_suffix(".sqlite")
        synth.run(rows, schema=schema, epsilon=epsilon, delta=DELTA, dataset="b", out=out, ledger=ledger, separate=True)
    return out


def answered(planned: Planned, rows: Positions, epsilon: float, count: int = 1) -> Any:
    """The estimate of a question that has its share of epsilon, by the questions and the mechanism of a run."""
    setting = Setting(schema=None, mu=calibrate(epsilon, DELTA), sensitivity=1.0, signed=1.0)  # type: ignore[arg-type]
    asked = VerifiedQuestions(planned=(planned,) * count)
    first = asked.measure(Run(lambda q: embeddings.answer(q, rows, SystemNoise()), setting))[: len(planned.shares())]
    return solved(planned.law, [of_release(r) for r in first])


@contextmanager
def case(name: str, release: int) -> Iterator[tuple[Any, ...]]:
    """A question, its plan on a release of its own, and the private rows."""
    which, plain = ASKED[name]
    with TemporaryDirectory() as folder, table(which) as (rows, schema):
        RETAINED.mkdir(parents=True, exist_ok=True)
        place = released(rows, schema, RETAINED / f"{which}-whole-{release}", 1.0)
        asked = Questions(place, plain if "kind" in plain else LOGISTIC | plain)
        yield asked.planned[0], asked.synthetic[0], positions(rows, schema), (rows, schema, Path(folder), asked)


def accuracy(place: Any, cell: Row, draws: int) -> Row:
    """The root mean square error of one way, in the private table's own standard errors."""
    planned, synthetic, rows, (table_, schema, folder, asked) = place
    own = Law.of(planned.law.template, rows, float(len(next(iter(rows.values())))))
    none, way = np.zeros_like(own.beta), cell["way"]
    truth, error = own.coefficients(none), np.sqrt((own.influences(none) ** 2) @ own.w)
    if way == SUM:
        more = Questions(released(table_, schema, folder / f"s{cell['epsilon']}", 1 + cell["epsilon"]), asked.plain)
        synthetic = more.synthetic[0]
    results = [np.array([synthetic[n] for n in planned.names])]
    if way == ANSWER:
        results = [answered(planned, rows, cell["epsilon"]).values for _ in range(draws)]
    return {"error": float(np.sqrt(np.mean(((np.array(results) - truth) / error) ** 2)))}


def markdown(rows: list[Row]) -> str:
    """Errors by question and way, an epsilon a column."""
    asked = list(ASKED)
    rows = sorted(rows, key=lambda r: (asked.index(r["question"]), WAYS.index(r["way"]), r["epsilon"]))
    return across(rows, ("question", "way"), "epsilon", "error", 2)


def main(given) -> None:
    axes = {"question": list(ASKED), "seed": range(given.releases), "epsilon": given.epsilons, "way": WAYS}
    one = partial(accuracy, draws=given.draws)
    print(markdown(measured(given, grid(**axes), one, prepare=case, by=("question", "seed"))))


if __name__ == "__main__":
    start(main, public=True, json="verified", epsilons=[0.1, 0.2, 0.5], releases=2, draws=6)
