"""Whatever reads a foreign file: a seed that is well-formed, and a deed that reads it as a command would."""

import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from tests.conftest import SMALL, small_frame
from tests.made import codes, facts_of, ran

FORMULAS = {**SMALL, "columns": {**SMALL["columns"], "region": codes("=1+1", "'=1+1", "2", "@x", missing=["?", "-"])}}
SDV = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "t": facts_of(
            id={"sdtype": "id", "regex_format": "P[0-9]{5}"},
            age={"sdtype": "numerical", "computer_representation": "Int8"},
            sex={"sdtype": "categorical", "order_by": "alphabetical"},
            ill={"sdtype": "boolean"},
            seen={"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        )
        | {"primary_key": "id"}
    },
}
BOOK = "value,label\n1,north\n2,south\n3,east\n4,\n?,unknown\n"


@dataclass(frozen=True)
class Target:
    """``make``: writes the seed below a folder and names the file to be damaged (others beside it stay whole).

    ``read``: reads that file; ends well, or with one of the library's errors.
    """

    make: Callable[[Path], Path]
    read: Callable[[Path], object]
    text: bool = False
    json: bool = False


def _table(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        frame = small_frame(40)
        path = folder / name
        if name.endswith(".csv"):
            frame.to_csv(path, index=False)
        elif name.endswith(".gz"):
            path.write_bytes(gzip.compress(frame.to_csv(index=False).encode(), mtime=0))
        elif name.endswith(".parquet"):
            frame.assign(age=frame["age"].astype(int), seen=pd.to_datetime(frame["seen"])).to_parquet(path)
        else:
            frame.assign(age=frame["age"].astype(int)).to_excel(path, index=False)
        return path

    return make


def read_table(path: Path) -> None:
    """As `schema init` and `run` do: form, all columns, a draft, codes under a schema."""
    from synth.privacy.noise import SystemNoise
    from synth.schema import codec
    from synth.schema.table import parse
    from synth.sources.draft_schema import draft
    from synth.sources.formats import files
    from synth.sources.rows.sketch import Sketch

    files.check_form(path)
    table = files.read(path)
    draft(table)
    known = parse(SMALL)
    if set(known.columns) <= set(table.names):
        result = codec.encode(files.read(path, columns=list(known.measured())), known, SystemNoise())
        assert all(len(v) == table.num_rows for v in result.positions.values())
    Sketch(b"k" * 16, table.names).add(table)


def _json(name: str, plain: object) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(json.dumps(plain, indent=1))
        return folder / name

    return make


def read_schema(path: Path) -> None:
    from synth.schema.sdv_metadata import to_sdv
    from synth.schema.table import load

    facts = load(path, complete=False)
    assert facts.to_json()
    to_sdv(facts)
    load(path)


def read_sdv(path: Path) -> None:
    from synth.schema import sdv_metadata

    sdv_metadata.from_sdv(sdv_metadata.read_sdv(path))


def read_book(path: Path) -> None:
    from synth.schema.codebook import load_codes, with_codes
    from synth.schema.table import parse

    with_codes(parse(SMALL), "region", load_codes(path))


@cache
def _release() -> Path:
    """One release of the small table, made once for all processes that fork from this one."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    ran(small_frame(200), FORMULAS, at=folder, method="independent", num_rows=20, seed=1)
    return folder


def _of_release(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        shutil.copytree(_release() / "out", folder / "r")
        return folder / "r" / name

    return make


def read_release(path: Path) -> None:
    import synth

    synth.app_api.refit(path.parent, num_rows=5, seed=1, out=path.parent.parent / "out")


def read_model(path: Path) -> None:
    import synth

    synth.sample(path.parent, num_rows=5, seed=1, out=path.parent.parent / "out.csv")


def read_card(path: Path) -> None:
    from synth import check
    from synth.release.card.verify import load
    from synth.report.card_page import render_html, render_markdown

    card = load(path)
    check(card)
    assert "<script" not in render_html(card).lower()
    render_markdown(card)


def read_bundle(path: Path) -> None:
    from synth import bundle

    bundle(path.parent, path.parent.parent / "r.zip", ledger=_release() / "ledger.sqlite")


@cache
def _ledger_bytes() -> bytes:
    import tempfile

    from synth.privacy.ledger.ledger import Ledger
    from tests.faults.deeds import charge, with_two

    with tempfile.TemporaryDirectory() as name:
        with_two(Path(name))
        Ledger(Path(name) / "ledger.sqlite").spend(charge("other", 0.5))
        return (Path(name) / "ledger.sqlite").read_bytes()


def _ledger(folder: Path) -> Path:
    (folder / "ledger.sqlite").write_bytes(_ledger_bytes())
    return folder / "ledger.sqlite"


def read_ledger(path: Path) -> None:
    from synth import Ledger
    from synth.app_api import ledger_composition

    book = Ledger(path)
    book.verify(book.head())
    book.summary()
    book.entries()
    ledger_composition(book.entries(), dataset="census")


def read_backup(path: Path) -> None:
    from synth.privacy.ledger.copies import restore

    restore(path.with_name("new.sqlite"), path)


def read_rows_of_ledger(path: Path) -> None:
    """Lines whose content was changed while the file stayed a database."""
    content = path.read_bytes()
    place = path.with_name("lines.sqlite")
    shutil.copy(path.with_name("ledger.sqlite"), place)
    with sqlite3.connect(place) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        text = content.decode("utf-8", "replace")
        db.execute("UPDATE ledger SET question = ?, time = ?, run = ? WHERE number = 2", (text, text[:30], text[5:50]))
    db.close()
    read_ledger(place)


def _question(folder: Path) -> Path:
    _ledger(folder)
    (folder / "question.json").write_text('{"max_epsilon": 1.0, "max_delta": 0.001, "mu": 0.3}')
    return folder / "question.json"


def _job(folder: Path) -> Path:
    from synth.jobs import create

    create({"dataset": "d"}, folder=folder / "jobs" / "one")
    return folder / "jobs" / "one" / "status.json"


def read_job(path: Path) -> None:
    from synth.jobs import Job, ahead, listing, looks

    job = Job(path.parent)
    job.status()
    job.request()
    listing(path.parent.parent)
    ahead(job)
    looks.barrier(job)


TARGETS = {
    "csv": Target(_table("t.csv"), read_table, text=True),
    "csv.gz": Target(_table("t.csv.gz"), read_table),
    "parquet": Target(_table("t.parquet"), read_table),
    "excel": Target(_table("t.xlsx"), read_table),
    "schema": Target(_json("schema.json", FORMULAS), read_schema, text=True, json=True),
    "sdv": Target(_json("metadata.json", SDV), read_sdv, text=True, json=True),
    "code book": Target(lambda f: (f / "book.csv").write_text(BOOK) and f / "book.csv", read_book, text=True),
    "release": Target(_of_release("release.json"), read_release, text=True, json=True),
    "release arrays": Target(_of_release("release.safetensors"), read_release),
    "model": Target(_of_release("model.json"), read_model, text=True, json=True),
    "model arrays": Target(_of_release("model.safetensors"), read_model),
    "card": Target(_of_release("card.json"), read_card, text=True, json=True),
    "bundle card": Target(_of_release("card.json"), read_bundle, text=True, json=True),
    "bundle table": Target(_of_release("synthetic.csv"), read_bundle, text=True),
    "ledger": Target(_ledger, read_ledger),
    "ledger lines": Target(_question, read_rows_of_ledger, text=True, json=True),
    "backup": Target(_ledger, read_backup),
    "job": Target(_job, read_job, text=True, json=True),
}
