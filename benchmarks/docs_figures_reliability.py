"""Tables of docs/reliability.md and docs/inference.md."""

from collections.abc import Callable
from typing import Any

from markdown_tables import figure, filled, table

Stored = Callable[[str], Any]
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
OUTCOMES = ("refused", "measured", "rehearsed")


def faults(stored: Stored) -> str:
    """A line a deed: how many system calls were struck, and how it ended."""
    rows = []
    for deed, named in DEEDS.items():
        result = stored("faults")[deed]
        ends = result["ends"]
        every = "" if result["stride"] == 1 else f", every {result['stride']}th call"
        refused = str(sum(n for end, n in ends.items() if end not in ("killed", "ok", "code0")))
        refused += f", of them {ends['code5']} with exit code 5, spent" if "code5" in ends else ""
        counts = {"killed": ends.get("killed", 0), "through": ends.get("ok", 0) + ends.get("code0", 0)}
        rows.append(result | counts | {"deed": named + every, "refused": refused})
    heads = "operation|calls|faults|killed|refused in one line|went through"
    return filled(rows, heads, "{deed}|{calls}|{faults}|{killed}|{refused}|{through}")


def refusals(stored: Stored) -> str:
    """A line a kind of trial: how many values were refused before the spend, and how many went on."""
    results, rows = stored("refusals"), []
    for what, named in TRIED.items():
        ends = results[what]
        on = ", ".join(f"{n} {w}" for w, n in ends.items() if w in OUTCOMES[1:]) or "-"
        vain = sum(n for w, n in ends.items() if w not in OUTCOMES)
        counts = {"tried": figure(sum(ends.values()), 0), "refused": figure(ends.get("refused", 0), 0)}
        rows.append(counts | {"what": named.format(results["rehearsed methods"]), "on": on, "vain": vain})
    whole = "all: {methods} methods, {with a relation} with their relations, {options} options".format(**results)
    rows.append({"what": whole, "tried": "", "refused": "", "on": "", "vain": f"{results['spends']} spends"})
    return filled(rows, "|tried|refused before the spend|went on|spent in vain", "{what}|{tried}|{refused}|{on}|{vain}")


def ends(stored: Stored) -> str:
    """Options at their ends, one and two at a time, rehearsed under every relation."""
    result = stored("refusals_slow")
    named = {"ends": "options at their ends", "pairs": "any two options, both at their ends"}
    lines = []
    for what, said in named.items():
        counts = [result.get(f"{what} {how}", 0) for how in ("refused", "rehearsed")]
        lines.append([said, *(figure(c, 0) for c in (sum(counts), *counts))])
    return table(["", "tried", "refused before the spend", "rehearsed"], lines)


def attacks(stored: Stored) -> str:
    """A line an attack that ever names a table: how often, how often it is right, and the delta that follows."""
    lines = []
    for noise, named in NOISES.items():
        for attack, item in stored("attacks")[noise].items():
            if not isinstance(item, dict) or (noise != "ours" and not item["names a table"]):
                continue
            right = item["right then"]
            named_as = ["never", "-"] if right is None else [f"{item['names a table']:.2%}", f"{right:.0%}"]
            lines.append([named, attack, *named_as, f"{item['delta at least']:.2g}"])
    return table(["noise", "attack", "names a table", "right then", "delta at least"], lines)


def inference(stored: Stored) -> str:
    """Coverage of nominal 95 % intervals by family: epsilon 0.2 and 1 of each table side by side."""
    further = {
        "of those not warned of": "unwarned",
        "warned of": "warned",
        "the estimand least covered": "lowest",
        "one table as if it were real": "naive",
    }
    return _families(stored, "covered", further, "releases")


def combined(stored: Stored) -> str:
    """The same of `synth.combine`."""
    return _families(stored, "combined", {}, "combined_releases")


def _families(stored: Stored, covered: str, further: dict[str, str], releases: str) -> str:
    """A line a family, then those of all estimands."""
    rows = {(r["family"], r["table"], r["epsilon"]): r for r in stored("inference")}
    sides = sorted({key[1:] for key in rows})
    part = lambda row, name: "-" if row is None or row[name] is None else f"{row[name]:.1%}"  # noqa: E731
    lines = [
        [family, *(part(rows.get((family, *side)), covered) for side in sides)]
        for family in dict.fromkeys(key[0] for key in rows)
    ]
    whole = [rows["all", *side] for side in sides]
    lines += [[text, *(part(r, name) for r in whole)] for text, name in further.items()]
    lines.append(["estimands, releases", *(f"{r['estimands']}, {r[releases]}" for r in whole)])
    return table(("family", *(f"{name}, {epsilon:g}" for name, epsilon in sides)), lines)


TABLES: dict[str, Callable[[Stored], str]] = {
    "faults": faults,
    "refusals": refusals,
    "refusals-slow": ends,
    "attacks": attacks,
    "inference": inference,
    "inference-combined": combined,
}
