"""Charts as SVG. Each bears a text alternative; colours come from the page's style, so they follow light and dark."""

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

WIDE = 340  # units; a unit is a pixel on a narrow screen
LEFT = 108  # room for labels
MOST = 14  # letters of a matrix's label


def _svg(height: float, body: str, words: str, *, wide: float = WIDE, kind: str = "") -> str:
    drawn = f' class="{kind}" style="min-width:{wide:.0f}px;max-width:{1.15 * wide:.0f}px"' if kind else ""
    return (f'<svg viewBox="0 0 {wide:.0f} {height:.0f}" role="img" aria-label="{escape(words)}"{drawn}>'
            f"{body}</svg>")  # fmt: skip


def short(label: str, most: int = 17) -> str:
    """A label that fits, cut where it does not.

    >>> short("a very long label indeed", 10)
    'a very lo…'
    """
    return label if len(label) <= most else label[: most - 1] + "…"


def _label(
    x: float, y: float, words: str, *, anchor: str = "end", kind: str = "", most: int = 17, more: str = ""
) -> str:
    shown = escape(short(words, most))
    whole = f"<title>{escape(words)}</title>" if len(words) > most else ""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}{more}>{shown}{whole}</text>'


def _rect(x: float, y: float, wide: float, tall: float, kind: str, *, title: str = "", opacity: float = 1.0) -> str:
    shade = "" if opacity >= 1 else f' fill-opacity="{max(opacity, 0):.3f}"'
    words = f"<title>{escape(title)}</title>" if title else ""
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0):.2f}" height="{max(tall, 0):.2f}" '
            f'class="{kind}"{shade}>{words}</rect>')  # fmt: skip


def paired_bars(labels: Sequence[str], real: np.ndarray, synthetic: np.ndarray, *, words: str) -> str:
    """Shares of categories in two tables, side by side."""
    top = max(float(np.max([real, synthetic])), 1e-9)
    scale, parts = (WIDE - LEFT - 44) / top, []
    for i, label in enumerate(labels):
        y = 4 + 22 * i
        parts.append(_label(LEFT - 6, y + 13, label))
        for k, (kind, share) in enumerate((("real", real[i]), ("synthetic", synthetic[i]))):
            parts.append(_rect(LEFT, y + 9 * k, share * scale, 8, kind, title=f"{label}, {kind}: {share:.2%}"))
        parts.append(_label(LEFT + max(real[i], synthetic[i]) * scale + 4, y + 13, f"{real[i]:.1%}", anchor="start",
                            kind="dim"))  # fmt: skip
    return _svg(22 * len(labels) + 8, "".join(parts), words)


def overlaid_bins(labels: Sequence[str], real: np.ndarray, synthetic: np.ndarray, *, words: str) -> str:
    """Shares of bins in two tables: filled for the real one, a line for the synthetic."""
    top, base, left = max(float(np.max([real, synthetic])), 1e-9), 150, 34
    step = (WIDE - left - 6) / len(labels)
    at = [(left + i * step, base - s / top * 136) for i, s in enumerate(synthetic)]
    bars = [_rect(left + i * step, base - r / top * 136, step - 0.6, r / top * 136, "real",
                  title=f"{labels[i]}: real {r:.2%}, synthetic {synthetic[i]:.2%}")
            for i, r in enumerate(real)]  # fmt: skip
    path = "".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}h{step:.2f}" for i, (x, y) in enumerate(at))
    axis = f'<line x1="{left}" x2="{WIDE - 6}" y1="{base}" y2="{base}" class="axis"/>'
    ends = _label(left, base + 15, labels[0], anchor="start", kind="dim", most=22)
    ends += _label(WIDE - 6, base + 15, labels[-1], kind="dim", most=22) if len(labels) > 1 else ""
    ticks = _label(left - 4, base, "0", kind="dim") + _label(left - 4, 20, f"{top:.0%}" if top > 0.1 else f"{top:.1%}",
                                                             kind="dim")  # fmt: skip
    return _svg(base + 22, "".join(bars) + f'<path d="{path}" class="line"/>' + axis + ends + ticks, words)


def heat(
    rows: Sequence[str],
    columns: Sequence[str],
    shares: np.ndarray,
    *,
    words: str,
    title: Callable[[int, int], str],
    top: float | None = None,
    root: bool = False,
    link: Callable[[int, int], str | None] | None = None,
) -> str:
    """A matrix as shades: stronger is more, negative values in the cold colour, empty cells where not a number.

    ``root``: shades by square root, so that small shares can be seen. ``link``: where a cell leads to.
    """
    size = 22 if len(columns) <= 16 else 15 if len(columns) <= 30 else 11
    high = top if top is not None else max(float(np.nanmax(np.abs(shares), initial=0.0)), 1e-9)
    left, above = (14 + 6.7 * min(max(map(len, names)), MOST) for names in (rows, columns))
    parts = []
    for j, label in enumerate(columns):
        x = left + size * (j + 0.5) + 3
        turned = f' transform="rotate(-60 {x:.1f} {above - 4:.1f})"'
        parts.append(_label(x, above - 4, label, anchor="start", most=MOST, more=turned))
    for i, label in enumerate(rows):
        parts.append(_label(left - 6, above + size * (i + 0.5) + 4, label, most=MOST))
        for j in range(len(columns)):
            parts.append(_cell(shares[i, j], left + size * j, above + size * i, size, high, title(i, j),
                               root=root, link=link(i, j) if link else None))  # fmt: skip
    return _svg(above + size * len(rows) + 4, "".join(parts), words, wide=left + size * len(columns) + above / 2,
                kind="map")  # fmt: skip


def _cell(
    value: float, x: float, y: float, size: float, high: float, title: str, *, root: bool, link: str | None
) -> str:
    if np.isnan(value):
        return _rect(x, y, size - 1, size - 1, "cell", title=title)
    shade = min(abs(value) / high, 1.0)
    drawn = _rect(x, y, size - 1, size - 1, "heat" if value >= 0 else "cold", title=title,
                  opacity=0.06 + 0.94 * (shade**0.5 if root else shade) - (0.001 if shade < 1 else 0))  # fmt: skip
    return f'<a href="#{escape(link)}">{drawn}</a>' if link else drawn


def intervals(
    labels: Sequence[str], noisy: np.ndarray, half: np.ndarray, synthetic: np.ndarray, *, words: str, level: str
) -> str:
    """Released values as dots with their intervals, the synthetic table's as bars."""
    top = max(float(np.max(noisy + half)), float(np.max(synthetic)), 1e-9)
    scale, parts = (WIDE - LEFT - 12) / top, []
    for i, label in enumerate(labels):
        y, low, high = 4 + 19 * i, max(noisy[i] - half[i], 0.0), max(noisy[i] + half[i], 0.0)
        told = f"{label}: released {noisy[i]:,.0f} ± {half[i]:,.0f} ({level}), synthetic {synthetic[i]:,.0f}"
        parts.append(_label(LEFT - 6, y + 12, label))
        parts.append(_rect(LEFT, y, synthetic[i] * scale, 15, "synthetic", title=told, opacity=0.75))
        parts.append(f'<line x1="{LEFT + low * scale:.1f}" x2="{LEFT + high * scale:.1f}" y1="{y + 7.5}" '
                     f'y2="{y + 7.5}" class="whisker"/>')  # fmt: skip
        parts.append(f'<circle cx="{LEFT + max(noisy[i], 0) * scale:.1f}" cy="{y + 7.5}" r="2.6" class="dot">'
                     f"<title>{escape(told)}</title></circle>")  # fmt: skip
    return _svg(19 * len(labels) + 8, "".join(parts), words)


def stacked(parts: tuple[float, float, float], *, top: float, words: str) -> str:
    """A distance as sampling, noise and bias, end to end."""
    kinds = (("real", "sampling"), ("good", "privacy noise"), ("heat", "bias"))
    x, drawn = 0.0, []
    for (kind, name), share in zip(kinds, parts, strict=True):
        wide = WIDE * share / max(top, 1e-12)
        drawn.append(_rect(x, 2, wide, 14, kind, title=f"{name}: {share:.2%}"))
        x += wide
    return _svg(18, "".join(drawn), words)
