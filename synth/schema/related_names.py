"""Which tables belong together, guessed from their names and their columns' names alone; no row is looked at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from synth.languages import Said

ENDINGS = ("id", "key", "no", "nr", "num", "nbr", "number", "nummer", "pk", "fk", "")
OWN = ("id", "key", "uuid", "guid", "pk")  # of a column that needs no table's name to be its key


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The child's columns hold values of the parent's. ``declared``: by a database, not guessed from names."""

    child: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    declared: bool = False

    def __str__(self) -> str:
        """As it is written on the command line.

        >>> str(Reference(child="stays", columns=("pid",), parent="patients", parent_columns=("id",)))
        'stays.pid=patients.id'
        """
        return f"{self.child}.{'+'.join(self.columns)}={self.parent}.{'+'.join(self.parent_columns)}"


def joined(name: str) -> str:
    """Letters and digits of a name in lower case.

    >>> joined("Patient_ID"), joined("patientId")
    ('patientid', 'patientid')
    """
    return re.sub(r"[\W_]+", "", name).casefold()


def stems(table: str) -> set[str]:
    """What a table's rows may be called one by one.

    >>> sorted(stems("diagnoses")), sorted(stems("histories")), sorted(stems("order"))
    (['diagnos', 'diagnose', 'diagnoses', 'diagnosis'], ['historie', 'histories', 'history'], ['order'])
    """
    name = joined(table)
    words_for_it = {name}
    for end, instead in (("s", ""), ("ies", "y"), ("ses", "sis"), ("es", ""), ("en", "")):
        if name.endswith(end) and len(name) > len(end) + 2 and (end != "es" or name[-3] in "sxzh"):
            words_for_it.add(name.removesuffix(end) + instead)
    return words_for_it


def called(table: str) -> set[str]:
    """What a column that holds keys of the table's rows may be called."""
    return {stem + end for stem in stems(table) for end in ENDINGS}


def own_key(table: str, columns: Sequence[str]) -> str | None:
    """The column that by its name tells the table's rows apart; None where none or several do.

    >>> own_key("patients", ["patient_nbr", "sex"]), own_key("stays", ["id", "patient_id"])
    ('patient_nbr', 'id')
    """
    for wanted in (called(table), OWN):
        keys = [c for c in columns if joined(c) in wanted]
        if keys:
            return keys[0] if len(keys) == 1 else None
    return None


def guessed(tables: Mapping[str, Sequence[str]]) -> list[Reference]:
    """References between tables whose columns are given, each by the name of one column.

    >>> guessed({"patients": ["patient_id", "sex"], "stays": ["stay_id", "patient_id"]})[0].parent
    'patients'
    """
    keys = {t: own_key(t, columns) for t, columns in tables.items()}
    return [
        Reference(child=child, columns=(column,), parent=parent, parent_columns=(key,))
        for child, columns in tables.items()
        for parent, key in keys.items()
        if key is not None and parent != child
        for column in columns
        if column != keys[child] and joined(column) in called(parent) | ({joined(key)} - {*OWN})
    ]


def key_like(column: str) -> bool:
    """Whether a column by its name holds keys of something.

    >>> key_like("idhogar"), key_like("household_no"), key_like("age")
    (True, True, False)
    """
    name = joined(column)
    return name not in OWN and (name.startswith("id") or name.endswith((*filter(None, ENDINGS), *OWN)))


def shared(tables: Mapping[str, Sequence[str]]) -> list[Reference]:
    """Pairs of tables that share a column which by its name is a key: as child and parent where names tell which.

    The parent has the column first and no other that is like a key; a child has a key of its own. Where neither or
    both do, the pair is given in both directions. ``tables``: columns by table.

    Privacy: public only.

    >>> [str(r) for r in shared({"homes": ["idhogar", "rooms"], "people": ["idpersona", "idhogar", "age"]})]
    ['people.idhogar=homes.idhogar']
    """
    references = []
    for one, other in combinations(tables, 2):
        alike = [c for c in tables[one] if key_like(c) and c in tables[other]]
        if not alike:
            continue
        ranks = []  # how much speaks for a table of which each row is one value of the key
        for columns in (tables[one], tables[other]):
            ranks.append((columns[0] == alike[0]) + 2 * (not any(key_like(c) for c in columns if c != alike[0])))
        for (parent, child), rank in zip(((one, other), (other, one)), (ranks, ranks[::-1]), strict=True):
            if rank[0] >= rank[1]:
                references.append(
                    Reference(child=child, columns=(alike[0],), parent=parent, parent_columns=(alike[0],))
                )
    return references


def sure(references: Sequence[Reference]) -> list[Reference]:
    """The shared keys whose direction names tell."""
    pairs = {(r.child, r.parent) for r in references}
    return [r for r in references if (r.parent, r.child) not in pairs]


class Tree(NamedTuple):
    """Tables that one root holds together: ``keys`` downwards, ``public`` references, ``open`` questions.

    ``aside``: tables that no key reaches from the root that was named.
    """

    keys: list[Reference]
    public: list[Reference]
    aside: list[str]
    open: list[str]


def tree(tables: Sequence[str], references: Sequence[Reference], *, public: Sequence[str], root: str | None) -> Tree:
    """The tree that references make; where they make none, all of them with what is to be decided."""
    made = [t for t in tables if t not in public]
    inner = [r for r in references if r.parent in made and r.child in made and r.parent != r.child]
    aside: list[str] = []
    if root is not None:  # only what it reaches
        reached, down = [root], list[Reference]()
        for table in reached:
            down = [*dict.fromkeys([*down, *(r for r in inner if r.parent == table and r.child != root)])]
            reached += list(dict.fromkeys(r.child for r in down if r.child not in reached))
        inner, aside = down, [t for t in made if t not in reached]
        made = [t for t in made if t in reached]
    firsts = {(r.child, r.parent): r for r in reversed(inner)}
    keys = [r for r in inner if firsts[r.child, r.parent] is r]
    outside = [r for r in references if r.parent in public and r.child in made]
    return Tree(keys, outside, aside, [*_undecided(made, keys, inner)])


def _undecided(tables: Sequence[str], keys: Sequence[Reference], references: Sequence[Reference]) -> Iterator[str]:
    for child, parent in dict.fromkeys((r.child, r.parent) for r in references):
        several = [r for r in references if (r.child, r.parent) == (child, parent)]
        if len(several) > 1:
            yield Said(
                "{} refers to {} by {} keys ({}); the first is drafted: keep the one by which its rows belong to it.",
                child,
                parent,
                len(several),
                ", ".join(map(str, several)),
            )
    for child in tables:
        parents = [k.parent for k in keys if k.child == child]
        if len(parents) > 1:
            yield Said(
                "{} has several parents ({}): keep one key. A parent that everybody may have, such as a list of "
                "districts, is named with `public=`; `root=` names the table of those whom the guarantee protects.",
                child,
                ", ".join(parents),
            )
    roots = [t for t in tables if t not in {k.child for k in keys}]
    if len(roots) > 1:
        yield Said(
            "{} have no parent by their columns' names: state the keys that are missing "
            "(`keys=CHILD.COLUMN=PARENT.COLUMN`), a public table (`public=`) or the table of those whom the guarantee "
            "protects (`root=`).",
            ", ".join(roots),
        )
    elif not roots and tables:
        yield Said("the keys go in a circle: name with `root=` the table of those whom the guarantee protects.")
