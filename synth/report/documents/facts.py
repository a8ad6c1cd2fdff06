"""What papers and records are made of: a release's card, schema and answers, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.languages import Texts, _, numerals, prose
from synth.questions import CountsRelease, LinkedRelease
from synth.questions.linked import Linked, placed
from synth.release.card import limits, papers
from synth.release.card.card import Card, odds
from synth.release.folder import StoredRelease
from synth.report.html import commas, number, percent
from synth.report.words import between, both, unit
from synth.schema.column import Column
from synth.schema.dataset import ONE
from synth.schema.table import Tables

TYPES = Texts(
    {
        "integer": "integer",
        "float": "float",
        "datetime": "datetime",
        "categorical": "categorical",
        "ordinal": "ordinal",
        "boolean": "boolean",
    }
)
LEVELS = Texts(  # of the ONS's spectrum, by the most columns of a table that was measured
    {
        0: "depends on the method's release, which holds no counts",
        1: "plausible: single columns follow the source, relations between them do not",
        2: "multivariate plausible: single columns and tables of two columns follow the source, within noise",
        3: "multivariate detailed: some tables of {most} columns follow the source too, within noise",
    }
)
VIEWS = Texts(  # tables that are not of the rows of one table alone, by how its rows were paired
    {
        "first": "{n} tables of the first rows of {table}",
        "last": "{n} tables of the last rows of {table}",
        "far": "{n} tables of one row and that half a history later of {table}",
        "steps": "{n} tables of one row and the next of {table}",
        "siblings": "{n} tables of two rows of {table}",
    }
)
PROSE = ("composition", "floating_point", "side_channels", "trust", "post_processing", "meaning", "relation_in_words")
PLAIN = ("created", "method", "variant", "relation")


def facts(stored: StoredRelease, card: Card) -> dict[str, str]:
    """What stands in the places of papers. **Guarantee**: derived from the release, public facts and the steward's own.

    Privacy: released answers only.
    """
    schema = stored.schema
    counted = [r for r in stored.releases if isinstance(r, CountsRelease | LinkedRelease)]
    most = max((len(m.bins) for r in counted for m in r.question.marginals), default=0)
    in_all = card.get("in_all_releases")
    return {
        **{n: prose(card[n]) for n in PROSE},
        **{n: str(card[n]) for n in PLAIN},
        "epsilon": number(card["epsilon"]),
        "delta": number(card["delta"]),
        "derived": number(card["epsilon_derived"]),
        "name": name_of(card, several=schema.several),
        "description": description(card, schema),
        "columns": ", ".join(n for n, c in schema.all_columns.items() if c.type != "omitted"),
        "n": commas(card["rows"]["synthetic"]),
        "odds": numerals(limits.share(odds(float(card["epsilon"])))),
        "unit": unit(card),
        "invariants": _invariants(card, schema),
        "measured": _measured(counted, schema, card),
        "mechanisms": "; ".join(
            _("{name}, {n} times").format(name=prose(name), n=n) for name, n in card.noise_kinds.items()
        ),
        "spent": ", ".join(f"{prose(n)} {percent(s)}" for n, s in card.shares.items()),
        "rules": _rules(card),
        "ledger_line": str(card["ledger_entry"]["number"]),
        "in_all": f" {prose(in_all['statement'])}" if in_all else "",
        "selection": prose(card["selection"]["in_words"]),
        "tuning": prose(card["tuning"]["statement"]),
        "randomness": prose(card["randomness"]["privacy"]),
        "after_release": prose(card["randomness"]["after_release"]),
        "linkage": prose(card.get("linkage", "-")),
        "versions": ", ".join(f"{n} {v}" for n, v in card["versions"].items()),
        "hazards": " ".join(map(prose, card["hazards"])),
        "made_up": prose(limits.MADE_UP),
        "level": LEVELS[min(most, 3)].format(most=most),
        "guesses": " ".join(limits.sentences(card, yours=True)),
    }


def tables(schema: Tables, card: Card) -> list[dict[str, Any]]:
    """The synthetic tables, the root's first: name, file, what its rows are, columns, and the keys at both ends."""
    if not schema.several:
        said, own = _("The synthetic rows."), schema.written[ONE].retained().columns
        names = {"table": "synthetic-table", "file": "synthetic.csv"}
        return [{**names, "rows": said, "columns": own, "keys": (), "above": None}]
    out: list[dict[str, Any]] = []
    for table in schema.downwards:
        key, below = schema.key_above(table), schema.keys_below(table)
        alone, below_it = _("{n} synthetic rows."), _("{n} synthetic rows, each of one row of {parent}.")
        many = commas(card.row_counts[table])
        out.append(
            {
                "table": table,
                "file": f"{table}.csv",
                "rows": below_it.format(n=many, parent=key.parent) if key else alone.format(n=many),
                "columns": schema.tables[table].retained().columns,
                "keys": below[0].referred if below else (),
                "above": key,
            }
        )
    return out


def name_of(card: Mapping[str, Any], *, several: bool) -> str:
    """What the steward calls the table or tables."""
    kind = _("Synthetic tables") if several else _("Synthetic table")
    return str(card.get("deployment", {}).get("name") or f"{kind} {card.get('dataset') or ''}".strip())


def description(card: Card, schema: Tables) -> str:
    """What was made, of which extent and how, in a sentence or two."""
    source = _(
        "Made from private rows by the method {method} with differential privacy, epsilon {epsilon}, delta {delta}."
    ).format(method=card["method"], epsilon=number(card["epsilon"]), delta=number(card["delta"]))
    own = card.get("deployment", {}).get("description")
    return f"{f'{own} ' if own else ''}{_extent(card, schema)}; {prose(limits.MADE_UP)}. {source}"


def _extent(card: Card, schema: Tables) -> str:
    if schema.several:
        each, rows = _("{table} of {rows} rows and {columns} columns"), card.row_counts
        many = {t: len(schema.tables[t].columns) for t in schema.downwards}
        said = [each.format(table=t, rows=commas(rows[t]), columns=n) for t, n in many.items()]
        return _("Synthetic tables that belong together, {tables}").format(tables=", ".join(said))
    alone = _("A synthetic table of {rows} rows and {columns} columns").format(
        rows=commas(card["rows"]["synthetic"]), columns=len(schema.all_columns)
    )
    return _("{table}, in which persons have several rows").format(table=alone) if schema.keys else alone


def _measured(counted: Sequence[Any], schema: Tables, card: Card) -> str:
    """What was asked of the private rows: kinds of tables, each with how many."""
    kinds: dict[Any, set[frozenset[str]]] = {}
    for r in counted:
        for m in r.question.marginals:
            kind = _asked(r.question, m.columns) if schema.keys else len(m.bins)
            kinds.setdefault(kind, set()).add(frozenset(m.columns))
    if schema.keys:
        return ", ".join(what.replace("{n}", str(len(of))) for what, of in kinds.items())
    several, single = _("{n} tables of {many} columns"), _("counts of {n} single columns")
    said = [(several if many > 1 else single).format(n=len(of), many=many) for many, of in sorted(kinds.items())]
    return ", ".join(said) or "; ".join(map(prose, sorted(card.noise_kinds)))


def _asked(question: Linked, columns: Sequence[str]) -> str:
    """What tables of this kind are, with a place for their number."""
    n, table = "{n}", question.table
    if question.view in VIEWS:
        return VIEWS[question.view].format(n=n, table=table)
    if len(columns) == 1:
        return _("counts of {n} single columns of {table}").format(n=n, table=table)
    owners = both(sorted({placed(c)[0] for c in columns}))
    return _("{n} tables of {many} columns of {tables}").format(n=n, many=len(columns), tables=owners)


def _invariants(card: Card, schema: Tables) -> str:
    """What was taken as public, hence not protected: keys and their bounds too."""
    bounded = _(
        "which rows belong together by {columns}, and that at most {most} of {child} are kept of one row of "
        "{parent} (declared public by the steward in the schema)"
    )
    said = []
    for i in card["invariants"]:
        what = prose(i["what"])
        of = _("{what} of {columns}").format(what=what, columns=", ".join(i["of"])) if "of" in i else what
        said.append(f"{of} ({prose(i['vouched'])})")
    for k in schema.keys:
        said.append(bounded.format(columns=", ".join(k.columns), most=k.most_children, child=k.child, parent=k.parent))
    return "; ".join(said)


def _rules(card: Mapping[str, Any]) -> str:
    """The rules across columns, with how far they are kept."""
    said = _("{rule}: kept by {share} of the rows")
    rules = [
        said.format(rule=c["rule"], share=numerals(f"{100 * c['kept']:.4g} %")) if "rule" in c else str(c)
        for c in card.get("constraints") or []
    ]
    return "; ".join(rules) or _("none were stated")


def deployment(card: Mapping[str, Any]) -> dict[str, Any]:
    """What the steward stated: his ``own`` answers, the ``curators``, and when it was ``published``, else made."""
    own = card.get("deployment") or {}
    published = str(own.get("published") or card["created"])[:10]
    return {"own": own, "curators": papers.curators(own), "published": published}


def stated(card: Mapping[str, Any], fact: str) -> str:
    """The form's answer to a question of a paper; empty where nobody gave one."""
    own = card.get("deployment") or {}
    if fact == "approver":
        return papers.approval(own)
    answer = (fact != "curators" and own.get(fact)) or (fact in ("curators", "controller") and papers.curators(own))
    return ", ".join(answer) if isinstance(answer, list | tuple) else str(answer or "")


def described(column: Column, first: str = "") -> str:
    """A column's meaning, where it has one, and its kind; ``first``: "kind" where that begins."""
    parts = [column.description, kind_of(column)] if column.description else [kind_of(column)]
    return ". ".join(reversed(parts)) if first else "; ".join(parts)


def kind_of(column: Column) -> str:
    """A column's kind, range and categories in words.

    >>> from synth.schema import table
    >>> kind_of(table.parse({"columns": {"a": {"type": "integer", "min": 0, "max": 9}}}).columns["a"])
    'integer, 0 to 9'
    """
    if column.type == "identifier":
        if column.pattern:
            return _("identifier: a fresh key for each synthetic row, like {pattern}").format(pattern=column.pattern)
        return _("identifier: a fresh key for each synthetic row")
    if column.is_numeric:
        message = f"{TYPES.get(column.type, column.type)}, {between(column.min, column.max)}"
    else:
        names = list(column.categories or ())
        many = _("{kind}, {n} values").format(kind=TYPES.get(column.type, column.type), n=len(names))
        message = many + (f": {', '.join(names)}" if len(names) <= 12 else "")
    return message + ("; " + _("may be missing") if column.missing_codes else "")
