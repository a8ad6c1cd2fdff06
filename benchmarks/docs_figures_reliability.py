"""Tables of docs/reliability.md: faults, options at and beyond their ends, precision attacks."""

from collections.abc import Callable
from typing import Any

from markdown_tables import figure, table

Kept = Callable[[str], Any]
DEEDS = {
    "spend": "a spend on a ledger with a policy",
    "first": "first start: file, key, policy, spend, fingerprint",
    "bundle": "a bundle of a release",
    "job": "a whole run",
}
NOISES = {
    "naive Laplace": "Laplace, added in floating point",
    "naive Gaussian": "Gaussian, added in floating point",
    "ours": "ours",
}
TRIED = {
    "beyond their ends": "options beyond their ends and values that are none, by whole runs",
    "at their ends": "options at their ends, by the rehearsal, {} methods under add_remove",
    "pairs of words": "pairs of words that may conflict, by whole runs and by the real curator",
}


def faults(kept: Kept) -> str:
    """A line a deed: how many system calls were struck, and how it ended."""
    lines = []
    for deed, named in DEEDS.items():
        found = kept("faults")[deed]
        ends = found["ends"]
        refused = sum(n for end, n in ends.items() if end not in ("killed", "ok", "code0"))
        every = "" if found["stride"] == 1 else f", every {found['stride']}th call"
        lines.append(
            [
                named + every,
                str(found["calls"]),
                str(found["faults"]),
                str(ends.get("killed", 0)),
                f"{refused}" + (f", of them {ends['code5']} with exit code 5, spent" if "code5" in ends else ""),
                str(ends.get("ok", 0) + ends.get("code0", 0)),
            ]
        )
    heads = ["operation", "calls", "faults", "killed", "refused in one line", "went through"]
    return table(heads, lines)


def refusals(kept: Kept) -> str:
    """A line a kind of trial: how many values were refused before the spend, and how many went on."""
    found = kept("refusals")
    lines = []
    for what, named in TRIED.items():
        ends = found[what]
        on = ", ".join(f"{n} {w}" for w, n in ends.items() if w in ("measured", "rehearsed")) or "-"
        vain = sum(n for w, n in ends.items() if w not in ("refused", "measured", "rehearsed"))
        lines.append(
            [
                named.format(found["rehearsed methods"]),
                figure(sum(ends.values()), 0),
                figure(ends.get("refused", 0), 0),
                on,
                str(vain),
            ]
        )
    lines.append(
        [
            f"all: {found['methods']} methods, {found['with a relation']} with their relations, "
            f"{found['options']} options",
            "",
            "",
            "",
            f"{found['spends']} spends",
        ]
    )
    return table(["", "tried", "refused before the spend", "went on", "spent in vain"], lines)


def ends(kept: Kept) -> str:
    """Options at their ends, one and two at a time, rehearsed under every relation."""
    found = kept("refusals_slow")
    named = {"ends": "options at their ends", "pairs": "any two options, both at their ends"}
    lines = []
    for what, said in named.items():
        counts = [found.get(f"{what} {how}", 0) for how in ("refused", "rehearsed")]
        lines.append([said, figure(sum(counts), 0), *(figure(c, 0) for c in counts)])
    return table(["", "tried", "refused before the spend", "rehearsed"], lines)


def attacks(kept: Kept) -> str:
    """A line an attack that ever names a table: how often, how often it is right, and the delta that follows."""
    lines = []
    for noise, named in NOISES.items():
        for attack, found in kept("attacks")[noise].items():
            if not isinstance(found, dict) or (noise != "ours" and not found["names a table"]):
                continue
            right = found["right then"]
            named_as = ["never", "-"] if right is None else [f"{found['names a table']:.2%}", f"{right:.0%}"]
            lines.append([named, attack, *named_as, f"{found['delta at least']:.2g}"])
    return table(["noise", "attack", "names a table", "right then", "delta at least"], lines)
