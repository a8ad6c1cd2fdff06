"""A document of its sheet and the facts of a release, in the language that is spoken."""

from collections.abc import Callable, Mapping

from synth.languages import _, numerals, prose, translated
from synth.release.card import limits
from synth.report.documents import sheets
from synth.report.documents.facts import Document, Facts, Line, kind_of
from synth.report.documents.sheets import Ask, Say, Sheet
from synth.report.html import commas, number

NAMES = ("{columns}", "{versions}", "{spent}", "{rules}")  # answers that begin with a name, as it is written


def fill(sheet: Sheet, f: Facts) -> Document:
    """The document. **Guarantee**: that of the release, from whose facts it follows.

    Privacy: released answers only.
    """
    known, several = places(f), len(f.tables) > 1

    def text(one: str, other: str = "") -> str:
        return translated(other if several and other else one).format_map(known)

    def line(part: Say | Ask) -> Line:
        if isinstance(part, Ask):
            return f.stated(translated(part.question), part.fact, text(part.wanted, part.several))
        answer = text(part.answer, part.several)
        named = part.answer.startswith(NAMES)
        return Line(question=translated(part.question), answer=answer if named else answer[:1].upper() + answer[1:])

    return Document(
        title=text(sheet.title, sheet.several),
        intro=text(sheet.intro),
        parts=tuple((translated(title), tuple(map(line, lines))) for title, lines in sheet.parts.items()),
    )


def of(sheet: Sheet) -> Callable[[Facts], Document]:
    """The document of a sheet, for whoever has the facts."""
    return lambda f: fill(sheet, f)


def places(f: Facts) -> Mapping[str, str]:
    """What stands in the places of the sheets' answers."""
    a, card = f.about, f.card
    randomness = a["randomness"]
    return {
        "name": f.name,
        "description": f.description,
        "columns": ", ".join(n for n, c in f.schema.all_columns.items() if c.type != "omitted"),
        "created": str(card["created"]),
        "method": str(card["method"]),
        "variant": str(a["variant"]),
        "epsilon": number(a["epsilon"]),
        "delta": number(a["delta"]),
        "derived": number(a["epsilon_derived"]),
        "meaning": prose(a["meaning"]),
        "odds": f.odds,
        "unit": f.unit,
        "relation": str(a["relation"]),
        "relation_in_words": prose(a["relation_in_words"]),
        "invariants": f.invariants,
        "measured": f.measured,
        "mechanisms": f.mechanisms,
        "spent": f.spent,
        "rules": _rules(f),
        "ledger_line": str(a["ledger_entry"]["number"]),
        "in_all": f.in_all,
        "selection": prose(a["selection"]["in_words"]),
        "tuning": prose(a["tuning"]["statement"]),
        "randomness": prose(randomness["privacy"]),
        "after_release": prose(randomness["after_release"]),
        "linkage": prose(str(a.get("linkage", "-"))),
        "versions": ", ".join(f"{n} {v}" for n, v in a["versions"].items()),
        "hazards": " ".join(map(prose, a["hazards"])),
        "made_up": prose(limits.MADE_UP),
        "level": translated(sheets.LEVELS[min(f.most_columns, 3)]).format(most=f.most_columns),
        "guesses": _guesses(f),
        **{n: prose(str(a[n])) for n in ("composition", "floating_point", "side_channels", "trust", "post_processing")},
    }


def _rules(f: Facts) -> str:
    """The rules across columns, with how far they are kept."""
    said = _("{rule}: kept by {share} of the rows")
    rules = [
        said.format(rule=c["rule"], share=numerals(f"{100 * c['kept']:.4g} %")) if "rule" in c else str(c)
        for c in f.card.get("constraints") or []
    ]
    return "; ".join(rules) or _("none were stated")


def _guesses(f: Facts) -> str:
    """What may be guessed and how far a guess can rise, for those whom it may be about."""
    unit = "key" if f.root else "row" if f.card["unit"] == "row" else "person"
    said = []
    for guess, sure, accident in limits.guesses(f.card):
        what = translated(sheets.YOURS[f"{guess.split()[0]}_{unit}"]).format(root=f.root)
        rise = numerals(limits.share(sure))
        said.append(translated(sheets.LIMIT).format(what=what, sure=rise, accident=number(accident, 2)))
    return " ".join([*said, *([translated(sheets.BY_ROW)] if unit == "row" else [])])


def data_card(f: Facts) -> Document:
    """What a user of the table wants to know first: with its rows, and its columns one by one."""
    whole = fill(sheets.DATA_CARD, f)
    (title, lines), last = whole.parts
    return Document(title=whole.title, intro=whole.intro, parts=((title, (*_rows(f), *lines)), *_columns(f), last))


def _columns(f: Facts) -> list[tuple[str, tuple[Line, ...]]]:
    single = len(f.tables) == 1
    return [
        (
            _("Columns") if single else _("Columns of {table}").format(table=t.name),
            tuple(
                Line(question=n, answer=kind_of(c) + (f". {c.description}" if c.description else ""))
                for n, c in t.schema.columns.items()
            ),
        )
        for t in f.tables
    ]


def _rows(f: Facts) -> list[Line]:
    """How many, and which belong to which."""
    if len(f.tables) == 1:
        made = _("{n} synthetic rows").format(n=commas(f.card["rows"]["synthetic"]))
        return [Line(question=_("How many rows?"), answer=made)]
    return [Line(question=_("Rows of {table}").format(table=t.name), answer=t.rows) for t in f.tables]
