"""What only the steward knows of a release, asked once a dataset: the answers that every document takes.

A form is a JSON object of these names. What it leaves open stays marked in the documents.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from synth.errors import InputError, UsageError, reading
from synth.languages import Said

MOST_LETTERS = 4_000  # of one answer
DATES = ("approved", "published")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Field:
    """A question of the form: its ``label``, and what is ``wanted`` as an answer."""

    label: str
    wanted: str


SIGNED = {  # the short form: without these nobody can sign
    "intended_use": Field("Purpose", "What the synthetic rows are meant for, and what not."),
    "legal_basis": Field("Legal basis", "Of making and of publishing them, special categories of data included."),
    "controller": Field("Controller", "The institution that is responsible."),
    "contact": Field("Contact", "Whom to ask: a person or an office."),
    "recipients": Field("Who receives it", "Everybody, or who is admitted and how."),
    "approver": Field("Approved by", "Name and office of whoever signs."),
    "approved": Field("Approved on", "The day, YYYY-MM-DD."),
}
MORE = {  # what single documents ask besides
    "necessity": Field("Why it is necessary", "Why the purpose cannot be reached with less."),
    "access": Field("Access and storage", "Who has access to the private rows, and how long they are kept."),
    "severity": Field("Severity and likelihood of the risks", "Judged for the groups concerned."),
    "advice": Field("Data-protection officer's advice", "What the officer advised."),
    "views": Field("Views of the persons concerned", "Or why they were not sought."),
    "residual_risk": Field("Residual risk", "Judged; Article 36 GDPR if it is high."),
    "objection": Field("Rights of the persons", "Which rights people have, and how to use them."),
    "several_rows": Field("Rows of one person", "Whether a person may stand in several rows, or in other tables."),
    "small_groups": Field("Small groups", "What may be said of how they are served."),
    "security": Field("Security of the private rows", "Storage, access and logging."),
    "collection": Field("Collection", "How the rows were collected, with which consent."),
    "source": Field("Source", "Population, time, how it was sampled."),
    "settings": Field("Where it may be used", "Conditions on the place, if any."),
    "licence": Field("Licence", "Of the synthetic rows."),
    "spectrum": Field("Place on the spectrum", "Who confirms the level, or another level with the reason."),
    "name": Field("Name", "What the product is called."),
    "curators": Field("Publishers", "Who publishes it, where that is not the controller."),
    "description": Field("Description", "What it is, in a sentence."),
    "region": Field("Region", "Which region the source covers."),
    "sector": Field("Sector", "For instance Health."),
    "published": Field("Published on", "The day, YYYY-MM-DD."),
}
FIELDS = {**SIGNED, **MORE}


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The answers that are there, checked. Errors: UsageError for an unknown name, and for no text, list or date.

    Privacy: public only.
    """
    for name, value in given.items():
        if name not in FIELDS:
            raise UsageError("{} is no fact of a deployment; those are {}", name, ", ".join(FIELDS))
        texts = [value] if isinstance(value, str | None) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(t, str | None) for t in texts):
            raise UsageError("{}: an answer is a text, or a list of texts; write one", name)
        if sum(len(t or "") for t in texts) > MOST_LETTERS:
            raise UsageError("{}: the answer has more than {:,} letters; shorten it", name, MOST_LETTERS)
        if name in DATES and value:
            try:
                day = isinstance(value, str) and DAY.fullmatch(value) and date.fromisoformat(value)
            except ValueError:
                day = None
            if not day:
                raise UsageError("{}: {!r} is no day; write YYYY-MM-DD", name, value)
    return {n: v for n, v in given.items() if (v.strip() if isinstance(v, str) else v)}


def load(place: str | Path) -> dict[str, Any]:
    """The answers of a file that holds a form. Errors: InputError for a file that is none; UsageError as ``checked``.

    Privacy: public only.
    """
    with reading(place, "form of papers"):
        try:
            answers = json.loads(Path(place).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError("{}: no such file; write a JSON object of answers by name", place) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or Said("no JSON")
            raise InputError("{}: {}; write a JSON object of answers by name", place, reason) from None
        if not isinstance(answers, dict):
            raise InputError("{}: no JSON object; write a JSON object of answers by name", place)
        return checked(answers)


def form(given: Mapping[str, Any]) -> str:
    """The form as its file holds it: every name, with the answers that are there."""
    return json.dumps({n: given.get(n, "") for n in FIELDS}, indent=2, ensure_ascii=False) + "\n"


def approval(given: Mapping[str, Any]) -> str:
    """Who approved and when, in words; empty unless both are stated."""
    who, day = given.get("approver"), given.get("approved")
    return f"{who}, {day}" if who and day else ""


def curators(given: Mapping[str, Any]) -> list[str]:
    """Who publishes: as stated, else the controller; empty where nobody said."""
    stated = given.get("curators") or given.get("controller") or []
    return [stated] if isinstance(stated, str) else [str(n) for n in stated]
