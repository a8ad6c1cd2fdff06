"""Tables of figures: written by `make figures` from benchmarks/results, or marked as older with their command."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = re.compile(r"(?:^\|.*\n)+", re.M)
WRITTEN = re.compile(r"<!-- figures: \S+ -->\n.*?<!-- end -->", re.S)
OLDER = re.compile(r"^\*Older figures, printed anew by `[^`]+`\.\*$", re.M)
NUMBER = re.compile(r"[-+~]?\d[\d.,]*(?: ?(?:s|ms|%|MiB|GB))?(?: ± [\d.,]+)?(?: \([-\d.]+\))?")
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_the_tables_are_what_the_results_say():
    """In a process of its own: the benchmarks' modules have plain names."""
    command = [sys.executable, ROOT / "benchmarks" / "docs_figures.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def is_of_figures(table: str) -> bool:
    """Whether most cells, the first column apart, are numbers."""
    cells = [c.strip() for line in table.splitlines()[2:] for c in line.strip("|").split("|")[1:]]
    return sum(bool(NUMBER.fullmatch(c)) for c in cells) > len(cells) / 2


def test_no_table_of_figures_is_written_by_hand():
    wrong = []
    for page in PAGES:
        text = WRITTEN.sub("", page.read_text())
        for item in (t for t in TABLES.finditer(text) if is_of_figures(t[0])):
            after = text[item.end() :].lstrip("\n").split("\n\n")[0].strip().replace("\n", " ")
            wrong += [f"{page.name}: {item[0].splitlines()[0]}"] * (not OLDER.match(after))
    assert not wrong


def test_a_table_of_figures_is_known_from_others():
    assert is_of_figures("| a | b | c |\n|---|---|---|\n| x | 0.5 ± 0.1 | 1,024 |\n| y | - | 3.1 (2.9) |\n")
    assert not is_of_figures("| option | default | meaning |\n|---|---|---|\n| rounds | 12 | how often |\n")


def test_a_gpu_is_named_only_where_a_result_was_measured_on_one():
    """Lines of results hold the device's own name where it is not the processor (benchmarks/scaling.py)."""
    stored = "".join(p.read_text() for p in sorted((ROOT / "benchmarks" / "results").glob("*.json")))
    named = {name for page in PAGES for name in re.findall(r"\b[AH]\d00\b", page.read_text())}
    assert not [name for name in named if name not in stored]
