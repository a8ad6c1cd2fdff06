"""Building blocks of a page: one style for light and dark, wide and narrow; every text is escaped here."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

STYLE = """
:root{color-scheme:light dark;--ink:#17211f;--soft:#55635f;--page:#fff;--card:#f4f7f6;--line:#d3dcda;--real:#8793a6;
--synthetic:#d5651c;--heat:#b3470f;--cold:#2763a5;--good:#0b6e63;--warn:#fff1e0;--warnink:#7a3b00}
@media(prefers-color-scheme:dark){:root{--ink:#e8efed;--soft:#a3b2ae;--page:#101716;--card:#1a2422;--line:#33413e;
--real:#93a1b8;--synthetic:#f08a45;--heat:#ff9a55;--cold:#6fb1ff;--good:#46c7b5;--warn:#3a2712;--warnink:#ffce9e}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1180px;padding:16px;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:.4em 0}
h2{font-size:1.25rem;margin:2em 0 .4em;border-top:1px solid var(--line);padding-top:.8em}
h3{font-size:1rem;margin:0 0 .3em;overflow-wrap:anywhere}p{max-width:75ch;margin:.5em 0}
.soft,small,caption{color:var(--soft)}small,caption{font-size:.85rem}a{color:inherit}
.mark{background:var(--warn);color:var(--warnink);border:1px solid;border-radius:8px;padding:8px 12px;font-weight:600;
position:sticky;top:8px;z-index:1}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(320px,100%),1fr));gap:14px}
.flow{columns:3 320px;column-gap:14px}.flow>.card{break-inside:avoid;margin-bottom:14px}
.two{grid-template-columns:repeat(auto-fill,minmax(min(500px,100%),1fr))}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px;min-width:0;
scroll-margin-top:70px}
.big{font-size:1.5rem;font-weight:650;line-height:1.2}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;width:100%}th,td{padding:5px 8px;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line);overflow-wrap:break-word}th{color:var(--soft);font-weight:600}
th,td{min-width:5.5em}th.n,td.n{min-width:0}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
svg{display:block;width:100%;height:auto;max-width:460px}svg.map{max-width:none}
svg text{fill:currentColor;font-size:11px}
svg .dim{fill:var(--soft)}svg .real{fill:var(--real)}svg .synthetic{fill:var(--synthetic)}svg .axis{stroke:var(--line)}
svg .line{fill:none;stroke:var(--synthetic);stroke-width:2}svg .heat{fill:var(--heat)}svg .cold{fill:var(--cold)}
svg .cell{stroke:var(--line);stroke-width:.5;fill:none}svg .good{fill:var(--good)}svg .whisker{stroke:var(--ink);
stroke-width:1.5}svg .dot{fill:var(--ink)}svg a:hover rect{stroke:var(--ink);stroke-width:1.5}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .35em 0 .9em;vertical-align:-.05em}
.key.real{background:var(--real)}.key.synthetic{background:var(--synthetic)}.key.good{background:var(--good)}
.key.dot{background:var(--ink);border-radius:50%}.key.heat{background:var(--heat)}.key.cold{background:var(--cold)}
details{margin:.5em 0}summary{cursor:pointer}dl{display:grid;grid-template-columns:minmax(110px,240px) 1fr;gap:4px 14px}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.85em;overflow-wrap:anywhere}
@media(max-width:560px){dl{grid-template-columns:1fr}dd{margin-bottom:.5em}}
@media print{.mark{position:fixed;top:0;left:0;right:0}body{padding-top:3em}details{display:block}
.card{break-inside:avoid}}
"""


def page(title: str, *parts: str, mark: str | None = None) -> str:
    """A whole document. ``mark``: a warning that stays in sight, on screen and on every printed page."""
    banner = f'<div class="mark" role="note">{escape(mark)}</div>' if mark else ""
    named = f"{mark} | {title}" if mark else title
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,"><title>{escape(named)}</title>'
        f"<style>{STYLE}</style></head>\n<body>{banner}<main><h1>{escape(title)}</h1>\n" + "\n".join(parts)
        + "</main></body></html>\n"
    )  # fmt: skip


def section(title: str, *parts: str, mark: str = "") -> str:
    """A part of a page under its heading; ``mark`` stands beside it."""
    beside = f" <small>{escape(mark)}</small>" if mark else ""
    return f"<section><h2>{escape(title)}{beside}</h2>\n" + "\n".join(parts) + "</section>"


def text(words: str) -> str:
    """A paragraph."""
    return f"<p>{escape(words)}</p>"


def note(words: str) -> str:
    """A paragraph of lesser weight."""
    return f'<p class="soft"><small>{escape(words)}</small></p>'


def card(title: str, *parts: str, name: str | None = None) -> str:
    """A box with a heading; ``name`` lets links lead to it."""
    anchor = f' id="{escape(name)}"' if name else ""
    return f'<div class="card"{anchor}><h3>{escape(title)}</h3>' + "".join(parts) + "</div>"


def number(label: str, value: str, words: str = "") -> str:
    """A box with one figure in large type."""
    return card(label, f'<div class="big">{escape(value)}</div>', f"<small>{escape(words)}</small>")


def grid(parts: Iterable[str], *, wide: bool = False) -> str:
    """Boxes in rows, as many as fit; ``wide`` ones are at most two in a row."""
    return f'<div class="grid{" two" if wide else ""}">' + "".join(parts) + "</div>"


def flow(parts: Iterable[str]) -> str:
    """Boxes of unlike height, in columns from top to bottom."""
    return '<div class="flow">' + "".join(parts) + "</div>"


def details(summary: str, *parts: str) -> str:
    """A part that opens on demand."""
    return f"<details><summary>{escape(summary)}</summary>" + "".join(parts) + "</details>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, words: tuple[int, ...] = (0,)) -> str:
    """A table; columns other than ``words`` are aligned as numbers. On a narrow screen it scrolls by itself."""

    def line(cells: Sequence[Any], tag: str) -> str:
        marks = ("" if i in words else ' class="n"' for i in range(len(cells)))
        return "".join(f"<{tag}{m}>{escape(str(c))}</{tag}>" for m, c in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{line(r, 'td')}</tr>" for r in rows)
    return (f'<div class="scroll"><table><thead><tr>{line(head, "th")}</tr></thead><tbody>{body}</tbody></table>'
            "</div>")  # fmt: skip


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """Names and what they stand for."""
    return "<dl>" + "".join(f"<dt>{escape(n)}</dt><dd>{escape(str(v))}</dd>" for n, v in pairs) + "</dl>"


def legend(*entries: tuple[str, str]) -> str:
    """What the colours mean: (class, words) for each."""
    return "<small>" + "".join(f'<span class="key {c}"></span>{escape(w)}' for c, w in entries) + "</small>"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent, a dash for none.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '-')
    """
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def figure(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of decimals, a dash for none."""
    return "-" if value is None else f"{value:.{digits}f}"
