"""Tries options as the tests of refusals do and keeps what came of it: the figures of docs/reliability.md.

python -m tests.conformance.refusals_counted           as the quick tests
python -m tests.conformance.refusals_counted --slow    as the slow ones
"""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from synth.generators import GENERATORS
from tests.conformance.refusing import (
    FREE,
    RELATIONS,
    WORDED,
    charged_or,
    inside,
    measured,
    outside,
    pairs,
    reasons,
    settled,
    spends,
    verdict,
)

RETAINED = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "refusals.json"


def outcome(said):
    """In a word what ``charged_or`` says."""
    return said if said in ("ran", "BudgetError", "InputError", "SynthError") else "refused"


def main(book: str) -> None:
    """Tries what the quick tests try and keeps what came of it: a table of docs/reliability.md."""
    quick_ones = [(n, r) for n, r in RELATIONS if settled(n) and r == "add_remove"]
    beyond = Counter(
        outcome(charged_or(book, n, r, {o: v}))
        for n, r in RELATIONS
        for o in GENERATORS[n].ranges
        for v in outside(n, o)
    )
    ends = Counter(
        "refused" if verdict(n, r, {o: v}) else "rehearsed"
        for n, r in quick_ones
        for o in GENERATORS[n].ranges
        for v in inside(n, o)
    )
    words: Counter[str] = Counter()
    for name, relation in WORDED:
        for options in pairs(name, words=True):
            free = verdict(name, relation, options) is None
            words["measured" if free else outcome(charged_or(book, name, relation, options))] += (
                measured(name, relation, options) if free else 1
            )
    named = {"beyond their ends": beyond, "at their ends": ends, "pairs of words": words}
    retained = {
        "methods": len(GENERATORS),
        "with a relation": len(RELATIONS),
        "options": listed_options(),
        "rehearsed methods": len(quick_ones),
        "spends": len(spends(book)),
        **named,
    }
    print(json.dumps(retained, indent=1))
    RETAINED.write_text(json.dumps(retained, indent=1) + "\n")


def listed_options() -> int:
    """Options of all methods together."""
    return sum(len(g.ranges) for g in GENERATORS.values())


def slow(methods: list[str]) -> None:
    """Tries what the slow tests try, of these methods or of all; prints a line for each with a relation, then sums."""
    total: Counter[str] = Counter()
    for name, relation in [(n, r) for n, r in RELATIONS if n in methods or not methods]:
        ends = Counter(
            verdict(name, relation, {o: v}) or FREE for o in GENERATORS[name].ranges for v in inside(name, o)
        )
        both = Counter(reasons(name, relation))
        for what, item in (("ends", ends), ("pairs", both)):
            refused = item.total() - item[FREE]
            chance = sum(n for reason, n in item.items() if "cannot ask its questions" in reason)
            total += Counter({f"{what} rehearsed": item[FREE], f"{what} refused": refused, f"{what} by chance": chance})
            print(name, relation, what, item.total(), f"refused {refused}", f"by chance {chance}", flush=True)
            for reason in item:
                if "cannot ask its questions" in reason:
                    print("   ", reason, flush=True)
    print(dict(total))
    if not methods:
        RETAINED.with_name("refusals_slow.json").write_text(json.dumps(total, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--slow"]:
        slow(sys.argv[2:])
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        main(f"{folder}/ledger.sqlite")
