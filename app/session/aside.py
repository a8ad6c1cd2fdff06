"""Heavy work beside the server: a process of its own, so that pages answer meanwhile and its memory is given back.

The two sides talk in pickles over a pipe; both are this program, run by one user.
"""

import importlib
import json
import os
import pickle
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import synth
from app.session.copies import LOADED, commanded
from synth import app_api
from synth.languages import _

KIND = "--kind"  # the child steps back behind pages, since nobody waits for what it does
KINDNESS = 5  # what it then adds to its nice value
ROOT = Path(__file__).resolve().parents[2]


class TooLongError(Exception):
    """The work was given up after the time it was allowed."""


class Aside:
    """A child process that does one thing at a time; started when first needed, again when it had to be stopped."""

    def __init__(self, *loading: str, kind: bool = False) -> None:
        self._loading = [KIND] * kind + list(loading)  # modules, loaded before the first task comes
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def ask(self, task: str, *arguments: Any, seconds: float, keep: bool = True, **named: Any) -> Any:
        """The answer of a task of ``TASKS``. ``keep``: whether the process stays for the next.

        Errors: TooLongError after ``seconds``; SynthError as the task raised it; RuntimeError for any other fault.
        """
        with self._lock:
            child = self._started()
            try:
                pickle.dump((_settings(), task, arguments, named), child.stdin)  # type: ignore[arg-type]
                child.stdin.flush()  # type: ignore[union-attr]
                if not select.select([child.stdout.fileno()], [], [], seconds)[0]:  # type: ignore[union-attr]
                    raise TooLongError
                good, result = pickle.load(child.stdout)  # type: ignore[arg-type]
            except (OSError, EOFError, pickle.UnpicklingError):
                self._stop()
                raise synth.InputError(
                    _("the work needed more memory than this computer has; nothing is lost")
                ) from None
            except TooLongError:
                self._stop()
                raise
            if not keep:
                self._stop()
        if good:
            return result
        raise result if isinstance(result, synth.SynthError) else RuntimeError(result)

    @property
    def busy(self) -> bool:
        """Whether it is at a task: another one would have to wait."""
        return self._lock.locked()

    @property
    def there(self) -> bool:
        """Whether its process has been started and lives."""
        return self._child is not None and self._child.poll() is None

    def warm(self) -> None:
        """Starts the process without waiting for it."""
        if self._lock.acquire(blocking=False):
            self._started()
            self._lock.release()

    def rest(self) -> None:
        """Ends the process where it is idle, so that a run has its memory; the next task starts it again."""
        if self._lock.acquire(blocking=False):
            self._stop()
            self._lock.release()

    def _started(self) -> subprocess.Popen[bytes]:
        if not self.there:
            path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
            env = {
                **os.environ,
                "PYTHONPATH": path,
                "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
                "JE_ARROW_MALLOC_CONF": "background_thread:false",
            }  # it can be copied without threads
            self._child = subprocess.Popen(
                [sys.executable, "-m", "app.session.aside", *self._loading],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=env,
            )
        return self._child  # type: ignore[return-value]

    def _stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None


def _settings() -> dict[str, str]:
    """What the environment says of the home, the ledger and the rights: told with each task, followed for it."""
    return {k: v for k, v in os.environ.items() if k.startswith("SYNTH_")}


def forecasts(text: str, epsilons: list[float], *, within: float, **asked: Any) -> list[Any]:
    """``synth.plan`` for each epsilon, in order; those begun ``within`` so many seconds, at least the first."""
    schema, began = app_api.parse_schema(json.loads(text)), time.monotonic()
    result: list[Any] = []
    for epsilon in epsilons:
        if not result or time.monotonic() - began < within:
            result.append(synth.plan(schema, epsilon=epsilon, **asked))
    return result


def compared_across(real: str, release: str, schema: str) -> Any:
    """``app_api.appraise_related`` on folders of tables."""
    return app_api.appraise_related(real, release, app_api.load_related(schema))


def compared_alone(real: str, release: str, name: str) -> Any:
    """``app_api.appraise`` on one of several tables."""
    schema = app_api.load_related(Path(release) / "schema.json").tables[name]
    return app_api.appraise(app_api.tables_in(Path(real))[name], Path(release) / f"{name}.csv", schema)


def sampled_into(model: str, out: str, **asked: Any) -> tuple[dict[str, int], float]:
    """``app_api.sample_to``: rows by table, and the probability of the condition."""
    return app_api.sample_to(model, out, **asked)[:2]


def compared(table: str, release: str) -> Any:
    """``app_api.appraise`` on a release, with what its card says of the fit; and the verdict that leaves with it."""
    place = Path(release)
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    schema = synth.Schema.load(place / "schema.json")
    result, said = app_api.appraise(table, place / "synthetic.csv", schema, fit=card.get("fit"))
    return result, said, app_api.released_verdict(release)


def sampled(model: str, **asked: Any) -> tuple[int, float]:
    """``synth.sample`` to a file: how many rows, and the probability of the condition."""
    rows, probability = synth.sample(model, **asked)
    return len(rows), probability


def listed(source: str) -> list[str]:
    """``app_api.databases.tables``."""
    return app_api.databases.tables(source)


def fetched(source: str | None, table: str, out: str, schema: str) -> None:
    """``app_api.databases.fetch`` of a description's columns; of related tables of each, into a folder."""
    facts = app_api.parse_schema(json.loads(Path(schema).read_text(encoding="utf-8")))
    if facts.several:
        for name, one in facts.tables.items():
            app_api.databases.fetch(source, name, str(Path(out) / f"{name}.parquet"), columns=list(one.columns))
        return
    app_api.databases.fetch(source, table, out, columns=list(facts.all_columns))


def decided(counts: str, releases: list[str]) -> list[float]:
    """``app_api.choice_distances``."""
    return app_api.choice_distances(counts, releases)


def decidable(releases: list[str], columns: list[str] | None = None) -> tuple[list[str], list[str]]:
    """``app_api.choice_columns``, and its ``choice_questions`` about those ``columns``, by default the first three."""
    names = app_api.choice_columns(releases)
    schema = synth.Schema.load(Path(releases[0]) / "schema.json")
    return names, app_api.choice_questions(schema, [n for n in columns or names[:3] if n in names])


def charged_before(table: str | None, text: str, person: str, **asked: Any) -> list[str]:
    """``app_api.charged_before``, as far as this person may know."""
    facts = app_api.parse_schema(json.loads(text))
    return app_api.charged_before(table, schema=facts, audience=app_api.audience_of(person), **asked)


def rough_rows(table: str, text: str, source: str | None) -> int:
    """``app_api.rough_rows``; of several tables, of the root."""
    facts = app_api.parse_schema(json.loads(text))
    place: str | Path = table
    if facts.several:
        place = facts.root if source is not None else app_api.tables_in(Path(table))[facts.root]
    return app_api.rough_rows(place, schema=facts.tables[facts.root], source=source)


def standing(release: str, real: str | None = None) -> dict[str, int]:
    """``app_api.standing``, or with the real table ``app_api.standing_rare``."""
    return app_api.standing(release) if real is None else app_api.standing_rare(release, real)


def comparing() -> None:
    """Loads what comparisons and scores need."""
    for name in ("synth.evaluate.examination", "sdmetrics.reports.single_table", "sklearn.ensemble"):
        with suppress(ImportError):  # the scores' libraries are an extra
            importlib.import_module(name)


def prior_look(text: str, paths: list[str], **asked: Any) -> Any:
    """``app_api.prior_look``."""
    return app_api.prior_look(paths, schema=synth.Schema.parse(json.loads(text)), **asked)


def prior_worth(text: str, *, prior: list[str], **asked: Any) -> Any:
    """``app_api.prior_worth``."""
    return app_api.prior_worth(synth.Schema.parse(json.loads(text)), prior, **asked)


def previewed(text: str, out: str, **asked: Any) -> tuple[Any, str]:
    """``app_api.preview``: the comparison with the rows that stood in, and the folder."""
    schema = synth.Schema.parse(json.loads(text))
    paths = app_api.preview(schema, out, **asked).paths
    return app_api.appraise(paths["twin"], paths["synthetic"], schema)[0], out


def evidence(release: str) -> Any:
    """``app_api.prior_evidence``."""
    return app_api.prior_evidence(release)


def methods(*, tree: bool = False) -> Any:
    """``synth.methods``."""
    return synth.methods(tree=tree)


TASKS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        methods,
        comparing,
        forecasts,
        compared_across,
        compared_alone,
        sampled_into,
        compared,
        sampled,
        listed,
        fetched,
        decided,
        decidable,
        standing,
        charged_before,
        rough_rows,
        commanded,
        prior_look,
        prior_worth,
        previewed,
        evidence,
    )
}
planner, worker, runner = Aside(kind=True), Aside(), Aside(*LOADED)


def serve() -> None:
    """The child's side: reads tasks until its parent is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not get between the answers
    if KIND in sys.argv:
        os.nice(KINDNESS)
    for name in sys.argv[1:]:
        if name != KIND:
            importlib.import_module(name)
    synth.plan  # noqa: B018 - loads what every forecast needs
    while True:
        try:
            settings, task, arguments, named = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for name in _settings().keys() - settings.keys():
            del os.environ[name]
        os.environ.update(settings)
        try:
            answer = (True, TASKS[task](*arguments, **named))
        except synth.SynthError as error:
            answer = (False, error)
        except Exception as error:
            answer = (False, type(error).__name__)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    # so that both sides name the same classes

    serve()
