"""Tables and keys as a picture: a box for each table, its children to the right of it."""

from markupsafe import Markup

from synth.languages import _
from synth.report import svg
from synth.schema.table import Tables

WIDE, TALL, GAP, STEP = 190.0, 44.0, 70.0, 60.0


def picture(schema: Tables) -> Markup:
    """Boxes with tables' names and numbers of columns, joined by keys with their bounds; public tables hang below.

    Privacy: public only.
    """
    rows = _rows(schema, schema.root)
    depth = {t: len(schema.upwards(t)) - 1 for t in schema.tables}
    inside = {t: _("{n} columns").format(n=len(s.columns)) for t, s in schema.tables.items()}
    for name, facts in (schema.public or {}).items():
        inside[name] = _("public, for {tables}").format(tables=", ".join(facts.referred_by))
    box = max(WIDE, svg.room([*inside, *inside.values()]) + 20)
    shapes: list[svg.Shape] = []
    for key in schema.keys:
        x, y = depth[key.parent] * (box + GAP) + box, rows[key.parent] * STEP + TALL / 2
        low = rows[key.child] * STEP + TALL / 2
        shapes.append(svg.curve([(x, y), (x + GAP / 2, y), (x + GAP / 2, low), (x + GAP, low)], "axis"))
        shapes.append(svg.label(x + GAP - 6, low - 6, f"≤ {key.most_children}", kind="dim"))
    for table, row in rows.items():
        shapes += _box(depth[table] * (box + GAP), row * STEP, table, inside[table], box)
    public = list(schema.public or {})
    base = (max(rows.values()) + 1) * STEP
    for i, name in enumerate(public):
        shapes += _box(0.0, base + i * STEP, name, inside[name], box)
    belongs = _("{child} belongs to {parent}, at most {most} rows each")
    words = "; ".join(
        [
            _("{table} is the root").format(table=schema.root),
            *(belongs.format(child=k.child, parent=k.parent, most=k.most_children) for k in schema.keys),
        ]
    )
    wide = (max(depth.values()) + 1) * (box + GAP) - GAP
    return svg.draw(shapes, wide=wide, tall=base + len(public) * STEP, words=words, kind="map")


def _rows(schema: Tables, table: str, first: int = 0) -> dict[str, int]:
    """The lines on which a table and those below it stand: a parent on its first child's."""
    rows: dict[str, int] = {}
    for key in schema.keys_below(table):
        rows |= _rows(schema, key.child, max(rows.values(), default=first - 1) + 1)
    return {**rows, table: first}


def _box(x: float, y: float, name: str, words: str, wide: float) -> list[svg.Shape]:
    return [
        svg.rect(x, y, wide, TALL, "cell", title=f"{name}: {words}"),
        svg.label(x + 10, y + 19, name, anchor="start"),
        svg.label(x + 10, y + 36, words, anchor="start", kind="dim"),
    ]
