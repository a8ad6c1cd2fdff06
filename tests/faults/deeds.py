"""What is struck by faults, and what must hold afterwards, whatever happened."""

import contextlib
import hashlib
import importlib
import io
import json
import os
import shutil
import sys
import tempfile
from decimal import Decimal
from functools import cache
from pathlib import Path

from synth.errors import InputError, SynthError
from synth.jobs import Job
from synth.privacy.ledger import checkpoint
from synth.privacy.ledger.copies import restore
from synth.privacy.ledger.ledger import Ledger, Spend
from tests.conftest import SMALL, small_frame

CAP, COST = 1.0, 0.3
FACTS = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system", "question": {}}
CLEAN = (SynthError,)


def charge(dataset: str = "census", epsilon: float = COST) -> Spend:
    return Spend(dataset=dataset, epsilon=epsilon, delta=1e-6, **FACTS)  # type: ignore[arg-type]


def book(place: Path) -> Ledger:
    return Ledger(place / "ledger.sqlite")


# -- one spend on a ledger that has a policy and two spends


def with_two(place: Path) -> None:
    ledger = book(place)
    ledger.set_policy("census", max_epsilon=CAP)
    ledger.spend(charge())
    shutil.copy(ledger.path, place / "backup.sqlite")
    ledger.spend(charge())


def spend(place: Path) -> str:
    return said(lambda: "ok " + book(place).spend(charge()).run)


def said(deed) -> str:
    """What a deed answered, or the one line in which it was refused; anything else passes on and is a finding."""
    try:
        return deed()
    except CLEAN as error:
        return f"refused {error}" if "\n" not in str(error) else "more than one line"


def judge_spend(place: Path, message: str, kind: str) -> None:
    """Reported means recorded, nothing else was lost, the sum is exact, and the next spend needs no repair."""
    assert message.startswith(("ok ", "refused ")) or (message == "" and kind in ("kill", "torn write")), message
    ledger = book(place)
    assert ledger.verify().ok, ledger.verify()
    runs = [e.run for e in ledger.entries() if e.kind == "spend"]
    assert len(runs) in (2, 3)
    if message.startswith("ok "):
        assert runs[2:] == [message[3:]]
    total = ledger.summary()[0]
    assert total.remaining_epsilon == (0.4 if len(runs) == 2 else 0.1)
    marked = checkpoint.read(ledger.store).spent["census"].epsilon  # what a restore would bring back
    assert marked == (Decimal("0.9") if message.startswith("ok ") else marked) >= Decimal("0.6")
    more = ledger.spend(charge(epsilon=0.1))
    assert more.number == len(ledger.entries())
    assert ledger.verify(more.hash).ok


# -- the restore of a backup in the place of a ledger that is lost


def lost(place: Path) -> None:
    with_two(place)
    book(place).path.unlink()


def put_back(place: Path) -> str:
    return said(lambda: f"ok {restore(place / 'ledger.sqlite', place / 'backup.sqlite').lines}")


def judge_restore(place: Path, message: str, kind: str) -> None:
    """Whole, with all that was spent, or no ledger that takes a spend; and then it can be done again."""
    assert message.startswith(("ok ", "refused ")) or (message == "" and kind in ("kill", "torn write")), message
    taken = said(lambda: "ok " + book(place).spend(charge(epsilon=0.1)).run).startswith("ok ")
    assert taken or not message.startswith("ok ")
    if not taken:
        assert put_back(place).startswith("ok ")
    ledger = book(place)
    assert (ledger.verify().ok, ledger.summary()[0].epsilon) == (True, 0.7 if taken else 0.6)


# -- the first use of a ledger: file, key, policy, spend, fingerprint


def first(place: Path) -> str:
    def deed() -> str:
        ledger = Ledger(place / "new" / "ledger.sqlite")
        ledger.set_policy("census", max_epsilon=CAP)
        run = ledger.spend(charge()).run
        ledger.fingerprint(run, dataset="census", digest=b"rows")
        return "ok " + run

    return said(deed)


def judge_first(place: Path, message: str, kind: str) -> None:
    """Starting again is all the repair there is."""
    assert message.startswith(("ok ", "refused ")) or (message == "" and kind in ("kill", "torn write")), message
    ledger = Ledger(place / "new" / "ledger.sqlite")
    before = [e.run for e in ledger.entries() if e.kind == "spend"]
    assert message[3:] in before or not message.startswith("ok ")
    assert ledger.verify().ok
    assert first(place).startswith("ok ")
    assert len(ledger.row_key()) == 16


# -- a whole run of the command line: table read, ledger charged, job folder and release written


@cache
def table() -> tuple[Path, Path]:
    folder = Path(tempfile.mkdtemp())
    frame = small_frame(200)
    frame.loc[::7, "region"] = "SENTINEL"
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "s.json").write_text(json.dumps(SMALL))
    return folder / "t.csv", folder / "s.json"


def bare(_: Path) -> None:
    loaded()


@cache
def loaded() -> None:
    """Loads what deeds load, once and before the forks; a child finds out what that is."""

    def names() -> str:
        with tempfile.TemporaryDirectory() as folder:
            assert job(Path(folder)).startswith("code0")
            assert bundle_it(Path(folder)).startswith("ok ")
        return " ".join(sys.modules)

    for name in forked(names).split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def command(place: Path, *arguments: str) -> str:
    """The command line in this process, as a user would see it: exit code and stderr."""
    from synth import cli

    os.environ["SYNTH_HOME"], os.environ["SYNTH_LEDGER"] = str(place / "home"), str(place / "ledger.sqlite")
    sys.argv = ["synth", *arguments]
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as left:
            code = left.code or 0
    return f"code{code} {err.getvalue()}"


def job(place: Path) -> str:
    source, schema = map(str, table())
    asked = f"run {source} --schema {schema} --method independent --epsilon 0.3 --dataset census --num-rows 50"
    return command(place, *asked.split(), "--out", f"{place}/out", "--replace", "--job", f"{place}/home/jobs/one")


def judge_job(place: Path, message: str, kind: str) -> None:
    """One line and an exit code that says whether was spent; a table outside only where the ledger paid for it."""
    assert message.startswith("code") or (message == "" and kind in ("kill", "torn write")), message
    assert "Traceback" not in message
    assert "SENTINEL" not in message
    assert "internal error" not in message, message
    ledger = book(place)
    assert ledger.verify().ok
    spent = [e for e in ledger.entries() if e.kind == "spend"]
    code = message.split(" ")[0]
    assert code in ("code0", "code2", "code3", "code5", ""), message
    assert len(spent) == (1 if code in ("code0", "code5") else 0) or code == "", message
    out = place / "out"
    if (out / "synthetic.csv").exists():
        assert spent
    whole = complete(out)
    assert whole or code != "code0"
    folder = place / "home/jobs/one"
    if (folder / "status.json").exists() and (folder / "request.json").exists():
        status = Job(folder).status()
        if kind in ("kill", "torn write"):
            assert status.final or status.pid is None, status
    for path in place.rglob("*"):
        if path.is_file() and path.name != "ledger.sqlite.key":
            assert b"SENTINEL" not in path.read_bytes(), path
    assert job_again(place).startswith("code0")
    assert len([e for e in book(place).entries() if e.kind == "spend"]) == len(spent) + 1, "a spend stands"


def job_again(place: Path) -> str:
    shutil.rmtree(place / "home", ignore_errors=True)
    return forked(lambda: job(place))


def forked(deed) -> str:
    """In a child, so that this process starts no thread."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reader)
        os.write(writer, deed().encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as reported:
        words = reported.read().decode()
    os.waitpid(child, 0)
    return words


def complete(out: Path) -> bool:
    """Whether a release is all there and of one piece."""
    from synth.release import folder as bundle

    try:
        card = json.loads((out / "card.json").read_text())
        stored, model = bundle.load_release(out), bundle.load_model(out)
    except (OSError, ValueError, InputError):
        return False
    digest = hashlib.sha256((out / "synthetic.csv").read_bytes()).hexdigest()
    same = card["synthetic_sha256"] == stored.card["synthetic_sha256"] == model.card["synthetic_sha256"]
    return same and card["synthetic_sha256"] == digest


# -- the bundle of a release


@cache
def release() -> Path:
    folder = Path(tempfile.mkdtemp())
    assert forked(lambda: job(folder)).startswith("code0")
    return folder / "out"


def with_release(place: Path) -> None:
    shutil.copytree(release().parent, place, dirs_exist_ok=True)


def bundle_it(place: Path) -> str:
    from synth.report import bundle as release_bundle

    return said(
        lambda: "ok " + release_bundle.bundle(place / "out", place / "r.zip", ledger=place / "ledger.sqlite").sha256
    )


def judge_bundle(place: Path, message: str, kind: str) -> None:
    """A zip that is there is whole, and the same whenever it is made."""
    assert message.startswith(("ok ", "refused ")) or (message == "" and kind in ("kill", "torn write")), message
    if (place / "r.zip").exists():
        result = hashlib.sha256((place / "r.zip").read_bytes()).hexdigest()
        assert not message.startswith("ok ") or result == message[3:]
    else:
        assert not message.startswith("ok ")
    assert complete(place / "out")
    assert forked(lambda: bundle_it(place)).startswith("ok ")


DEEDS = {
    "spend": (spend, with_two, judge_spend),
    "restore": (put_back, lost, judge_restore),
    "first": (first, lambda _: None, judge_first),
    "job": (job, bare, judge_job),
    "bundle": (bundle_it, with_release, judge_bundle),
}
