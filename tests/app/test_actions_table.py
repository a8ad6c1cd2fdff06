"""The table of actions and the application's code name the same buttons and the same rights."""

import ast
from pathlib import Path

from app.session import access
from app.session.state import TITLES
from synth.jobs.roles import ACTIONS

APP = Path(access.__file__).parents[1]


def calls() -> dict[str, set[str]]:
    """By name of a called function, the texts that its calls in the application's code begin with."""
    result: dict[str, set[str]] = {}
    for path in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                keys = [k.value for k in node.keywords if k.arg == "key"] + node.args[2:3] * (name == "offer")
                texts = node.args if name in ("allow", "may", "job", "place", "database", "bundle", "packed") else keys
                result.setdefault(name, set()).update(filter(None, map(_text, texts)))
                result.setdefault("?", set()).update(
                    c.value
                    for a in node.args
                    for c in ast.walk(a)
                    if isinstance(c, ast.Constant) and isinstance(c.value, str)
                )
    return result


def _text(node: ast.expr) -> str:
    """A text, or what an f-string begins with."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


WAYS = {
    "back",
    "back_budget",
    "another_table",
    "to_preview",
    "use_wave",
    "onward",
    "needs_",
    "another",
    "to_result",
    "look_again",
    "sign_in",
    "sign_out",
    "end_tour",
    "add_rule",
    "drop_rule_",
    "add_uses",
    "drop_use_",
    "add_totals",
    "drop_totals_",
    "add_within",
    "drop_within_",
    "add_across",
    "drop_across_",
    "worst_",
    "smaller_delta",
    "export_csv",  # what the page shows
}


def test_no_button_is_without_its_row():
    """A new button fails here until the table says who may press it. Ways through the pages need no row."""
    known = {b for row in ACTIONS.values() for b in row.buttons} | WAYS
    result = calls()
    buttons = result["button"] | result["form_submit_button"] | result["download_button"] | result["offer"]
    assert len(buttons) > 40
    assert not {b for b in buttons if b not in known}
    assert not known - WAYS - buttons, "a row names no button that is gone"


def test_every_row_is_asked_for_somewhere():
    named = calls()["?"] | {f"open_{page}" for page in TITLES}
    assert not set(ACTIONS) - named - {"take_result", "send_file"}  # the latter is the server's: app/session/door.py
    assert 'action: str = "take_result"' in (APP / "result" / "export.py").read_text()
