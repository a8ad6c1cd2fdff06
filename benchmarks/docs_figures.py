"""Writes every table of figures in docs/ from benchmarks/results: `make figures`.

    python benchmarks/docs_figures.py [--check]

A table stands between ``<!-- figures: NAME -->`` and ``<!-- end -->``, NAME being one of ``FIGURES`` below. ``--check``
writes nothing and names the pages that differ; a test calls it.
"""

import hashlib
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import docs_figures_audit as audit
import docs_figures_related as related_tables
import docs_figures_reliability as reliability
import docs_figures_speed as speed
import families
from markdown_tables import figure, means, scores, table
from runner import RESULTS, ROOT, read, start
from table1 import STEPS

from synth.generators import GENERATORS
from synth.generators.options import options_of

BETWEEN = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end -->)", re.S)
SCORES = ("contsim", "tv", "ks", "pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
LONG = (
    *("contsim", "tv", "ks", "corrsim", "pair_tv_err", "max_pair_tv_err"),
    *("logreg_f1", "tstr_auc", "c2st_auc", "copies_train"),
)
ORDER = ("mixture", "aim", "mst", "slicing", "dp_kernel", "dp_merf", "dp_ctgan", "pate_gan", "independent")
SLICED = dict.fromkeys(("tv", "ks", "contsim", "logreg_f1", "tstr_auc"), 3)
OF_SLICES = (  # the published comparison in the order of its own tables, this library's methods last
    *("Algorithm 1", "Algorithm 1 by its schedule", "Algorithm 1 + one-ways", "SliceWass", "SliceWass + one-ways"),
    *("DP-SGD", "DP-SGD + one-ways", "PATE", "PATE + one-ways", "MERF", "MERF + one-ways"),
    *("single records (best fit)", "slicing (groups) alone", "slicing (groups)", "mixture"),
)
TIMES = {
    "rows": 0,
    "steps_an_epoch": ("steps an epoch", 0),
    "seconds_an_epoch": ("seconds an epoch", 1),
    "seconds": ("seconds of 200 epochs, extrapolated", 0),
}


def kept(name: str) -> Any:
    """What a benchmark wrote."""
    return read(RESULTS / f"{name}.json", None)


def flagship() -> str:
    rows = [r for r in kept("flagship") if r["method"] == "mixture"]
    return means(rows, ("table", "epsilon"), scores(3, *SCORES), spread=True)


def peers() -> str:
    """Every method on every table, the real rows' own noise first."""
    rows = [r for r in kept("peers") if "failed" not in r]
    tables = list(dict.fromkeys(r["table"] for r in rows))

    def order(key: tuple) -> tuple:
        return tables.index(key[0]), key[1] or 0, ORDER.index(key[2]) if key[2] in ORDER else -1

    return means(
        rows, ("table", "epsilon", "method"), dict.fromkeys(LONG, 4) | {"seconds": 1}, runs="runs", order=order
    )


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
    names = [n for n in rows[0] if n not in ("part", "what", "seed")]
    columns = {n: digits.get(n, 4 if n == "pair_tv_err" else 3) for n in names}
    return means(rows, ("what",), columns).replace("| what |", f"| {heading} |", 1)


def embeddings(method: str) -> str:
    """A method's lines, its variants' too."""
    rows = [r for r in kept("embeddings") if r["part"] == "table" and r["method"].partition(",")[0] == method]
    methods = list(dict.fromkeys(r["method"] for r in rows))
    names = dict.fromkeys(("contsim", "tv", "ks", "pair_tv_err", "logreg_f1", "tstr_auc"), 3)
    return means(rows, ("method", "epsilon"), names, runs="runs", order=lambda key: (methods.index(key[0]), key[1]))


def digits(method: str) -> str:
    """Accuracy on real digits after training on synthetic ones, beside training on real ones."""
    rows = [r for r in kept("embeddings") if r["part"] == "digits"]
    mine = [r for r in rows if r["epsilon"] is None or r["method"].partition(",")[0] == method]
    order = lambda key: (key[1] is not None, key[0], key[1])  # noqa: E731
    return means(mine, ("method", "epsilon"), {"accuracy": 2}, order=order)


def gradients(method: str) -> str:
    rows = [r for r in kept("gradients") if r["method"] == method]
    return means(rows, ("epsilon",), dict.fromkeys(SCORES, 3) | {"seconds": 0})


def of_family(method: str) -> str:
    """A method's own runs, on the table that its page names."""
    rows = [r for r in kept("families") if r["method"] == method and r["table"] != "adult"]
    return families.markdown(rows)


def of_families(*tables: str) -> str:
    return families.markdown([r for r in kept("families") if r["table"] in tables])


def sliced(name: str, by: tuple[str, ...], wanted: Callable[[dict], bool], order: Any = None, **how: Any) -> str:
    """Runs of table1.py."""
    rows = [r for r in kept(name) if wanted(r)]
    return means(rows, by, SLICED | how.pop("columns", {"seconds": 1}), runs="runs", order=order, **how)


def options(name: str) -> str:
    """A method's options with defaults and ranges, from the code: a run refuses what is beyond them."""
    ranges, usual = GENERATORS[name].ranges, options_of(GENERATORS[name])
    return table(("option", "default", "allowed"), [[f"`{n}`", f"`{usual[n]}`", str(r)] for n, r in ranges.items()])


def of_script(module: str, name: str = "") -> str:
    """What a benchmark prints of its own results."""
    return import_module(module).markdown(kept(name or module))


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
SCRIPTS = (
    *("napsu", "sdnist_report", "risks", "shadows", "weights", "beyond_pairs", "told_apart", "closer", "ablation"),
    *("fire", "mbi_fit", "margnet", "synmeter", "report_time"),
)
FIGURES: dict[str, Callable[[], str]] = {
    "flagship": flagship,
    "floor": lambda: means(kept("floor"), ("table", "epsilon"), scores(3, *SCORES)),
    "peers": peers,
    "aim": aim,
    "outside": lambda: means(kept("outside"), ("method", "epsilon"), dict.fromkeys(LONG, 4) | {"seconds": 1}),
    "small": small,
    "related": lambda: related_tables.related(kept),
    "hard": hard,
    "unit": partial(part, "unit", "unit", {"seconds": 1, "rows": 0}),
    "rules": partial(part, "rules", "", {"seconds": 1}),
    "learnt": partial(part, "learnt", "facts", {"seconds": 1}),
    "many": partial(part, "columns", "", {"seconds": 1, "seconds_total": 1, "peak_mib": 0}),
    **{name.replace("_", "-"): partial(of_script, name) for name in SCRIPTS},
    "plan": partial(of_script, "forecast", "plan"),
    "judges": partial(of_script, "outside_judges"),
    "sdnist": partial(of_script, "k_marginal"),
    "parities": partial(of_script, "high_order"),
    "parities-parts": partial(of_script, "high_order", "high_order_parts"),
    **{f"embeddings-{m}": partial(embeddings, m) for m in METHODS},
    **{f"digits-{m}": partial(digits, m) for m in METHODS},
    **{f"gradients-{m}": partial(gradients, m) for m in ("dp_ctgan", "pate_gan", "dp_vae")},
    "families": lambda: of_families("acs"),
    "families-adult": lambda: of_families("adult"),
    "families-few": lambda: of_families("few", "four"),
    **{f"families-{m}": partial(of_family, m) for m in (*families.METHODS, "slice_wasserstein", "mwem", "small_db")},
    "schedule-time": lambda: means(kept("slices_time"), ("device", "slices"), TIMES),
    "published": partial(
        sliced,
        "table1",
        ("method", "epsilon"),
        lambda r: r["relation"] == "zero_out",
        lambda key: (key[1], OF_SLICES.index(key[0])),
        spread=True,
    ),
    "schedule": partial(sliced, "schedule", ("table", "epsilon"), lambda _: True, columns={"seconds": 0}),
    "relations": partial(
        sliced,
        "table1",
        ("relation", "epsilon"),
        lambda r: r["method"] == "slicing (groups)",
        lambda key: (key[0] != "zero_out", key[1]),
        columns={},
    ),
    "steps": lambda: sliced("steps", ("method",), lambda _: True, lambda key: list(STEPS).index(key[0])).replace(
        "| method |", "| step |", 1
    ),
    **{f"audit-{n}": partial(audit.part, n, kept) for n in audit.TABLES},
    **{n: partial(f, kept) for n, f in reliability.TABLES.items()},
    **{f"options-{n}": partial(options, n) for n, g in GENERATORS.items() if g.ranges},
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


def main(given) -> int:
    differ, used = [], set()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.read_text()
        used |= {name for _, name, _ in BETWEEN.findall(page)}
        if written(page) != page:
            differ.append(path.relative_to(ROOT).as_posix())
            if not given.check:
                path.write_text(written(page))
    said = "differs from benchmarks/results: run make figures" if given.check else "written"
    lines = [f"{said}: {p}" for p in differ]
    lines += [f"in no page: {name}" for name in FIGURES if name not in used]
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(lines) if given.check else used != set(FIGURES))


if __name__ == "__main__":
    start(main, check=False)
