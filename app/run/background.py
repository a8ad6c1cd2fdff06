"""What is worked out beside the server while a page stands: begun once, remembered for equal requests."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import synth
from app.session import frame
from app.session.aside import TooLongError, planner
from synth.languages import _

RETAINED = 256  # answers that are remembered
RETRIED = 5.0  # seconds after a failure from which on it is tried anew: who draws a page at its end must meet it first
LOOK = 0.2  # seconds between looks at what is worked out: a click is heard at each
Key = tuple[Any, ...]

_pool = ThreadPoolExecutor(1, thread_name_prefix="forecast")
_beside = ThreadPoolExecutor(4, thread_name_prefix="beside")  # what waits for other processes than the planner
_known: OrderedDict[Key, Future[Any]] = OrderedDict()
_ended: WeakKeyDictionary[Future[Any], float] = WeakKeyDictionary()
_turn = threading.Lock()


def begun(who: str, task: str, *arguments: Any, seconds: float, **named: Any) -> Future[Any]:
    """A task of the planner that is under way or known; its answer is None where it takes longer than ``seconds``.

    ``who`` is part of what is remembered, since nobody must learn from a quick answer what another asked. What failed
    is tried anew by the next who asks ``RETRIED`` seconds later.
    """
    key = (who, task, arguments, seconds, json.dumps(named, sort_keys=True))
    return _remembered(_pool, key, lambda: _work(*key))


def once(key: Key, task: Callable[[], Any]) -> Future[Any]:
    """Anything else that is worked out beside the page: under way, known, or begun now. ``key``: all it depends on."""
    return _remembered(_beside, key, task)


def _remembered(pool: ThreadPoolExecutor, key: Key, task: Callable[[], Any]) -> Future[Any]:
    with _turn:
        entry = _known.get(key)
        if entry is None or _stale(entry):
            entry = _known[key] = pool.submit(task)
            entry.add_done_callback(lambda ended: _ended.__setitem__(ended, time.monotonic()))
        _known.move_to_end(key)
        while len(_known) > RETAINED:
            _known.popitem(last=False)
        return entry


def _stale(result: Future[Any]) -> bool:
    """Whether it failed, and not just now."""
    now = time.monotonic()
    return result.done() and result.exception() is not None and now - _ended.get(result, now) > RETRIED


def _work(_who: str, task: str, arguments: tuple[Any, ...], seconds: float, named: str) -> Any:
    """The answer, or None where it takes too long: remembered too, so that nobody waits twice."""
    try:
        return planner.ask(task, *arguments, seconds=seconds, **json.loads(named))
    except TooLongError:
        return None


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
        slot.caption(
            _(":material/hourglass_top: {about} ({monotonic:.0f} s). Go on meanwhile.").format(
                about=about, monotonic=time.monotonic() - began
            )
        )
    try:
        with slot.container():
            show()
    except synth.SynthError as error:
        frame.tell(error)


def soon(task: Callable[[], Any], *, seconds: float) -> None:
    """Does something in the background, after a time in which the page that was just asked for is drawn."""

    def quietly() -> None:
        with suppress(synth.SynthError, OSError):  # it is told where its outcome is asked for
            task()

    timer = threading.Timer(seconds, quietly)
    timer.daemon = True
    timer.start()
