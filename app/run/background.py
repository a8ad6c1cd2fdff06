"""What is worked out beside the server while a page stands: begun once, remembered for equal requests."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import Any
from weakref import WeakKeyDictionary

import synth
from app.session import frame
from app.session.aside import TooLongError, planner

KEPT = 256  # answers that are remembered
RETRIED = 5.0  # seconds after a failure from which on it is tried anew: who draws a page at its end must meet it first
LOOK = 0.2  # seconds between looks at what is worked out: a click is heard at each
Key = tuple[str, str, tuple[Any, ...], float, str]

_pool = ThreadPoolExecutor(1, thread_name_prefix="forecast")
_known: OrderedDict[Key, Future[Any]] = OrderedDict()
_ended: WeakKeyDictionary[Future[Any], float] = WeakKeyDictionary()
_turn = threading.Lock()


def begun(who: str, task: str, *arguments: Any, seconds: float, **named: Any) -> Future[Any]:
    """A task of the planner that is under way or known; its answer is None where it takes longer than ``seconds``.

    ``who`` is part of what is remembered, since nobody must learn from a quick answer what another asked. What failed
    is tried anew by the next who asks ``RETRIED`` seconds later.
    """
    key = (who, task, arguments, seconds, json.dumps(named, sort_keys=True))
    with _turn:
        found = _known.get(key)
        if found is None or _stale(found):
            found = _known[key] = _pool.submit(_work, *key)
            found.add_done_callback(lambda ended: _ended.__setitem__(ended, time.monotonic()))
        _known.move_to_end(key)
        while len(_known) > KEPT:
            _known.popitem(last=False)
        return found


def _stale(found: Future[Any]) -> bool:
    """Whether it failed, and not just now."""
    now = time.monotonic()
    return found.done() and found.exception() is not None and now - _ended.get(found, now) > RETRIED


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


def then(wanted: list[Future[Any]], place: Any, show: Callable[[], None]) -> None:
    """Shows at a place what needs these answers once they are there; before, that they are being worked out.

    What stands below was drawn before, and a click on it ends the waiting.
    """
    slot = place.empty()
    while not over(wanted, patience=LOOK):
        slot.caption(":material/hourglass_top: Noise, time and memory are being worked out. Go on meanwhile.")
    try:
        with slot.container():
            show()
    except synth.SynthError as error:
        frame.tell(error)


def soon(task: Callable[[], Any], *, seconds: float) -> None:
    """Does something in the background, after a time in which the page that was just asked for is drawn."""
    timer = threading.Timer(seconds, task)
    timer.daemon = True
    timer.start()
