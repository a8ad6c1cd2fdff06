"""Tables of docs/audit.md, from what benchmarks/audit.py and benchmarks/audit_whole.py wrote."""

from collections.abc import Callable
from typing import Any

from markdown_tables import filled

WHOLE = {"whole": "faults", "whole-sound": "sound"}  # parts of audit_whole.json
TABLES = {
    "planted": (
        "fault|violated at 95 %|mu at least|claimed|seen by|sound run violated",
        "{fault}|{faulty[violated]:yes}|{faulty[mu]:.3f}|{faulty[claim][mu]:.3f}|{faulty[attack]}|{sound[violated]:yes}",
    ),
    "mechanisms": (
        "mechanism|epsilon|mu / claimed|epsilon implied|violated|with half the noise",
        "{mechanism}|{epsilon:g}|{of_claim:.3f}|{epsilon_implied:.3f}|{violated:yes}|{half_noise_violated:yes}",
    ),
    "methods": (
        "method|epsilon|draws|mu of outputs at least|claimed|epsilon at 1e-2 at least|claimed|mu of tables at least"
        "|violated",
        "{method}|{epsilon:g}|{outputs[draws]:,}|{outputs[mu]:.3f}|{outputs[claim][mu]:.3f}|{outputs[epsilon]:.3f}"
        "|{outputs[claimed_at_audit_delta]:.3f}|{tables[mu]:.3f}|{violated:yes}",
    ),
    "capacity": (
        "noise|epsilon|linear, exact|linear|polynomial|kernel|ReLU|unrestricted",
        "{mechanism}|{epsilon:g}|{closed[linear]:.3f}|{attackers[0][bound]:.3f}|{attackers[1][bound]:.3f}"
        "|{attackers[2][bound]:.3f}|{attackers[3][bound]:.3f}|{ceiling:.3f}",
    ),
    "whole": (
        "fault|contradicted|canary|seen by|distance at least|claimed|noise / claimed",
        "{fault}|{violated:yes}|{canary}|{seen}|{moments[mu]:.2f}|{mu_claimed:.2f}|{moments[noise_estimate]:.2f}",
    ),
    "whole-sound": (
        "relation|canary|table|contradicted|noise / claimed|distance at least|claimed",
        "{relation}|{name}|{kind}|{violated:yes}|{moments[noise_estimate]:.2f}|{moments[mu]:.2f}|{finding[claim][mu]:.2f}",
    ),
}


def part(name: str, stored: Callable[[str], Any]) -> str:
    """One part of the audit as a Markdown table."""
    return shown(name, stored("audit_whole")[WHOLE[name]] if name in WHOLE else stored("audit")[name]["rows"])


def shown(name: str, rows: list[dict[str, Any]]) -> str:
    """Rows of one part as a Markdown table."""
    seen = ({"seen": str(r.get("seen_by")).replace("|", "/").replace("\n", " ")} for r in rows)
    claim = ({"of_claim": r["mu"] / r["mu_claimed"]} if "mechanism" in r and "mu" in r else {} for r in rows)
    return filled([r | c | s for r, c, s in zip(rows, claim, seen, strict=True)], *TABLES[name])
