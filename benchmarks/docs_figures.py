"""Writes every table of figures in docs/ from benchmarks/results: `make figures`.

    python benchmarks/docs_figures.py [--check] [--show NAME]

A table stands between ``<!-- figures: NAME -->`` and ``<!-- end -->``, NAME being one of ``FIGURES`` below. ``--check``
writes nothing and names the pages that differ; a test calls it. ``--show`` prints one table, also one that no page
has, or with ``all`` the site's page of all of them.
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
import markdown_tables
import peers
from markdown_tables import across, each, means, scores, table
from runner import RESULTS, ROOT, read, start
from table1 import STEPS

BETWEEN = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end -->)", re.S)
SHOWN = re.compile(r"--show\s+(?!NAME|all)([a-z][\w-]*)")  # what a page says can be printed
SCORES = ("contsim", "tv", "ks", "pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
HARD = ("ks", "tv", "contsim", "pair_tv_err", "max_pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
LONG = dict.fromkeys(peers.SCORES, 4) | {"seconds": 1}
SLICED = dict.fromkeys(("tv", "ks", "contsim", "corrsim", "logreg_f1", "tstr_auc"), 3)
EMBEDDED = dict.fromkeys(("contsim", "tv", "ks", "pair_tv_err", "logreg_f1", "tstr_auc"), 3)
USED_FOR = ("table", "method", "way", "runs", "named", "second", "pairs", "columns", "error")
REPEATED = ("table", "runs", "pair_tv_err", "triple_tv_err", "worst / median", "loss over noise's", "cpu_seconds")
METHODS = ("dp_kernel", "dp_merf", "dp_hp", "pearl", "dp_ntk")
BESIDE = (  # files of results from which the table of all methods takes a method: the first that has it
    ("flagship", {"mixture"}),
    ("peers", {peers.BOOTSTRAP, "aim", "mst", "slicing", "independent"}),
    ("embeddings", set(METHODS)),
    ("families", None),
    ("gradients", None),
)
OF_SLICES = (  # the published comparison in the order of its own tables, this library's methods last
    *("Algorithm 1", "Algorithm 1, published form", "Algorithm 1, a fixed quarter", "Algorithm 1, fixed directions"),
    *("Algorithm 1 as published", "Algorithm 1 by its schedule", "Algorithm 1 + one-ways"),
    *("SliceWass", "SliceWass as published", "SliceWass + one-ways"),
    *("DP-SGD", "DP-SGD + one-ways", "PATE", "PATE + one-ways", "MERF", "MERF + one-ways"),
    *("single records (best fit)", "slicing (groups) alone", "slicing (groups)", "mixture"),
)


def stored(name: str) -> Any:
    """What a benchmark wrote."""
    return read(RESULTS / f"{name}.json", None)


def meant(file: str, by: str, columns: Any, *, where: Callable[[dict], bool] = bool, **how: Any) -> str:
    """Means over the runs of a file, or of several, that are wanted."""
    rows = [r for name in file.split() for r in stored(name) if where(r)]
    return means(rows, by.split(), columns, **how)


def peers_of_all() -> str:
    """Every method on every table, the real rows' own noise first."""
    rows = [r for r in stored("peers") if "failed" not in r]
    order = {"table": each(rows, "table"), "epsilon": None, "method": peers.ORDER}
    return means(rows, ("table", "epsilon", "method"), LONG, runs="runs", order=order)


def methods_at_1() -> str:
    """Every method on ACSIncome Colorado at epsilon 1, single columns counted, least error of pairs first."""
    found: dict[str, list[dict]] = {}
    for file, wanted in BESIDE:
        rows = [r for r in stored(file) if r.get("table", "acs") == "acs" and "failed" not in r]
        rows = [r for r in rows if r.get("part", "table") == "table" and r.get("oneways", "paid") == "paid"]
        rows = [r for r in rows if r["epsilon"] == 1 or r["method"] == peers.BOOTSTRAP]
        for name in each(rows, "method"):
            if name in (wanted or {name}):
                found.setdefault(name, [r for r in rows if r["method"] == name])
    found = {n: r for n, r in found.items() if all("pair_tv_err" in x for x in r)}
    ordered = sorted(found, key=lambda n: sum(r["pair_tv_err"] for r in found[n]) / len(found[n]))
    columns = {"pair_tv_err": 3, "tstr_auc": 3, "seconds": 0}
    return means([r for n in ordered for r in found[n]], ("method",), columns)


def splines() -> str:
    """An autoencoder's scores with a latent flow and without."""
    made = meant("dp_vae", "options epsilon", dict.fromkeys(SCORES, 3) | {"seconds": 0}, spread=True, runs="runs")
    return made.replace("|  |", "| none |")


def letter() -> str:
    """The published algorithm's forms on Colorado at epsilon 5.1, three runs each, above what the text prints."""
    forms = [m for m in OF_SLICES if m.startswith("Algorithm 1") and "one-ways" not in m]
    rows = [r for r in stored("table1") if r["method"] in forms and r["epsilon"] == 5.1]
    ours = means(rows, ("method",), SLICED, spread=True, order={"method": forms})
    asked = {"task": "Income", "method": "Algorithm 1", "epsilon": 5.1}
    (text,) = [r for r in stored("slicing_printed") if asked.items() <= r.items()]
    return f"{ours}\n| the text, California | " + " | ".join(str(text.get(n, "-")) for n in SLICED) + " |"


def steps() -> str:
    """From the published algorithm to the default, step by step."""
    made = means(stored("steps"), ("method",), SLICED | {"seconds": 1}, runs="runs", order={"method": list(STEPS)})
    return made.replace("| method |", "| step |", 1)


def printed(name: str) -> str:
    """Lines that a text prints, as they stand there."""
    rows = stored(name)
    return table(list(rows[0]), [[f"{v:g}" if isinstance(v, float | int) else v for v in r.values()] for r in rows])


def part(name: str, heading: str, digits: dict[str, int]) -> str:
    """One part of the benchmark of hard tables; columns as they were measured."""
    rows = [r for r in stored("tables") if r["part"] == name]
    names = [n for n in rows[0] if n not in ("part", "what", "seed")]
    columns = {n: digits.get(n, 4 if n == "pair_tv_err" else 3) for n in names}
    return means(rows, ("what",), columns).replace("| what |", f"| {heading} |", 1)


def embeddings(method: str, what: str) -> str:
    """Lines of a method and its variants: scores, or accuracy on real digits beside that of training on real ones."""
    rows = [r for r in stored("embeddings") if r["part"] == what]
    rows = [r for r in rows if r["epsilon"] is None or r["method"].partition(",")[0] == method]
    if what != "table":
        rows = sorted(rows, key=lambda r: (r["epsilon"] is not None, r["method"]))
    columns, runs = (EMBEDDED, "runs") if what == "table" else ({"accuracy": 2, "cnn": 2, "fid": 2}, "")
    order = {"method": each(rows, "method"), "epsilon": None}
    return means(rows, ("method", "epsilon"), columns, runs=runs, order=order)


def of_families(where: Callable[[dict], bool]) -> str:
    return families.markdown([r for r in stored("families") if where(r)])


def priors(*wanted: str) -> str:
    """Errors with and without a public table, and of its weighed rows, an epsilon a column."""
    found = (("L1 of 3 columns", ""), ("pair_tv_err", ""), ("raked public rows", ", weighed"))
    rows = [r | {"prior": r["prior"] + how, "error": r.get(name)} for r in stored("priors") for name, how in found]
    rows = [r for r in rows if r["error"] is not None and r["table"] in (wanted or {r["table"]})]
    return across(rows, ("prior",) if wanted else ("table", "prior"), "epsilon", "error", 4 - len(wanted))


def of_script(module: str, name: str = "") -> str:
    """What a benchmark prints of its own results."""
    return import_module(module).markdown(stored(name or module))


def of_uses(wanted: Callable[[str], bool]) -> str:
    """What uses.py prints of some of its parts."""
    return import_module("uses").markdown([r for r in stored("uses") if wanted(r["part"])])


# Results with `mixture` from before its private search, by the first digits of their SHA-256, and tables of these.
BEFORE_SEARCH = {"audit": ("03d352983959", ("audit-methods",))}
OLDER = "*`mixture` in this table is from before its private search for tables of three and four columns.*"
SCRIPTS = (*("amounts", "risks", "shadows", "beyond_pairs", "figure1", "related_floor", "areas", "verified_roots"),)
SECONDS = {"seconds": 1}
MEANS: dict[str, tuple[tuple, dict[str, Any]]] = {
    "flagship": (
        ("flagship", "table epsilon", scores(3, "pair_tv_err", "tstr_auc", "c2st_auc", seconds=None)),
        {"where": lambda r: r["method"] == "mixture"},
    ),
    "floor": (("floor", "table epsilon", scores(3, *SCORES)), {}),
    "runs-alone": (
        ("repeated_runs_alone", "table epsilon", {"loss over noise's": 2, "pair_tv_err": 4, "seconds": 0}),
        {},
    ),
    "totals": (
        ("totals", "how", {"cells_off": 0, "pair_tv_err": 4, "ks": 4, "tstr_auc": 4, "c2st_auc": 3, "seconds": 0}),
        {"where": lambda r: r["how"] in ("none", "totals"), "spread": True, "runs": "runs"},
    ),
    "public-columns": (
        ("totals", "how", {"pair_tv_err": 4, "ks": 4, "tstr_auc": 4, "c2st_auc": 3}),
        {"where": lambda r: r["how"] in ("replaced", "public"), "spread": True, "runs": "runs"},
    ),
    "hard": (("hard wide", "table epsilon", scores(3, *HARD)), {}),
    "schedule": (("schedule", "table epsilon", SLICED | {"seconds": 0}), {"runs": "runs"}),
    "published": (
        ("table1", "method epsilon", SLICED | SECONDS),
        {"where": lambda r: r["relation"] == "zero_out", "spread": True, "runs": "runs"}
        | {"order": {"epsilon": None, "method": OF_SLICES}},
    ),
    "relations": (
        ("table1", "relation epsilon", SLICED),
        {"where": lambda r: r["method"] == "slicing (groups)", "runs": "runs"}
        | {"order": {"relation": ("zero_out", "add_remove", "replace_one"), "epsilon": None}},
    ),
    **{
        f"gradients-{m}": (("gradients", "epsilon", scores(3, *SCORES)), {"where": lambda r, m=m: r["method"] == m})
        for m in ("dp_ctgan", "pate_gan", "dp_vae")
    },
}
FIGURES: dict[str, Callable[[], str]] = {
    **{name: partial(meant, *what, **how) for name, (what, how) in MEANS.items()},
    "peers": peers_of_all,
    "methods-at-1": methods_at_1,
    "related": lambda: related_tables.related(stored),
    "unit": partial(part, "unit", "unit", {"seconds": 1, "rows": 0}),
    "rules": partial(part, "rules", "", SECONDS),
    "learnt": partial(part, "learnt", "facts", SECONDS),
    "steps": steps,
    "letter": letter,
    "splines": splines,
    "printed-slicing": partial(printed, "slicing_printed"),
    "printed-dp_kernel": partial(printed, "dp_kernel_printed"),
    "query-errors": partial(of_script, "query_errors"),
    "slices-sampled": lambda: import_module("slices_accounting").of_samples(),
    **{name.replace("_", "-"): partial(of_script, name) for name in SCRIPTS},
    "plan": partial(of_script, "forecast", "plan"),
    "floors": partial(of_script, "floor", "floors"),
    "floors-lost": lambda: of_script("floor", "floors").rpartition("\n\n")[2],
    "verified": partial(of_script, "verified"),
    "priors": priors,
    "priors-few": partial(priors, "few"),
    "priors-all": partial(of_script, "priors"),
    "uses": lambda: markdown_tables.part(of_uses("related".__ne__), USED_FOR),
    "uses-related": lambda: markdown_tables.part(of_uses("related".__eq__), USED_FOR),
    "uses-all": partial(of_script, "uses"),
    "repeated-runs-all": partial(of_script, "repeated_runs"),
    "repeated-runs": lambda: markdown_tables.part(of_script("repeated_runs"), REPEATED),
    "verified-coverage": partial(of_script, "verified_coverage"),
    "verified-roots-kinds": lambda: import_module("verified_roots").markdown(stored("verified_roots"), "kind"),
    "joint-shape": partial(of_script, "joint_shape"),
    "judges": partial(of_script, "outside_judges"),
    "sdnist": partial(of_script, "k_marginal"),
    **{f"embeddings-{m}": partial(embeddings, m, "table") for m in METHODS},
    **{f"{of}-dp_kernel": partial(embeddings, "dp_kernel", of) for of in ("digits", "mnist")},
    "families": partial(of_families, lambda r: r["table"] == "acs"),
    "families-adult": partial(of_families, lambda r: r["table"] == "adult"),
    "families-few": partial(of_families, lambda r: r["table"] in ("few", "four")),
    **{  # a method's own runs, on the table that its page names
        f"families-{m}": partial(of_families, lambda r, m=m: r["method"] == m and r["table"] != "adult")
        for m in (*families.METHODS, "slice_wasserstein", "mwem", "small_db", "online_weights", "dp_autogan")
    },
    **{f"audit-{n}": partial(audit.part, n, stored) for n in audit.TABLES},
    **{n: partial(f, stored) for n, f in reliability.TABLES.items()},
    **{f"speed-{n}": partial(f, stored) for n, f in speed.TABLES.items()},
}


def older(name: str) -> str:
    """What is said under a table whose runs of `mixture` made no search yet; nothing for newer results."""
    for file, (digest, tables) in BEFORE_SEARCH.items():
        read = hashlib.sha256((RESULTS / f"{file}.json").read_bytes()).hexdigest()
        if name in tables and read.startswith(digest):
            return f"\n\n{OLDER}"
    return ""


def written(page: str) -> str:
    """The page with its tables as the results have them."""

    def fresh(match: re.Match[str]) -> str:
        return f"{match[1]}\n{FIGURES[match[2]]()}{older(match[2])}\n\n{match[3]}"

    return BETWEEN.sub(fresh, page)


def main(given) -> int:
    if given.show:
        names = sorted(FIGURES) if given.show == "all" else [given.show]
        print("\n\n".join(f"## {name}\n\n{FIGURES[name]()}{older(name)}" for name in names))
        return 0
    differ, lines = [], []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page, name = path.read_text(), path.relative_to(ROOT).as_posix()
        lines += [f"{name} names a table that is not there: {n}" for n in SHOWN.findall(page) if n not in FIGURES]
        if written(page) != page:
            differ.append(name)
            if not given.check:
                path.write_text(written(page))
    said = "differs from benchmarks/results: run make figures" if given.check else "written"
    lines += [f"{said}: {p}" for p in differ]
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(lines) and given.check)


if __name__ == "__main__":
    start(main, check=False, show="")
