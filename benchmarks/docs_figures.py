"""Writes every table of figures in docs/ from benchmarks/results: `make figures`.

    python benchmarks/docs_figures.py [--check]

A table stands between ``<!-- figures: NAME -->`` and ``<!-- end -->``, NAME being one of ``FIGURES`` below. ``--check``
writes nothing and names the pages that differ; a test calls it.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ablation
import beyond_pairs
import closer
import docs_figures_audit as audit
import docs_figures_decisions as decisions
import docs_figures_intervals as intervals
import docs_figures_options as options
import docs_figures_related as related_tables
import docs_figures_reliability as reliability
import docs_figures_speed as speed
import families
import fire
import forecast
import high_order
import k_marginal
import margnet
import mbi_fit
import napsu
import outside_judges
import report_time
import risks
import sdnist_report
import shadows
import synmeter
import told_apart
import weights
from markdown_tables import figure, means, scores, table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BETWEEN = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end -->)", re.S)
SCORES = ("contsim", "tv", "ks", "pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
LONG = (
    *("contsim", "tv", "ks", "corrsim", "pair_tv_err", "max_pair_tv_err"),
    *("logreg_f1", "tstr_auc", "c2st_auc", "copies_train"),
)
ORDER = ("mixture", "aim", "mst", "slicing", "dp_kernel", "dp_merf", "dp_ctgan", "pate_gan", "independent")
SLICED = {n: (n, 3) for n in ("tv", "ks", "contsim", "logreg_f1", "tstr_auc")}
PUBLISHED = (
    "Algorithm 1",
    "Algorithm 1 by its schedule",
    "Algorithm 1 + one-ways",
    "SliceWass",
    "SliceWass + one-ways",
    "DP-SGD",
    "DP-SGD + one-ways",
    "PATE",
    "PATE + one-ways",
    "MERF",
    "MERF + one-ways",
    "single records (best fit)",
    "slicing (groups) alone",
    "slicing (groups)",
    "mixture",
)
TIMES = {
    "rows": ("rows", 0),
    "steps_an_epoch": ("steps an epoch", 0),
    "seconds_an_epoch": ("seconds an epoch", 1),
    "seconds": ("seconds of 200 epochs, extrapolated", 0),
}
STEPS = (
    "Algorithm 1, noise by the published bound",
    "noise by the exact profile",
    "a rotation for the directions",
    "moments instead of a network",
    "sums of groups",
    "two stages",
)


def kept(name: str) -> Any:
    """What a benchmark wrote."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def flagship() -> str:
    rows = [r for r in kept("flagship") if r["method"] == "mixture"]
    return means(rows, ("table", "epsilon"), scores(3, *SCORES), spread=True)


def floor() -> str:
    return means(kept("floor"), ("table", "epsilon"), scores(3, *SCORES))


def peers() -> str:
    """Every method on every table, the real rows' own noise first."""
    rows = [r for r in kept("peers") if "failed" not in r]
    tables = list(dict.fromkeys(r["table"] for r in rows))

    def order(key: tuple) -> tuple:
        return tables.index(key[0]), key[1] or 0, ORDER.index(key[2]) if key[2] in ORDER else -1

    return means(rows, ("table", "epsilon", "method"), _four(*LONG), runs="runs", order=order)


def _four(*names: str) -> dict[str, tuple[str, int]]:
    return {n: (n, 4) for n in names} | {"seconds": ("seconds", 1)}


def aim() -> str:
    """Other options of AIM beside its defaults, these by the least and the most of their runs."""
    names = ("contsim", "pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc", "seconds")
    usual = [r for r in kept("peers") if (r["table"], r["epsilon"], r["method"]) == ("acs", 1.0, "aim")]

    def told(name: str, rows: list[dict]) -> str:
        digits = 0 if name == "seconds" else 4
        ends = [figure(f(r[name] for r in rows), digits) for f in (min, max)]
        return " to ".join(dict.fromkeys(ends))

    others = [[r] for r in kept("peers-aim") if r["options"]]
    lines = [
        [group[0]["options"] or f"defaults, {len(group)} runs", *(told(n, group) for n in names)]
        for group in (usual, *others)
    ]
    return table(("options of aim", *names), lines)


def small() -> str:
    rows = kept("small")
    return table([r["method"] for r in rows], [[f"{r['seconds']:.0f} s" for r in rows]])


def hard() -> str:
    columns = scores(3, "ks", "tv", "contsim", "pair_tv_err", "max_pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
    return means([*kept("hard"), *kept("wide")], ("table", "epsilon"), columns)


def part(name: str, heading: str, digits: dict[str, int]) -> str:
    """One part of the benchmark of hard tables; columns as they were measured."""
    rows = [r for r in kept("tables") if r["part"] == name]
    names = [n for n in rows[0] if n not in ("part", "what")]
    columns = {n: (n, digits.get(n, 4 if n == "pair_tv_err" else 3)) for n in names}
    return means(rows, ("what",), columns).replace("| what |", f"| {heading} |", 1)


def embeddings(method: str) -> str:
    """A method's lines, its variants' too."""
    rows = [r for r in kept("embeddings") if r["part"] == "table" and r["method"].partition(",")[0] == method]
    names = ("contsim", "tv", "ks", "pair_tv_err", "logreg_f1", "tstr_auc")
    methods = list(dict.fromkeys(r["method"] for r in rows))
    return means(
        rows,
        ("method", "epsilon"),
        {n: (n, 3) for n in names},
        runs="runs",
        order=lambda key: (methods.index(key[0]), key[1]),
    )


def digits(method: str) -> str:
    """Accuracy on real digits after training on synthetic ones, beside training on real ones."""
    rows = [r for r in kept("embeddings") if r["part"] == "digits"]
    mine = [r for r in rows if r["method"].partition(",")[0] == method]
    real = next(r for r in rows if r["epsilon"] is None)
    return means(
        [real, *mine],
        ("method", "epsilon"),
        {"accuracy": ("accuracy", 2)},
        order=lambda key: (key[1] is not None, key[0], key[1]),
    )


def gradients(method: str) -> str:
    rows = [r for r in kept("gradients") if r["method"] == method]
    columns = {n: (n, 3) for n in SCORES} | {"seconds": ("seconds", 0)}
    return means(rows, ("epsilon",), columns)


def of_family(method: str) -> str:
    """A method's own runs, on the table that its page names."""
    rows = [r for r in kept("families") if r["method"] == method and r["table"] != "adult"]
    return families.markdown(rows)


def of_families(*tables: str) -> str:
    return families.markdown([r for r in kept("families") if r["table"] in tables])


def published() -> str:
    """The published comparison, in the order of its own tables, this library's methods last."""
    rows = [r for r in kept("table1") if r["relation"] == "zero_out"]
    return means(
        rows,
        ("method", "epsilon"),
        SLICED | {"seconds": ("seconds", 1)},
        runs="runs",
        spread=True,
        order=lambda key: (key[1], PUBLISHED.index(key[0])),
    )


def schedule() -> str:
    """The published training in full, on the part of the table that its JSON names."""
    return means(kept("schedule"), ("table", "epsilon"), SLICED | {"seconds": ("seconds", 0)}, runs="runs")


def relations() -> str:
    rows = [r for r in kept("table1") if r["method"] == "slicing (groups)"]
    return means(rows, ("relation", "epsilon"), SLICED, runs="runs", order=lambda key: (key[0] != "zero_out", key[1]))


def steps() -> str:
    """From the published algorithm to the default, step by step."""
    made = means(
        kept("steps"),
        ("method",),
        SLICED | {"seconds": ("seconds", 1)},
        runs="runs",
        order=lambda key: STEPS.index(key[0]),
    )
    return made.replace("| method |", "| step |", 1)


# Results with `mixture` from before its private search, by the first digits of their SHA-256: other ones are newer.
BEFORE_SEARCH = {
    "peers": "838aad45c850",
    "small": "e1fbc5f4954f",
    "table1": "37d9c4a9597c",
    "tables": "f7fe557a3baf",
    "columns": "c1e18e2c4e1b",
    "columns_rows": "a490e3ef5fe8",
    "scaling": "f6ab03debf85",
    "audit": "03d352983959",
}
USED = {
    "peers": "peers",
    "small": "small",
    "published": "table1",
    "unit": "tables",
    "rules": "tables",
    "learnt": "tables",
    "many": "tables",
    "audit-methods": "audit",
    "speed-columns": "columns",
    "speed-rows": "columns_rows",
    "speed-scaling": "scaling",
    "speed-slopes": "scaling",
}
OLDER = "*`mixture` in this table is from before its private search for tables of three and four columns.*"
METHODS = ("dp_kernel", "dp_merf", "dp_hp", "pearl", "dp_ntk")
FIGURES: dict[str, Callable[[], str]] = {
    "flagship": flagship,
    "floor": floor,
    "peers": peers,
    "aim": aim,
    "outside": lambda: means(kept("outside"), ("method", "epsilon"), _four(*LONG)),
    "small": small,
    "related": lambda: related_tables.related(kept),
    "faults": lambda: reliability.faults(kept),
    "refusals": lambda: reliability.refusals(kept),
    "refusals-slow": lambda: reliability.ends(kept),
    "attacks": lambda: reliability.attacks(kept),
    "plan": lambda: forecast.markdown(kept("plan")),
    "report-time": lambda: report_time.markdown(kept("report_time")),
    "inference": intervals.inference,
    "inference-combined": intervals.combined,
    "napsu": lambda: napsu.markdown(kept("napsu")),
    "judges": lambda: outside_judges.markdown(kept("outside_judges")),
    "sdnist-report": lambda: sdnist_report.markdown(kept("sdnist_report")),
    "risks": lambda: risks.markdown(kept("risks")),
    "shadows": lambda: shadows.markdown(kept("shadows")),
    "weights": lambda: weights.markdown(kept("weights")),
    "hard": hard,
    "unit": partial(part, "unit", "unit", {"seconds": 1, "rows": 0}),
    "rules": partial(part, "rules", "", {"seconds": 1}),
    "learnt": partial(part, "learnt", "facts", {"seconds": 1}),
    "many": partial(part, "columns", "", {"seconds": 1, "seconds_total": 1, "peak_mib": 0}),
    **{f"embeddings-{m}": partial(embeddings, m) for m in METHODS},
    **{f"digits-{m}": partial(digits, m) for m in METHODS},
    **{f"gradients-{m}": partial(gradients, m) for m in ("dp_ctgan", "pate_gan", "dp_vae")},
    "families": lambda: of_families("acs"),
    "families-adult": lambda: of_families("adult"),
    "families-few": lambda: of_families("few", "four"),
    **{f"families-{m}": partial(of_family, m) for m in (*families.METHODS, "slice_wasserstein", "mwem", "small_db")},
    "schedule-time": lambda: means(kept("slices_time"), ("device", "slices"), TIMES),
    "beyond-pairs": lambda: beyond_pairs.markdown(kept("beyond_pairs")),
    "told-apart": lambda: told_apart.markdown(kept("told_apart")),
    "sdnist": lambda: k_marginal.markdown(kept("k_marginal")),
    "closer": lambda: closer.markdown(kept("closer")),
    "ablation": lambda: ablation.markdown(kept("ablation")),
    "fire": lambda: fire.markdown(kept("fire")),
    "mbi-fit": lambda: mbi_fit.markdown(kept("mbi_fit")),
    "margnet": lambda: margnet.markdown(kept("margnet")),
    "synmeter": lambda: synmeter.markdown(kept("synmeter")),
    "parities-parts": lambda: high_order.markdown(kept("high_order_parts")),
    "parities": lambda: high_order.markdown(kept("high_order")),
    "published": published,
    "schedule": schedule,
    "relations": relations,
    "steps": steps,
    **{f"audit-{n}": partial(audit.part, n, kept) for n in audit.PARTS},
    **{f"decision-{n}": partial(f, kept) for n, f in decisions.TABLES.items()},
    **{f"options-{n}": f for n, f in options.TABLES.items()},
    **{f"speed-{n}": partial(f, kept) for n, f in speed.TABLES.items()},
}


def older(name: str) -> str:
    """What is said under a table whose runs of `mixture` made no search yet; nothing for newer results."""
    file = USED.get(name)
    digest = hashlib.sha256((RESULTS / f"{file}.json").read_bytes()).hexdigest() if file else ""
    return f"\n\n{OLDER}" if file and digest.startswith(BEFORE_SEARCH[file]) else ""


def written(page: str) -> str:
    """The page with its tables as the results have them."""

    def fresh(found: re.Match[str]) -> str:
        return f"{found[1]}\n{FIGURES[found[2]]()}{older(found[2])}\n\n{found[3]}"

    return BETWEEN.sub(fresh, page)


def main() -> int:
    check = "--check" in sys.argv[1:]
    differ, used = [], set()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.read_text()
        used |= {name for _, name, _ in BETWEEN.findall(page)}
        if written(page) != page:
            differ.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_text(written(page))
    lines = [f"{'differs from benchmarks/results: run make figures' if check else 'written'}: {p}" for p in differ]
    lines += [f"in no page: {name}" for name in FIGURES if name not in used]
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(lines) if check else used != set(FIGURES))


if __name__ == "__main__":
    sys.exit(main())
