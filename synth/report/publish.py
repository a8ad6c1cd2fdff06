"""The publishable report of a release: from releases, public facts and the synthetic tables; free.

The steward's report, which compares with real rows, is of another kind and stands in ``steward_report``.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import InputError, UsageError
from synth.evaluate.read_sample import forest, read
from synth.evaluate.verdict import Verdict
from synth.files import whole_files
from synth.languages import with_said
from synth.release import folder as bundle
from synth.release.card import verify
from synth.release.card.card import TOTALS, Card
from synth.release.leaving import may_leave
from synth.release.statistics_file import load
from synth.report import publishable
from synth.report.prior_evidence import prior_evidence, section
from synth.report.publishable import Publishable

MOST_ROWS = 1_000_000  # synthetic rows counted for the publishable report


def gather(release: str | Path) -> Publishable:
    """The publishable report of a release, as data: free, since it uses the release and the synthetic tables alone.

    **Guarantee**: that of the release. Errors: InputError for an unusable release.
    """
    folder = folder_of(release)
    stored = bundle.load_release(folder, tree=None)
    if stored.schema.tree is not None:
        roots = max(bundle.load_model(folder, tree=True).model.total, 1.0)
        return publishable.gather_trees(stored, forest(folder, stored.schema, synthetic=True), roots)
    rng = np.random.default_rng(0)  # no privacy noise: a synthetic table may be sampled with a seed
    made = read(folder / "synthetic.csv", stored.setting.schema, limit=MOST_ROWS, rng=rng, synthetic=True)
    return publishable.gather(
        stored.releases, made.positions, public_rows=stored.setting.public_rows, schema=stored.setting.schema
    )


def publishable_page(
    result: Publishable,
    release: str | Path,
    *,
    statistics: Mapping[str, Any] | None = None,
    card: Card | None = None,
) -> str:
    """The publishable report as one HTML page, with further ``statistics`` where some were paid for.

    ``card``: with how the release was chosen and what that costs; default the one beside it. Errors: InputError for an
    unusable release, and for statistics under another relation or unit than its own.
    """
    card = about(folder_of(release)) if card is None else card
    said = publishable.verdict(result, card)
    if statistics is not None and any(statistics["card"].get(n) != card.get(n) for n in ("relation", "unit")):
        raise InputError(
            "the statistics were paid for under another relation or unit than the release; ask for them again"
        )
    known = section(prior_evidence(folder_of(release))) if card.get("priors") else None
    return publishable.render(result, about=card, said=said, paid=statistics, known=known)


def write(
    release: str | Path, out: str | Path, *, statistics: str | Path | None = None, ledger: str | Path | None = None
) -> dict[str, str]:
    """Writes the publishable report of a ``release``, a folder, and its JSON, if it may leave (``may_leave``).

    ``statistics``: a file of further ones, paid for, of a single table; ``ledger``: the one that paid for the release.

    Errors: InputError, UsageError when ``out`` is no .html file.

    Privacy: released answers only.
    """
    may_leave(folder_of(release), ledger=ledger)
    return put(release, out, statistics=statistics)


def put(release: str | Path, out: str | Path, *, statistics: str | Path | None = None) -> dict[str, str]:
    """As ``write``, also of a preview, which is of public rows and never leaves.

    Privacy: released answers only.
    """
    page = Path(out)
    if page.suffix != ".html":
        raise UsageError("`out={}`: name a .html file", out)
    result = gather(release)
    paid = None if statistics is None or result.schema.tree is not None else load(statistics)
    text = publishable_page(result, release, statistics=paid)
    plain = plainly(result, about(folder_of(release))) | ({} if paid is None else {"further": paid})
    written = {page: text, page.with_suffix(".json"): json.dumps(with_said(plain), indent=1, ensure_ascii=False) + "\n"}
    for path, words in written.items():
        try:
            whole_files.write(path, words)
        except OSError as error:
            raise UsageError("{}: {}; choose another `out=`", path, error) from None
    return dict(zip(("report", "report_json"), map(str, written), strict=True))


def plainly(result: Publishable, card: Card) -> dict[str, Any]:
    """The report as JSON data, with its verdict. ``card``: whose fit takes part.

    Privacy: released answers only.
    """
    return {"verdict": publishable.verdict(result, card).plain(), **publishable.plain(result)}


def verdict(release: str | Path) -> Verdict:
    """What the tables are good for as far as a ``release``, a folder, can tell. Errors: InputError for an unusable one.

    **Guarantee**: that of the release. Privacy: released answers only.
    """
    return publishable.verdict(gather(release), about(folder_of(release)))


def in_words(release: str | Path) -> list[str]:
    """How far the synthetic table is from the noisy counts, in a line for columns and one for pairs; free to be told.

    None where no such counts were released. Errors: InputError for an unusable release.
    """
    result = publishable.means(gather(release))
    kinds = (("columns", result.get("one_way")), ("pairs", result.get("two_way")))
    return [
        f"{name}: {100 * m['distance']:.2g} % of the rows differ from the noisy counts; "
        f"noise alone explains {100 * m['from_noise']:.2g} %"
        for name, m in kinds
        if m is not None
    ]


def folder_of(release: str | Path) -> Path:
    """A release's folder. Errors: InputError when it holds no synthetic table."""
    folder = Path(release)
    folder = folder.parent if folder.suffix == ".json" else folder
    if not folder.exists():
        raise InputError("{}: no such folder; name the folder that a run wrote", folder)
    if not (bundle.is_related(folder) or (folder / "synthetic.csv").is_file()):
        raise InputError("{}: holds no release (synthetic.csv is missing); name the folder that a run wrote", folder)
    return folder


def about(folder: Path) -> Card:
    """The card that a release carries, with what card.json beside it adds of a choice. Errors: InputError."""
    stored = bundle.load_release(folder, tree=None).card
    try:
        reported = verify.load(folder)
        same = all(reported.own[name] == stored.own[name] for name in TOTALS)
    except (InputError, KeyError, TypeError):
        return stored
    added = (*TOTALS, "meaning", "selection", "deployment") if same else ()
    return Card({**stored, **{name: reported[name] for name in added if name in reported}})
