"""A preview with its pages: the card, the publishable report, and the comparison with the rows that stood in."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from synth.evaluate.examination import Limits
from synth.files import whole_files
from synth.pipeline.dry_run import RELEASE, TWIN, Previewed, run_preview
from synth.report import card_page, publish
from synth.report.steward import page as steward
from synth.report.steward.write import about, examine
from synth.schema.dataset import Dataset
from synth.schema.table import Schema

COMPARED = 5_000  # rows of either table that the comparison takes: a preview is to be quick


def preview(
    schema: Schema | Dataset,
    out: str | PathLike[str],
    *,
    prior: Sequence[str | PathLike[str]],
    rows: int,
    **options: Any,
) -> Previewed:
    """The whole way of a run, with its pages, on public rows in place of the private table: free, and before any spend.

    ``schema``: complete, of one table; others are refused. ``out``: a folder. ``prior``: public tables or earlier
    releases; the one that covers most columns stands in for the private table, of which about ``rows`` rows are
    expected. ``options``: as of ``run``. What lies in ``out`` is no release: its card and every page say so, and it can
    be neither bundled nor taken as a prior.

    Errors: UsageError, InputError for whatever a run with these options would be refused for.

    **Guarantee**: none is needed, for no row is private; no ledger is touched.

    Privacy: public only.
    """
    made, place = run_preview(schema, out, prior=prior, rows=rows, **options), Path(out)
    card = about(place / RELEASE)
    pages = {"card_page": place / "card.html", "report": place / "report.html", "comparison": place / "comparison.html"}
    whole_files.write(pages["card_page"], card_page.render_html(card))
    publish.put(place / RELEASE, pages["report"])
    compared = examine(place / RELEASE, real=place / TWIN, limits=Limits(rows=COMPARED))
    whole_files.write(pages["comparison"], steward.render(compared, about=card))
    return replace(made, paths={**made.paths, **{n: str(p) for n, p in pages.items()}})
