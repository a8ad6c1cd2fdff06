"""Files and processes: uploads on disk, drafts and runs in processes of their own."""

import io
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

import synth
from app.state import Wizard, dataset, effective
from synth import jobs

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "data" / "town_survey.csv.gz"
SAMPLE_SCHEMA = ROOT / "data" / "town_survey.schema.json"
SAMPLE_ROWS = 20_000
MODEL = ("model.json", "model.safetensors", "schema.json", "card.json")
FILES = ("synthetic.csv", "release.json", "release.safetensors", *MODEL)
CHUNK = 1 << 20


def folder() -> Path:
    """Where uploaded tables lie, readable by this user alone."""
    place = jobs.home().parent / "uploads"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def safe_name(name: str) -> str:
    """A file name without surprises.

    >>> safe_name("../My table (1).csv"), safe_name(".csv")
    ('My_table_1_.csv', 'csv')
    """
    return re.sub(r"[^\w.-]+", "_", Path(name).name).lstrip(".") or "table.csv"


def keep(source: BinaryIO, name: str) -> Path:
    """Writes an upload to disk, once. Errors: InputError when there is no room."""
    plain = safe_name(name)
    place = folder() / secrets.token_hex(8)
    try:
        place.mkdir(mode=0o700)
        with open(os.open(place / plain, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            shutil.copyfileobj(source, out, CHUNK)
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        reason = error.strerror or "the disk refused it"
        raise synth.InputError(f"{name}: it could not be stored ({reason}); free some space and try again") from None
    return place / plain


def discard(table: Path) -> None:
    """Removes an uploaded table with its folder; anything else is left alone."""
    if folder() in table.parents:
        shutil.rmtree(table.parent, ignore_errors=True)


def draft(table: Path, hints: dict[str, list[str]]) -> tuple[dict[str, Any], list[str]]:
    """A description drafted in another process, so that its memory is given back; and what to look at.

    Errors: InputError with the reason.
    """
    out = table.parent / "draft.schema.json" if folder() in table.parents else folder() / "draft.schema.json"
    options = [x for name, columns in hints.items() if columns for x in (f"--{name}", ",".join(columns))]
    done = _synth("schema", "init", str(table), "--out", str(out), *options)
    lines = [line for line in done.splitlines() if not line.startswith("every fact is unconfirmed")]
    return json.loads(out.read_text(encoding="utf-8")), lines


def check(table: Path, plain: dict[str, Any]) -> None:
    """Whether the file is in order and has the described columns. Errors: InputError with the reason."""
    beside = table.parent / "given.schema.json"
    beside.write_text(json.dumps(plain), encoding="utf-8")
    _synth("schema", "check", str(beside), "--table", str(table))


def _synth(*arguments: str) -> str:
    """Runs the command line; returns what it said besides its answer."""
    done = subprocess.run([sys.executable, "-m", "synth", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["the worker ended without a word"])[-1]
        raise synth.InputError(last.removeprefix("synth: "))
    return done.stderr


def start(w: Wizard) -> jobs.Job:
    """Starts the run that the wizard describes. From here on the job's folder tells how it goes."""
    assert w.table is not None
    request = {
        "table": str(w.table), "label": w.label, "dataset": dataset(w), "epsilon": w.epsilon, "delta": w.delta,
        "method": w.method, "relation": w.relation,
    }  # fmt: skip
    job = jobs.create(request)
    facts = job.path / "description.json"
    facts.write_text(json.dumps(effective(w), ensure_ascii=False), encoding="utf-8")
    options = {
        "--schema": facts, "--epsilon": repr(w.epsilon), "--delta": repr(w.delta), "--method": w.method,
        "--relation": w.relation, "--dataset": dataset(w), "--out": job.path / "release",
    }  # fmt: skip
    job.start(["run", str(w.table), *(str(x) for pair in options.items() for x in pair), "--json"])
    return job


def warnings(job: jobs.Job) -> list[str]:
    """What the worker warned of."""
    try:
        lines = (job.path / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line.removeprefix("warning: ") for line in lines if line.startswith("warning: ")]


def release(job: jobs.Job) -> Path:
    """The folder of a finished run's files. Errors: InputError when they are gone."""
    place = Path(str(job.result().get("paths", {}).get("synthetic", ""))).parent
    if not (place / "synthetic.csv").is_file():
        raise synth.InputError(
            "the files of this run are no longer there; run again, or draw from a kept copy of its model"
        )
    return place


def bundle(place: Path) -> bytes:
    """A zip file of everything that may be released, and nothing else."""
    return packed(place, FILES)


def packed(place: Path, names: tuple[str, ...]) -> bytes:
    """A zip file of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.write(place / name, name)
    return out.getvalue()


def parquet(table: Path, schema: synth.Schema) -> bytes:
    """A synthetic CSV file as Parquet, with numbers and dates as such; a missing one is null."""
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    for name, column in schema.columns.items():
        if column.type in ("integer", "float"):
            frame[name] = pd.to_numeric(_present(frame[name], column), errors="coerce")
            frame[name] = frame[name].astype("Int64" if column.type == "integer" else "float64")
        elif column.type == "datetime":
            frame[name] = pd.to_datetime(_present(frame[name], column), errors="coerce", format="ISO8601")
    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    return out.getvalue()


def _present(cells: pd.Series, column: Any) -> pd.Series:
    return cells.mask(cells.isin(column.missing_codes))
