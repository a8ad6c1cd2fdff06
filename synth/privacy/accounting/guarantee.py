"""Which epsilon and delta are a privacy guarantee that can be computed exactly.

Proof note: synth/mechanisms/counts.md.
"""

from synth.errors import UsageError

MOST_EPSILON = 1e6  # far below, nothing is protected any more
MOST_DELTA, MUCH_DELTA = 0.1, 1e-3  # beyond the first it is refused; beyond the second a run says what it means
LEAST_EPSILON, LEAST_DELTA = 1e-4, 1e-20  # below these the inverses of the profiles lose their exactness


def check(epsilon: float, delta: float, *, pure: bool = False) -> None:
    """Refuses an epsilon or delta that is no privacy guarantee; ``pure``: delta may be 0. Errors: UsageError.

    Privacy: public only.
    """
    if not (isinstance(epsilon, int | float) and 0 < epsilon <= MOST_EPSILON):
        raise UsageError(
            f"epsilon {_short(epsilon)} is not a finite number above 0 and at most {MOST_EPSILON:g}; 0.1 to 10 is usual"
        )
    if epsilon < LEAST_EPSILON:
        raise UsageError(
            f"epsilon {epsilon} is below {LEAST_EPSILON:g}, the least that is computed exactly; 0.1 to 10 is usual"
        )
    if pure and isinstance(delta, int | float) and delta == 0:
        return
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise UsageError(f"delta {_short(delta)} must lie between 0 and 1; 1e-5 or less is usual")
    if delta < LEAST_DELTA:
        raise UsageError(f"delta {delta} is below {LEAST_DELTA:g}, the least that is computed exactly; 1e-9 is small")


def check_promise(epsilon: float, delta: float) -> None:
    """As ``check``, of what a run promises: a large delta is no promise, 0 a pure one. Errors: UsageError.

    Privacy: public only.
    """
    check(epsilon, delta, pure=True)
    if delta > MOST_DELTA:
        raise UsageError(
            f"delta {delta:g} is the probability that nothing is promised at all, and at most {MOST_DELTA:g}; "
            "1e-5 or less, and well below one in the number of rows, is usual"
        )


def caution(delta: float) -> str:
    """What to say of a large delta; empty for a usual one. How many rows the table has may be private: it says nothing.

    >>> caution(1e-6), caution(0.01)[:45]
    ('', 'delta 0.01: with this probability nothing is ')

    Privacy: public only.
    """
    if delta <= MUCH_DELTA:
        return ""
    return (
        f"delta {delta:g}: with this probability nothing is promised; 1e-5 or less, and well below one in the number "
        "of the table's rows, is usual"
    )


def _short(value: object) -> str:
    """A figure in a message: an integer may have thousands of digits, which no one may want to turn into text."""
    return "beyond any float" if isinstance(value, int) and abs(value) >= 1 << 64 else str(value)
