"""Tables of docs/audit.md, from what benchmarks/audit.py and benchmarks/audit_whole.py wrote."""

from collections.abc import Callable
from typing import Any

from markdown_tables import table

Row = dict[str, Any]
HEADS = {
    "planted": ("fault", "violated at 95 %", "mu at least", "claimed", "seen by", "sound run violated"),
    "mechanisms": ("mechanism", "epsilon", "mu / claimed", "epsilon implied", "violated", "with half the noise"),
    "methods": (
        "method",
        "epsilon",
        "draws",
        "mu of outputs at least",
        "claimed",
        "epsilon at 1e-2 at least",
        "claimed",
        "mu of tables at least",
        "violated",
    ),
    "capacity": ("noise", "epsilon", "linear, exact", "linear", "polynomial", "kernel", "ReLU", "unrestricted"),
    "whole": ("fault", "contradicted", "canary", "seen by", "distance at least", "claimed", "noise / claimed"),
    "whole-sound": ("relation", "canary", "table", "contradicted", "noise / claimed", "distance at least", "claimed"),
}
PARTS = ("planted", "mechanisms", "methods", "capacity", "whole", "whole-sound")
WHOLE = {"whole": "faults", "whole-sound": "sound"}  # parts of audit_whole.json


def part(name: str, kept: Callable[[str], Any]) -> str:
    """One part of the audit as a Markdown table."""
    rows = kept("audit_whole")[WHOLE[name]] if name in WHOLE else kept("audit")[name]["rows"]
    return shown(name, rows)


def shown(name: str, rows: list[Row]) -> str:
    """Rows of one part as a Markdown table."""
    return table(HEADS[name], [CELLS[name](r) for r in rows])


def yes(flag: bool) -> str:
    return "yes" if flag else "no"


def number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _planted(r: Row) -> list[str]:
    claim = r["faulty"]["claim"]["mu"]
    return [
        r["fault"],
        yes(r["faulty"]["violated"]),
        number(r["faulty"]["mu"]),
        number(claim),
        r["faulty"]["attack"],
        yes(r["sound"]["violated"]),
    ]


def _mechanisms(r: Row) -> list[str]:
    return [
        r["mechanism"],
        f"{r['epsilon']:g}",
        number(r["mu"] / r["mu_claimed"]),
        number(r["epsilon_implied"]),
        yes(r["violated"]),
        yes(r["half_noise_violated"]),
    ]


def _methods(r: Row) -> list[str]:
    o, t = r["outputs"], r["tables"]
    return [
        r["method"],
        f"{r['epsilon']:g}",
        f"{o['draws']:,}",
        number(o["mu"]),
        number(o["claim"]["mu"]),
        number(o["epsilon"]),
        number(o["claimed_at_audit_delta"]),
        number(t["mu"] if t else None),
        yes(r["violated"]),
    ]


def _capacity(r: Row) -> list[str]:
    return [
        r["mechanism"],
        f"{r['epsilon']:g}",
        number(r["closed"]["linear"]),
        *(number(a["bound"]) for a in r["attackers"]),
        number(r["ceiling"]),
    ]


def _moments(r: Row) -> Row:
    return r["moments"] or {"noise_found": None, "mu": None}


def _whole(r: Row) -> list[str]:
    seen = r["seen_by"].replace("|", "/").replace("\n", " ")
    return [
        r["fault"],
        yes(r["violated"]),
        r["canary"],
        seen,
        number(_moments(r)["mu"], 2),
        number(r["mu_claimed"], 2),
        number(_moments(r)["noise_found"], 2),
    ]


def _sound(r: Row) -> list[str]:
    return [
        r["relation"],
        r["name"],
        r["kind"],
        yes(r["violated"]),
        number(_moments(r)["noise_found"], 2),
        number(_moments(r)["mu"], 2),
        number(r["finding"]["claim"]["mu"], 2),
    ]


CELLS: dict[str, Callable[[Row], list[str]]] = {
    "planted": _planted,
    "mechanisms": _mechanisms,
    "methods": _methods,
    "capacity": _capacity,
    "whole": _whole,
    "whole-sound": _sound,
}
