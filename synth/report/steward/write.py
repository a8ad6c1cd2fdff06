"""The steward's report of a release: against the real rows, without noise. For the steward alone, never released.

The publishable report is of another kind and stands in ``report``; nothing that packs a release reads this module.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from synth.errors import SynthError, UsageError
from synth.evaluate import examination
from synth.evaluate.examination import Examination, Limits
from synth.evaluate.risks import shadows
from synth.files import whole_files
from synth.pipeline import plan
from synth.release import folder as bundle
from synth.report.publish import about, folder_of
from synth.report.steward import page as steward


def examine(
    release: str | Path,
    *,
    real: str | Path,
    test: str | Path | None = None,
    target: str | None = None,
    groups: Sequence[str] = (),
    limits: Limits | None = None,
    shadow_runs: int = 0,
    stage: Callable[[str], None] = lambda _: None,
) -> Examination:
    """Examines a release's synthetic table against the real one. ``release``: the folder that a run wrote.

    ``test``: held-out real rows. ``target``: column to be predicted, default the schema's. ``groups``: columns that
    divide people. ``shadow_runs``: so many runs of the release's method with and without a row, 0 for none.
    ``limits``: how many rows are used. ``stage``: is told of each stage as it begins. The same arguments give the same
    figures, except for the shadow runs, whose noise is secret.
    Errors: InputError for an unusable file or release, UsageError.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    folder = folder_of(release)
    stored = bundle.load_release(folder)
    attacked: tuple[shadows.Shadow, ...] = ()
    if shadow_runs:
        stage("shadow")
        attacked = membership(stored, draws=shadow_runs, seed=(limits or Limits()).seed)
    result = examination.examine(
        real,
        folder / "synthetic.csv",
        stored.setting.schema,
        test=test,
        target=target,
        groups=tuple(groups),
        forecast=forecast(folder),
        fit=stored.card.get("fit"),
        limits=limits,
        stage=stage,
    )
    return replace(result, shadows=attacked)


def membership(stored: bundle.StoredRelease, *, draws: int, seed: int = 0) -> tuple[shadows.Shadow, ...]:
    """Attacks on membership by runs of a release's method, settings and guarantee, on made-up rows. Errors: UsageError.

    Privacy: public only.
    """
    card = stored.card
    return shadows.measure(
        stored.method,
        epsilon=float(card["epsilon"]),
        delta=float(card["delta"]),
        relation=str(card["relation"]),
        max_rows=int(card.get("max_rows_of_a_unit") or 1),
        options=stored.options,
        draws=draws,
        rng=np.random.default_rng(seed),
    )


def forecast(release: str | Path) -> dict[str, float | None]:
    """The errors that ``synth plan`` forecasts for such a run, from public facts and the release; empty if none."""
    stored = bundle.load_release(release)
    try:
        rows = stored.setting.public_rows or max(1, round(bundle.load_model(release).model.total))
        reported = plan.plan(
            stored.setting.schema,
            rows=rows,
            epsilon=float(stored.card["epsilon"]),
            delta=float(stored.card["delta"]),
            method=stored.method,
            relation=str(stored.card["relation"]),
            options=stored.options,
        )
    except SynthError:
        return {}
    return {"one_way": reported.error_one_way or None, "two_way": reported.error_two_way}


def write(result: Examination, release: str | Path, out: str | Path) -> dict[str, str]:
    """Writes what ``examine`` ``result`` as a page and its JSON.

    Both are marked in name and content, and readable by their owner alone.

    Errors: UsageError when ``out`` is no .html file or lies within the release, whose files are for others.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    page, folder = place_of(release, out)
    reported = {"card": about(folder).get("ledger_entry"), **examination.plain(result)}
    pages = {"report": (page, steward.render(result, about=about(folder)))}
    pages["report_json"] = (page.with_suffix(".json"), json.dumps(reported, indent=1, ensure_ascii=False) + "\n")
    return put(pages)


def place_of(release: str | Path, out: str | Path) -> tuple[Path, Path]:
    """The marked page that is to be written and the release's folder. Errors: as of ``write``."""
    page, folder = steward.marked(Path(out)), folder_of(release)
    if folder.resolve() in page.resolve().parents:
        raise UsageError(f"`out={out}`: lies in the release's folder, which is for others; choose another place")
    return page, folder


def put(pages: Mapping[str, tuple[Path, str]]) -> dict[str, str]:
    """Writes files that their owner alone may read, each whole or not at all; their paths by name. Errors: UsageError.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    for path, words in pages.values():
        try:
            whole_files.write(path, words, private=True)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; choose another `out=`") from None
    return {name: str(path) for name, (path, _words) in pages.items()}
