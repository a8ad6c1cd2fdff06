"""What a card states beside its figures: invariants, tuning, selection, trust.

**Source**: the questions are those of NIST SP 800-226 (unit, relation, invariants, composition, hazards).
"""

from collections.abc import Mapping
from typing import Any

from synth.errors import UsageError
from synth.privacy.accounting.events import division
from synth.release.card import given

CHOICES = {
    "unstated": "not stated",
    "only": "no other candidate was made",
    "before": "the run was fixed before any comparison with the real rows",
    "releases": "chosen by released figures only: forecast, card, publishable report",
    "all": "all candidates are released",
    "private": "chosen by a paid private selection",
    "scores": "chosen by its comparison with the real rows",
}
UNCOVERED = "selection not covered"
PREVIEW = "Preview: made of public rows only, no release"
VOUCHED = {
    "public": "public knowledge, vouched for by whoever confirmed the schema",
    "declared": "declared public by the steward in the schema",
    "unconfirmed": "drafted from the rows and confirmed by nobody",
    "private": "learnt with privacy and paid for: no invariant",
}
HAZARDS = (
    "The guarantee is about one unit's own rows. What is true of many people alike (statistics) can be learnt; that is "
    "what the table is for.",
    "It holds for this release. Other releases about the same persons add to it; the ledger keeps their sum.",
    "It rests on the public facts being public. Who vouches for each is listed.",
    "Running time, memory use and job files of the run depend on the rows and are for the steward only.",
)


def complete(card: Mapping[str, Any]) -> dict[str, Any]:
    """The card with every statement. Those that it makes are kept, but for what follows from it: invariants, sums."""
    reported = {
        "variant": "Pure DP" if card.get("delta") == 0 else "Approximate DP",
        "tuning": {
            "charged": True,
            "statement": "No parameter of this run was chosen by looking at the rows outside the mechanisms listed: "
            "the method's choices follow from public facts and from released noisy answers.",
        },
        "selection": selection("unstated"),
        "composition": "All mechanisms read the same rows and are composed together (sequential composition) by the "
        "accountant; the whole was charged to the ledger before the first row was read.",
        "randomness": {
            "privacy": f"{card.get('noise_source')}; never seeded by a user, never stored",
            "after_release": "initialisation and sampling use a seeded generator; they touch released values only",
        },
        "trust": "Central: one curator holds the rows and runs the mechanisms; readers of the release need no trust.",
        "side_channels": "The answer is released once, as files; nobody can query or time the mechanisms. Bounds "
        "and messages do not depend on values outside the public facts, and no answer follows the order of the rows.",
        "hazards": list(HAZARDS),
    }
    follows = {"invariants": _invariants(card), **given.in_all(card)}
    return {**dict(card), **{k: v for k, v in reported.items() if k not in card}, **follows}


def selection(how: str) -> dict[str, Any]:
    """How a release was chosen among candidates. Errors: UsageError for an unknown way."""
    if how not in CHOICES:
        raise UsageError(f"selection {how!r}: say one of {', '.join(CHOICES)}")
    reported = {"how": how, "in_words": CHOICES[how], "covered": None if how == "unstated" else how != "scores"}
    return reported if how != "scores" else {**reported, "mark": UNCOVERED}


def uncovered(card: Mapping[str, Any]) -> bool:
    """Whether the release was chosen in a way that no epsilon covers."""
    return complete(card)["selection"].get("covered") is False


def _invariants(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the guarantee does not protect because it was taken as public."""
    facts = card.get("public_facts", {})
    out: list[dict[str, Any]] = [
        {"what": "column names and their order", "columns": len(facts), "vouched": "part of the schema"}
    ]
    for source in ("public", "declared", "unconfirmed"):
        names = [n for n, s in facts.items() if s == source]
        if names:
            what = "kind, bounds, categories and missing codes"
            out.append({"what": what, "of": names, "vouched": VOUCHED[source]})
    for name, reported in card.get("vouched_alone", {}).items():
        bounds = reported.get("bounds")
        what = (
            f"a list of {reported['values']} values, published word for word"
            if bounds is None
            else "bounds {} to {}".format(*bounds)
        )
        out.append({"what": what, "of": [name], "vouched": reported["reason"]})
    if card.get("rows", {}).get("source_count") == "public":
        out.append({"what": "number of rows of the source", "vouched": "public under this relation"})
    for name, why in (card.get("public_columns") or {}).items():
        out.append({"what": "the values of every row, in the order of the rows", "of": [name], "vouched": why})
    if card.get("constraints"):
        rules = len(card["constraints"])
        out.append({"what": f"{rules} rules across columns", "vouched": "declared in the schema"})
    return [*out, *given.invariants(card)]


def shares(about: Mapping[str, Any]) -> dict[str, float]:
    """By purpose the share of the whole noise budget."""
    return {p.question: p.share for p in division(about["mechanisms"])}


def noise_kinds(about: Mapping[str, Any]) -> dict[str, int]:
    """Kinds of noise, each with how often."""
    kinds: dict[str, int] = {}
    for m in about["mechanisms"]:
        kinds[m["mechanism"]] = kinds.get(m["mechanism"], 0) + int(m.get("count", 1))
    return kinds
