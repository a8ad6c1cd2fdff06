"""Verified answers: how far they are from the private table's own, beside other ways to the same regression.

    python benchmarks/verified.py [--parts accuracy,rivals,limits,speed] [--epsilons 0.1,0.2,0.5] [--releases 2]
                                  [--draws 6]

Accuracy: regressions on Adult and on NIST's excerpt of the American Community Survey, of which ``--releases`` are made
by mixture at epsilon 1; an error is the root mean square over coefficients, in standard errors of the private table's
own estimate. Beside the answer stand the synthetic rows alone; a release that has the answer's epsilon too; two plain
Newton steps on clipped contributions, as they come; and, without a release but with both epsilons, noisy gradients from
zero, and for a linear model AdaSSP (arXiv 1803.02596).

Rivals: regressions of diffprivlib (an environment of its own, build/diffprivlib) and DP-SGD by opacus, without a
release but with both epsilons, on columns divided by their greatest values; of three learning rates the best.
Limits: by how much one row moves a coefficient, and the noise that hides it: what any added noise must be.
Speed: a question about Adult from the command to the written answer, by the clock and the processor's.
Prints Markdown; lines that the JSON, benchmarks/results/verified.json, holds are passed over.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from markdown_tables import means
from public_tables import prepared, public
from runner import ROOT, Row, answer_of, environment, grid, measured, spent, start

import synth
from synth.generators.base import Run, Setting
from synth.mechanisms import embeddings
from synth.pipeline.verified import Questions
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.sources.table_source import place_of
from synth.verified import language
from synth.verified.asking import VerifiedQuestions
from synth.verified.inference import solved
from synth.verified.law import Law
from synth.verified.plan import Planned
from synth.verified.plan import measured as of_release

DELTA = 1e-5
RETAINED = ROOT / "build" / "verified"  # releases at epsilon 1, made once
ANSWER, ALONE, SUM = "verified answer", "synthetic rows alone", "all epsilon into the release"
PLAIN, GRADIENTS, ADASSP = "two plain Newton steps", "noisy gradients, no release", "AdaSSP, no release"
WAYS = (ANSWER, ALONE, SUM, PLAIN, GRADIENTS, ADASSP)
DIFFPRIVLIB, OPACUS = "diffprivlib, no release", "DP-SGD by opacus, no release"
PACKAGES = ("diffprivlib==0.6.6", "scikit-learn==1.6.1")
INSIDE = {  # files of x (p, n) of unit length at most and y within 0 and 1; prints coefficients of each draw
    DIFFPRIVLIB: """
import json, sys, numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression
place, link, epsilon, draws = sys.argv[1:]
held = np.load(place)
x, y, made = held["x"].T, held["y"], []
for _ in range(int(draws)):
    if link == "logistic":
        model = LogisticRegression(epsilon=float(epsilon), data_norm=1.0, fit_intercept=False, max_iter=500)
        made.append(model.fit(x, y.astype(int)).coef_[0].tolist())
    else:
        bounds = (np.minimum(x.min(0), 0.0), np.maximum(x.max(0), 1e-9))
        model = LinearRegression(epsilon=float(epsilon), bounds_X=bounds, bounds_y=(0.0, 1.0), fit_intercept=False)
        made.append(np.ravel(model.fit(x, y).coef_).tolist())
print(json.dumps({"0": made}))
""",
    OPACUS: """
import json, sys, warnings, numpy as np, torch
warnings.filterwarnings("ignore")
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset
place, link, epsilon, draws = sys.argv[1:]
held = np.load(place)
x, y = (torch.tensor(held[n].T, dtype=torch.float32) for n in ("x", "y"))
loss = torch.nn.BCEWithLogitsLoss() if link == "logistic" else torch.nn.MSELoss()
made = {}
for rate in (3.0, 10.0, 30.0):
    for _ in range(int(draws)):
        model = torch.nn.Linear(x.shape[1], 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        step = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
        rows = DataLoader(TensorDataset(x, y), batch_size=4096)
        model, step, rows = PrivacyEngine().make_private_with_epsilon(
            module=model, optimizer=step, data_loader=rows, target_epsilon=float(epsilon), target_delta=1e-5,
            epochs=10, max_grad_norm=1.0)
        for _ in range(10):
            for some, own in rows:
                step.zero_grad()
                loss(model(some)[:, 0], own).backward()
                step.step()
        made.setdefault(str(rate), []).append(model._module.weight.detach()[0].tolist())
print(json.dumps(made))
""",
}
ADULT = "income ~ age + Q('education-num') + Q('hours-per-week') + C(sex)"
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "Adult, gains and losses": (
        "adult",
        {"formula": f"{ADULT} + I(`capital-gain` > 0) + I(`capital-loss` > 0)"},
    ),
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


def plain_steps(planned: Planned, x: np.ndarray, y: np.ndarray, mu: float, rng: np.random.Generator) -> np.ndarray:
    """Two steps of half the budget each, contributions cut at ten in whitened coordinates and taken as they come."""
    law, none = planned.law, np.zeros_like(planned.law.beta)
    at = law.coefficients(none)
    for _ in range(2):
        score = planned.law.score(at, 10.0, planned.whitening)
        reported = score.clipped(x, y, np.ones_like(y)).sum(1) + rng.standard_normal(score.dim) * 2**0.5 / mu
        _, move = law.predicted(score, none)
        at = at + law.slope(none) @ np.linalg.solve(move, reported)
    return at


def scaled(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns divided by what they can be at most, so that no row is longer than one; outcomes by their greatest."""
    size = np.abs(x).max(axis=1) * len(x) ** 0.5
    return x / size[:, None], y, size


def gradients(law: Law, x: np.ndarray, y: np.ndarray, mu: float, rng: np.random.Generator) -> np.ndarray:
    """Full-batch gradient descent from zero in sixty noisy steps; rows are clipped at one."""
    z, y, size = scaled(x, y)
    beta, speed, steps, link = np.zeros(len(z)), np.zeros(len(z)), 60, law.template.link
    top = 1.0 if link == "logistic" else float(np.abs(y).max())
    for _ in range(steps):
        eta = beta @ z
        r = y - 1 / (1 + np.exp(-eta)) if link == "logistic" else (y / top - eta)
        reported = z @ np.clip(r, -1, 1) + rng.standard_normal(len(z)) * steps**0.5 / mu
        speed = 0.9 * speed + reported / (0.25 * len(y) if link == "logistic" else len(y))
        beta = beta + speed
    return beta * (1.0 if link == "logistic" else top) / size


def adassp(x: np.ndarray, y: np.ndarray, mu: float, rng: np.random.Generator) -> np.ndarray:
    """Noisy moments of scaled rows, a third of the budget each, with a ridge by the noisy least eigenvalue."""
    z, y, size = scaled(x, y)
    top, wide, sigma = float(np.abs(y).max()), len(z), 3**0.5 / mu
    noise = rng.standard_normal((wide, wide)) * sigma
    moments, cross = z @ z.T, z @ (y / top) + rng.standard_normal(wide) * sigma
    least = max(float(np.linalg.eigvalsh(moments)[0]) + sigma * float(rng.standard_normal()) - 3 * sigma, 0.0)
    ridge = max(0.0, sigma * (wide * np.log(2 * wide**2 / 0.05)) ** 0.5 - least)
    upper = np.triu(noise) + np.triu(noise, 1).T
    return np.linalg.solve(moments + upper + ridge * np.eye(wide), cross) * top / size


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
    none, rng = np.zeros_like(own.beta), np.random.default_rng()
    truth, error = own.coefficients(none), np.sqrt((own.influences(none) ** 2) @ own.w)
    x, y, here = planned.law.template.design(rows)
    x, y, mu, way = x[:, here > 0], y[here > 0], calibrate(cell["epsilon"], DELTA), cell["way"]
    whole = calibrate(1 + cell["epsilon"], DELTA)
    if way == ADASSP and planned.law.template.link != "linear":
        return {"error": None}
    if way == SUM:
        more = Questions(released(table_, schema, folder / f"s{cell['epsilon']}", 1 + cell["epsilon"]), asked.plain)
        synthetic = more.synthetic[0]
    if way in (ALONE, SUM):
        results = [np.array([synthetic[n] for n in planned.names])]
    elif way == ANSWER:
        results = [answered(planned, rows, cell["epsilon"]).values for _ in range(draws)]
    elif way == PLAIN:
        results = [plain_steps(planned, x, y, mu, rng) for _ in range(draws)]
    elif way == GRADIENTS:
        results = [gradients(own, x, y, whole, rng) for _ in range(draws)]
    else:
        results = [adassp(x, y, whole, rng) for _ in range(draws)]
    return {"error": float(np.sqrt(np.mean(((np.array(results) - truth) / error) ** 2)))}


@contextmanager
def private(name: str) -> Iterator[tuple[Any, ...]]:
    """A question's sums, and the private rows; no release."""
    which, plain = ASKED[name]
    with table(which) as (rows, schema), TemporaryDirectory() as folder:
        (question,) = language.read(plain if "kind" in plain else LOGISTIC | plain, schema)
        yield question.score, positions(rows, schema), Path(folder)


def rival(place: Any, cell: Row, draws: int) -> Row:
    """As ``accuracy``, of a regression by another project."""
    score, rows, folder = place
    own = Law.of(score, rows, float(len(next(iter(rows.values())))))
    none = np.zeros_like(own.beta)
    truth, error = own.coefficients(none), np.sqrt((own.influences(none) ** 2) @ own.w)
    z, y, size = scaled(own.x, own.y)
    top = 1.0 if score.link == "logistic" else float(np.abs(y).max())
    np.savez(folder / "rows.npz", x=z, y=y / top)
    python = environment("diffprivlib", *PACKAGES) if cell["way"] == DIFFPRIVLIB else sys.executable
    asked = [python, "-c", INSIDE[cell["way"]], folder / "rows.npz", score.link, 1 + cell["epsilon"], draws]
    made = answer_of(asked, most=900.0)
    if "failed" in made:
        return {"error": None, "failed": made["failed"][:200]}
    errors = [np.mean(((np.array(v) * top / size - truth) / error) ** 2) ** 0.5 for v in made.values()]
    return {"error": float(min(errors))}


def limits(place: Any, _cell: Row) -> list[Row]:
    """By coefficient how far one row moves the plain analysis, in its standard errors, and the five farthest's part."""
    score, rows, _ = place
    own = Law.of(score, rows, float(len(next(iter(rows.values())))))
    squares = own.influences(np.zeros_like(own.beta)) ** 2
    variance = squares @ own.w
    ordered = np.sort(squares, axis=1)
    worst = int(np.argmax(ordered[:, -1] / variance))
    farthest = float((ordered[worst, -1] / variance[worst]) ** 0.5)
    noise = {f"noise {e:g}": farthest / calibrate(e, DELTA) for e in (0.1, 0.2, 0.5)}
    return [{"farthest": farthest, "five": float(ordered[worst, -5:].sum() / variance[worst]), **noise}]


@contextmanager
def files(_part: str) -> Iterator[Path]:
    """A folder of Adult, its schema, a release and a ledger that knows it."""
    with prepared("adult") as folder:
        RETAINED.mkdir(parents=True, exist_ok=True)
        schema = synth.Schema.load(folder / "schema.json")
        (folder / "release").symlink_to(released(folder / "train.csv", schema, RETAINED / "adult-whole-0", 1.0))
        yield folder


def speed(folder: Path, cell: Row) -> Row:
    """Seconds of `synth ask` on Adult, from the start of the command to the written answer and its page."""
    plain: dict[str, Any] = {"kind": "mean", "column": "age"}
    (folder / "q.json").write_text(json.dumps(plain if cell["asked"] == "mean" else LOGISTIC | ASKED[cell["asked"]][1]))
    how = ["--schema", folder / "schema.json", "--epsilon", 0.2, "--ledger", folder / "l.sqlite", "--separate"]
    how += ["--dataset", "adult", "--out", folder / "answer.json", "--table", folder / "train.csv"]
    cost, _ = spent(sys.executable, "-m", "synth", "ask", folder / "release", folder / "q.json", *how)
    return {n: cost[n] for n in ("seconds", "cpu_seconds")}


def markdown(rows: list[Row]) -> str:
    """Errors by way and epsilon."""
    reported = [r for r in rows if r.get("part") == "accuracy" and r["error"] is not None]
    ways, asked = [*WAYS, *INSIDE], list(ASKED)
    reported.sort(key=lambda r: (asked.index(r["question"]), r["epsilon"], ways.index(r["way"])))
    return means(reported, by=("question", "way", "epsilon"), columns={"error": ("error, standard errors", 2)})


def main(given) -> None:
    lines = []
    if "accuracy" in given.parts:
        axes = {"question": list(ASKED), "seed": range(given.releases), "epsilon": given.epsilons, "way": WAYS}
        cells = grid(part=["accuracy"], **axes)
        one = partial(accuracy, draws=given.draws)
        lines = measured(given, cells, one, prepare=case, by=("question", "seed"))
        print(markdown(lines))
    if "rivals" in given.parts:
        axes = {"question": list(ASKED), "epsilon": given.epsilons, "way": list(INSIDE)}
        lines = measured(
            given, grid(part=["accuracy"], **axes), partial(rival, draws=2), prepare=private, by=("question",)
        )
        print(markdown(lines))
    if "speed" in given.parts:
        cells = grid(part=["speed"], asked=["mean", next(iter(ASKED))], seed=range(3))
        measured(given, cells, speed, prepare=files, by=("part",))
    if "limits" in given.parts:
        measured(given, grid(part=["limits"], question=list(ASKED)), limits, prepare=private, by=("question",))


if __name__ == "__main__":
    usual = {"epsilons": [0.1, 0.2, 0.5], "releases": 2, "draws": 6}
    start(main, public=True, json="verified", parts=["accuracy", "rivals", "limits", "speed"], **usual)
