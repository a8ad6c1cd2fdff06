"""Where a run's rows and exact counts may lie: in files that nobody else can open, and nowhere once it has ended;
what commands leave in the folder for temporary files, and how a look at the real rows ends beside hostile cells."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.laws.every_cell import CASES, KINDS, LABELLED, SCHEMA, WRITERS

TIMES = (123_457, 176_543)  # how often each category occurs: numbers that nothing else is
RUN = """
    import json, os, sys
    from pathlib import Path
    import synth
    from synth.privacy.noise import SeededNoise
    from synth.sources.rows import marginals, spill

    spill.HELD = 1 << 10
    spill.Spill.__init__.__kwdefaults__["held"] = 1 << 10  # rows go to the file at once
    found = set()

    def looked(method):
        def look(*given):
            for link in Path("/proc/self/fd").iterdir():
                try:
                    flags = Path(f"/proc/self/fdinfo/{link.name}").read_text().split("flags:")[1].split()[0]
                    target = os.readlink(link)
                except OSError:
                    continue
                writes = int(flags, 8) & (os.O_WRONLY | os.O_RDWR)
                if writes and target[:1] == "/" and not target.startswith(("/dev/null", "/dev/pts")):
                    found.add(target)
            return method(*given)
        return look

    spill.Spill.append = looked(spill.Spill.append)
    marginals.part = looked(marginals.part)
    facts = {"a": {"type": "categorical", "categories": ["x", "y"]}, "b": {"type": "integer", "min": 0, "max": 1}}
    made = synth.run("rows", schema=synth.Schema.parse({"columns": facts}), dataset="d", epsilon=1, delta=1e-5,
                     method=sys.argv[1], num_rows=20, out="out", ledger="ledger.sqlite", seed=1, noise=SeededNoise(1))
    print(json.dumps(sorted(found)))
"""


@pytest.mark.parametrize("method", ["independent", "mixture"])
def test_exact_counts_are_in_no_file_of_a_run_but_its_own_and_in_none_after_it(tmp_path, method):
    """Every file open for writing while rows are encoded and counted; then every file that is left."""
    (tmp_path / "rows").mkdir()
    rng = np.random.default_rng(0)
    table = pa.table({"a": np.repeat(["x", "y"], TIMES), "b": rng.integers(0, 2, sum(TIMES))})
    pq.write_table(table, tmp_path / "rows" / "0.parquet")
    (home := tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUN), method],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        env={**os.environ, "TMPDIR": str(home)},
    )
    assert done.returncode == 0, done.stderr
    opened = json.loads(done.stdout.splitlines()[-1])
    own = [p for p in opened if p.startswith(str(home))]
    assert any(p.endswith(" (deleted)") for p in own), "the encoded rows: a file without a name"
    for path in own:  # DuckDB's folder is nobody else's: tests/faults/test_spill.py
        assert path.endswith(" (deleted)") or path.startswith(f"{home}/facsimile-spill-"), path
    assert all(p.startswith(str(tmp_path / "ledger.sqlite")) for p in opened if p not in own)
    assert list(home.iterdir()) == []
    left = [p for p in tmp_path.rglob("*") if p.is_file() and p.parent.name != "rows"]
    assert {p.relative_to(tmp_path).parts[0].split(".")[0] for p in left} <= {"out", "ledger"}
    for count in TIMES:
        forms = [np.array([count], kind).tobytes() for kind in ("<i4", "<f4", "<f8")]  # i4 begins i8
        for path in left:
            data = path.read_bytes()
            assert not [f for f in [*forms, str(count).encode(), f"{count:,}".encode()] if f in data], path


SECRET = "CANARY"
FILES = {"csv": "people.csv", "xlsx": "people.xlsx", "parquet": "people.parquet"}
FILES |= {ending: f"people.{ending}" for ending in LABELLED}
ASKED = ("--epsilon", 1, "--delta", 1e-6, "--dataset", "d")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files of the test's own; what is made in it under an open umask, with its rights."""
    place, made = tmp_path / "tmp", {}
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("open", "mkdir"):
        monkeypatch.setattr(os, name, noting(getattr(os, name), place, made))
    before = os.umask(0)
    yield place, made
    os.umask(before)


def noting(original, place, made):
    def call(path, *arguments, **options):
        done = original(path, *arguments, **options)
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if text.startswith(f"{place}/") and os.path.lexists(text):
            made[text] = stat.S_IMODE(os.lstat(text).st_mode)
        return done

    return call


def table(place, kind, *, hostile):
    """Columns of every kind of a run's schema, ordinary cells and, where ``hostile``, every odd cell of the source's
    plainest type; a text that is nobody else's in the first row."""
    name = {"csv": "fields", "xlsx": "inline", "parquet": "text", **dict.fromkeys(LABELLED, "words")}[kind]
    form, ordinary, odd = CASES[kind][name]
    secret = {"csv": SECRET.encode(), "parquet": SECRET.encode(), **dict.fromkeys(LABELLED, SECRET.encode())}.get(
        kind, f'<c t="inlineStr"><is><t>{SECRET}</t></is></c>'
    )
    cells = [secret, *(odd if hostile else []), *(ordinary[i % len(ordinary)] for i in range(60))]
    WRITERS[kind](place, "people", dict.fromkeys(KINDS, (form, cells)))
    (place / "s.json").write_text(SCHEMA.to_json())
    kinds = {n: {"type": c["type"]} for n, c in json.loads(SCHEMA.to_json())["columns"].items()}
    (place / "kinds.json").write_text(json.dumps({"columns": kinds}))
    return place / FILES[kind]


def carried_out(command, place, rows):
    """Every command that reads private rows, and those that make use of what one of them released."""
    run, out = ("--schema", place / "s.json"), place / "out"
    deeds = [
        ("run", rows, *run, *ASKED, "--method", "independent", "--num-rows", 20, "--seed", 1, "--out", out),
        ("schema", "init", rows, "--out", place / "draft.json"),
        ("schema", "learn", rows, "--schema", place / "kinds.json", *ASKED, "--out", place / "learnt.json"),
        ("statistics", rows, *run, *ASKED, "--ask", "count:t", "--out", place / "statistics.json"),
        ("report", out, "--real", rows, "--out", place / "real.html"),
        ("report", out, "--publishable", "--out", place / "public.html"),
        ("bundle", out, "--choice", "releases", "--out", place / "out.zip"),
    ]
    return {" ".join(map(str, d[: 2 if d[0] == "schema" else 1])): command(*d) for d in deeds}


def left(folder):
    """What lies there, but for the empty folder that DuckDB spills into while the process lives."""
    return [
        p
        for p in folder.iterdir()
        if not (
            p.name.startswith("facsimile-spill-") and not sum(f.stat().st_size for f in p.rglob("*") if f.is_file())
        )
    ]


@pytest.mark.parametrize("hostile", [False, True], ids=["ordinary", "hostile"])
@pytest.mark.parametrize("kind", FILES)
def test_commands_leave_nothing_and_let_nobody_look_meanwhile(kind, hostile, temporary, tmp_path, command):
    folder, made = temporary
    rows = table(tmp_path, kind, hostile=hostile)
    for deed, (code, said, reported) in carried_out(command, tmp_path, rows).items():
        assert code == 0, (deed, reported)
        assert SECRET not in said + reported, deed
        assert left(folder) == [], deed
    for path in made:
        closed = [made[str(p)] & 0o077 == 0 for p in (Path(path), *Path(path).parents) if str(p) in made]
        assert any(closed), path  # itself, or a folder that it lies in
        assert SECRET not in path


def test_the_watch_sees_a_file_that_others_may_read(temporary):
    """The evil twin of the law above."""
    folder, made = temporary
    os.close(os.open(folder / "seen", os.O_CREAT | os.O_WRONLY, 0o644))
    with tempfile.TemporaryDirectory() as place:
        assert made[place] & 0o077 == 0
    assert made[str(folder / "seen")] & 0o077 == 0o044


def test_another_method_on_a_release_looks_at_no_row_and_no_ledger(tmp_path, command, own_state):
    """What if: the same bytes whether table and ledger are there, are another's, or are gone."""
    rows = table(tmp_path, "csv", hostile=False)
    out, results = tmp_path / "out", []
    command.done(
        "run", rows, "--schema", tmp_path / "s.json", *ASKED, "--method", "independent", "--num-rows", 20, "--out", out
    )
    for i in range(3):
        if i == 1:
            rows.write_bytes(rows.read_bytes().replace(b"2020-01-02", b"9"))
        if i == 2:
            rows.unlink()
            shutil.rmtree(own_state)
        again = tmp_path / f"again{i}"
        asked = ("run", "--from-release", out, "--method", "mixture", "--num-rows", 20, "--seed", 7, "--out", again)
        command.done(*asked)
        results.append((again / "synthetic.csv").read_bytes())
    assert len(set(results)) == 1
    assert not own_state.exists() or not list(own_state.glob("ledger*"))
