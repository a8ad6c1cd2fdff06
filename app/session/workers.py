"""Heavy work beside the server: each task in a process of its own, which ends with it and gives its memory back.

They are copies of one process that has loaded the library. What a page waits for is begun once, and remembered for
equal requests.
"""

import importlib
import json
import multiprocessing
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import synth
from app.session import frame, tasks
from app.session.tasks import Task
from synth.languages import _, current

LOADED = (
    "app.session.tasks",
    "synth.pipeline.plan",
    "synth.pipeline.sample",
    "synth.sources.drafting",
    "synth.report.bundle",
    "synth.report.publish",
    "synth.evaluate.examination",
    "sklearn.ensemble",
    "sdmetrics.reports.single_table",
)  # what tasks need; none of it may start a thread, whose locks a copy would find closed for ever
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
RETAINED = 256  # answers that are remembered
RETRIED = 5.0  # seconds after a failure from which on it is tried anew: who draws a page at its end must meet it first
LOOK = 0.2  # seconds between looks at what is worked out: a click is heard at each
Key = tuple[Any, ...]

_copies = multiprocessing.get_context("forkserver")
_copies.set_forkserver_preload(list(LOADED))
FORECASTS = ThreadPoolExecutor(1, thread_name_prefix="forecast")  # in turn: each is a moment's work
BESIDE = ThreadPoolExecutor(4, thread_name_prefix="beside")
_known: OrderedDict[Key, Future[Any]] = OrderedDict()
_ended: WeakKeyDictionary[Future[Any], float] = WeakKeyDictionary()
_turn = threading.Lock()


class TooLongError(Exception):
    """The work was given up after the time it was allowed."""


def warm() -> None:
    """Starts the process that others are copies of, where it is not there; it goes on loading meanwhile."""
    with _turn:
        before = {name: os.environ.get(name) for name in QUIET}
        os.environ.update({n: v for n, v in QUIET.items() if before[n] is None})
        try:
            forkserver.ensure_running()
        finally:
            for name in (n for n in QUIET if before[n] is None):
                os.environ.pop(name, None)


def ask(task: Task, *arguments: Any, seconds: float, kind: bool = False, late: str = "", **named: Any) -> Any:
    """The answer of a task. ``kind``: it steps back behind pages; ``late``: what is said of one that takes longer than
    ``seconds``.

    Errors: InputError with these words, or TooLongError without; SynthError as the task raised it; RuntimeError for any
    other fault.
    """
    warm()
    here, there = _copies.Pipe(duplex=False)
    asked = (there, tasks.settings(), kind, task, arguments, named)
    worker = _copies.Process(target=tasks.work, args=asked, daemon=True)
    worker.start()
    there.close()
    try:
        if not here.poll(seconds):
            raise synth.InputError(late) if late else TooLongError
        good, result = here.recv()
    except (OSError, EOFError):
        raise synth.InputError(_("the work needed more memory than this computer has; nothing is lost")) from None
    finally:
        worker.kill()
        worker.join()
        here.close()
    if good:
        return result
    raise result if isinstance(result, synth.SynthError) else RuntimeError(result)


def begun(
    who: str,
    task: Callable[..., Any],
    *arguments: Any,
    seconds: float,
    pool: ThreadPoolExecutor = FORECASTS,
    **named: Any,
) -> Future[Any]:
    """A forecast that is under way or known; its answer is None where it takes longer than ``seconds``. ``pool``: whose
    turns it waits for.

    ``who`` is part of what is remembered, since nobody must learn from a quick answer what another asked. What failed
    is tried anew by the next who asks ``RETRIED`` seconds later.
    """

    def work() -> Any:
        try:
            return ask(task, *arguments, seconds=seconds, kind=True, **named)
        except TooLongError:
            return None

    return once((who, task.__name__, arguments, seconds, json.dumps(named, sort_keys=True)), work, pool=pool)


def once(key: Key, task: Callable[[], Any], *, pool: ThreadPoolExecutor = BESIDE) -> Future[Any]:
    """What is worked out beside the page: under way, known, or begun now. ``key``: all it depends on."""
    with _turn:
        entry = _known.get(key)
        if entry is None or _stale(entry):
            entry = _known[key] = pool.submit(task)
            entry.add_done_callback(lambda ended: _ended.__setitem__(ended, time.monotonic()))
        _known.move_to_end(key)
        while len(_known) > RETAINED:
            _known.popitem(last=False)
        return entry


def of_release(release: Path, task: Task, *arguments: Any, seconds: float) -> Future[Any]:
    """The answer of a task that a release alone decides, whose card names the tables' bytes; worked out once."""
    card = release / "card.json"
    key = (task, str(card), card.stat().st_mtime_ns, *arguments, current())
    return once(key, lambda: ask(task, str(release), *arguments, seconds=seconds))


def _stale(result: Future[Any]) -> bool:
    """Whether it failed, and not just now."""
    now = time.monotonic()
    return result.done() and result.exception() is not None and now - _ended.get(result, now) > RETRIED


def over(wanted: Iterable[Future[Any]], *, patience: float) -> bool:
    """Whether all of them have ended, waiting so many seconds for each at most."""
    try:
        for one in wanted:
            one.exception(timeout=patience)
    except NotYetError:
        return False
    return True


def then(wanted: list[Future[Any]], place: Any, show: Callable[[], None], *, about: str) -> None:
    """Shows at a place what needs these answers once they are there; before, that and how long they are worked out.

    What stands below was drawn before, and a click on it ends the waiting. ``about``: what is worked out.
    """
    slot, began = place.empty(), time.monotonic()
    while not over(wanted, patience=LOOK):
        said = _(":material/hourglass_top: {about} ({monotonic:.0f} s). Go on meanwhile.")
        slot.caption(said.format(about=about, monotonic=time.monotonic() - began))
    with slot.container(), frame.told():
        show()


def soon(task: Callable[[], Any], *, seconds: float) -> None:
    """Does something in the background, after a time in which the page that was just asked for is drawn."""

    def quietly() -> None:
        with suppress(synth.SynthError, OSError):  # it is told where its outcome is asked for
            task()

    timer = threading.Timer(seconds, quietly)
    timer.daemon = True
    timer.start()


def load(names: Iterable[str]) -> None:
    """Loads modules of later pages; the collector of garbage passes over all that is there from then on: the framework
    has it look after each script, and libraries are none."""
    import gc

    for name in names:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
