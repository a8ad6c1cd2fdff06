"""The bundle holds the release and nothing of the real table; the same release makes the same bytes; bad ones stay."""

import hashlib
import json
import math
import re
import runpy
import shutil
import zipfile

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from synth.errors import InputError, UsageError
from synth.privacy.noise import SeededNoise
from synth.release import folder as bundle
from synth.release import leaving
from synth.release.card import limits
from synth.release.card.card import Card
from synth.release.card.verify import check, load
from synth.report import bundle as release_bundle
from tests.conftest import SMALL, small_frame
from tests.made import ran
from tests.unit.small_release import paid, small_release  # noqa: F401

PARTS = {"synthetic.csv", "synthetic.parquet", "schema.json", "card.json", "card.md", "card.html"}
PARTS |= {"report.html", "report.json", "release.json", "release.safetensors", "model.json"}
PARTS |= {"model.safetensors", "reproduce.py", "README.md", "MANIFEST.sha256", "index.html", "croissant.json"}
PARTS |= {"ro-crate-metadata.json", "dcat.jsonld", "CITATION.cff", "synthetic.csv-metadata.json"}


@pytest.fixture
def copied(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "release")
    return tmp_path / "release"


def test_all_parts_are_there_whole_and_checked(command, folder, tmp_path):
    code, out, _ = command("bundle", folder, "--out", tmp_path / "r.zip", "--selection", "before", "--json")
    parsed = json.loads(out)
    assert code == 0
    assert set(parsed["parts"]) == PARTS
    assert parsed["sha256"] == hashlib.sha256((tmp_path / "r.zip").read_bytes()).hexdigest()
    with zipfile.ZipFile(tmp_path / "r.zip") as file:
        assert set(file.namelist()) == PARTS
        file.extractall(tmp_path / "r")
    for line in (tmp_path / "r" / "MANIFEST.sha256").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((tmp_path / "r" / name).read_bytes()).hexdigest() == digest
    card = load(tmp_path / "r")
    assert check(card).epsilon == 1.0
    assert card["selection"]["how"] == "before"
    table = pd.read_csv(tmp_path / "r" / "synthetic.csv", dtype=str, keep_default_na=False)
    assert pq.read_table(tmp_path / "r" / "synthetic.parquet").num_rows == len(table) == card["rows"]["synthetic"]


def test_the_same_release_makes_the_same_bytes(folder, copied, tmp_path):
    first = release_bundle.bundle(folder, tmp_path / "a.zip", facts={"name": "N"})
    second = release_bundle.bundle(copied, tmp_path / "b.zip", facts={"name": "N"})
    assert first.sha256 == second.sha256


def test_the_script_makes_everything_after_the_release_again(folder, tmp_path, monkeypatch, capsys):
    release_bundle.bundle(folder, tmp_path / "r.zip")
    with zipfile.ZipFile(tmp_path / "r.zip") as file:
        file.extractall(tmp_path / "r")
    card = load(tmp_path / "r")
    (tmp_path / "r" / "card.json").write_text(json.dumps({**card, "seed": 1}))
    monkeypatch.setattr("sys.argv", ["reproduce.py"])
    runpy.run_path(str(tmp_path / "r" / "reproduce.py"), run_name="__main__")
    assert "the same table" in capsys.readouterr().out


def edit(path, **more):
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


def truncate(path):
    path.write_bytes(path.read_bytes()[:-40])


DAMAGE = {
    "a part is missing": (lambda p: (p / "model.json").unlink(), "model.json is missing"),
    "the model is cut": (lambda p: truncate(p / "model.safetensors"), "not a model"),
    "the release is cut": (lambda p: truncate(p / "release.safetensors"), "not a release"),
    "the card claims less": (lambda p: edit(p / "card.json", epsilon=0.5), "does not hold"),
    "the card is another's": (lambda p: edit(p / "card.json", created="2020-01-01"), "different claims"),
    "the schema is another": (lambda p: edit(p / "schema.json", dataset="other"), "schema.json is not the schema"),
    "a row is lost": (
        lambda p: (p / "synthetic.csv").write_text(
            "\n".join((p / "synthetic.csv").read_text().splitlines()[:-1]) + "\n"
        ),
        "damaged (499 rows",
    ),
    "a value is foreign": (
        lambda p: (p / "synthetic.csv").write_text(
            (p / "synthetic.csv").read_text().replace(",yes\n", ",perhaps\n", 1)
        ),
        "1 cells that its schema",
    ),
    "a column more": (
        lambda p: (p / "synthetic.csv").write_text(
            "\n".join(line + ",x" for line in (p / "synthetic.csv").read_text().splitlines()) + "\n"
        ),
        "columns are not",
    ),
    "chosen by scores": (
        lambda p: edit(p / "card.json", selection={"how": "scores", "in_words": "", "covered": False}),
        "selection not covered",
    ),
}


OF_TABLE = ("a row is lost", "a value is foreign", "a column more")


@pytest.mark.parametrize("name", DAMAGE)
def test_what_must_not_leave_stays(copied, tmp_path, name):
    damage, words = DAMAGE[name]
    rows = load(copied)["rows"]["synthetic"]
    damage(copied)
    with pytest.raises(InputError) as reported:
        release_bundle.bundle(copied, tmp_path / "r.zip")
    assert not list(tmp_path.glob("r.zip*"))
    if name in OF_TABLE:  # the card's hash tells first; without it the table's own form does
        assert "not the table that the card names" in str(reported.value)
        with pytest.raises(InputError) as reported:
            leaving._read(copied / "synthetic.csv", bundle.load_release(copied).schema, rows=rows)
    assert words.replace("499", str(rows - 1)) in str(reported.value)


def test_seeded_noise_never_leaves(tmp_path):
    small_frame(200).to_csv(tmp_path / "real.csv", index=False)
    ran(tmp_path / "real.csv", SMALL, out=tmp_path / "out", noise=SeededNoise(0))
    with pytest.raises(InputError, match="seeded noise"):
        release_bundle.bundle(tmp_path / "out", tmp_path / "r.zip")


def test_a_foreign_fact_or_name_is_refused(folder, tmp_path):
    with pytest.raises(UsageError, match="no fact of a deployment"):
        release_bundle.bundle(folder, tmp_path / "r.zip", facts={"colour": "red"})
    with pytest.raises(UsageError, match=r"name a \.zip"):
        release_bundle.bundle(folder, tmp_path / "r.tar")
    with pytest.raises(UsageError, match="choose another place"):
        release_bundle.bundle(folder, tmp_path / "absent" / "r.zip")
    with pytest.raises(InputError, match="selection not covered"):
        release_bundle.bundle(folder, tmp_path / "r.zip", how="scores")


SENTINELS = ("SENTINELKEY", "SENTINELWORD", "987654321012345", "3141592653.58", "1987-06-05")


def planted(path):
    """A table with sentinels in every column: keys, an unknown category, numbers and dates far out of bounds."""
    frame = small_frame(600).astype(object)
    frame["id"] = [f"SENTINELKEY{i}" for i in range(len(frame))]
    frame.loc[::3, "region"] = "SENTINELWORD"
    frame.loc[::4, "age"] = "987654321012345"
    frame.loc[1::4, "income"] = "-3141592653.58"
    frame.loc[::5, "seen"] = "1987-06-05"
    frame["note"] = "SENTINELWORD of a column that the schema does not name"
    frame.to_csv(path, index=False)


def contents(place) -> dict[str, bytes]:
    """Every file under a folder, zips unpacked and Parquet read, since compression would hide a text."""
    result = {}
    for path in place.rglob("*"):
        if path.is_file():
            result[str(path)] = path.read_bytes() + str(path).encode()
            if path.suffix == ".parquet":
                result[str(path)] += pq.read_table(path).to_pandas().to_csv().encode()
    return result


def test_no_sentinel_of_the_real_table_is_in_any_file(command, own_state, tmp_path):
    """Bundle, release, model, job folder, logs and ledger; as text, as UTF-16 and as a binary number.

    The numbers are so long that no hash or fraction holds them by chance: one of six digits stood in a card once.
    """
    planted(tmp_path / "real.csv")
    (tmp_path / "schema.json").write_text(json.dumps(SMALL))
    made = tmp_path / "made"
    made.mkdir()
    out, stderr = command.done(
        f"run {tmp_path}/real.csv --schema {tmp_path}/schema.json --epsilon 5 --out {made}/out --job "
        f"{own_state}/jobs/one"
    )
    (made / "log.txt").write_text(out + stderr)
    release_bundle.bundle(made / "out", made / "r.zip")
    with zipfile.ZipFile(made / "r.zip") as file:
        file.extractall(made / "unpacked")
    files = {**contents(made), **contents(own_state)}
    assert len(files) > 25
    for name, content in files.items():
        for sentinel in SENTINELS:
            for written in (sentinel.encode(), sentinel.encode("utf-16-le")):
                assert written not in content, (name, sentinel)
        for number in (987654321012345.0, -3141592653.58):
            assert np.float64(number).tobytes() not in content, (name, number)


def test_the_sentinel_test_can_fail(tmp_path):
    planted(tmp_path / "real.csv")
    result = contents(tmp_path)
    assert all(any(s.encode() in content for content in result.values()) for s in SENTINELS)


OF_TWO = "which of two things the private table says of "


@pytest.mark.parametrize(
    ("relation", "guesses"),
    [
        ("add_remove", [("whether ", 0.7311, 1e-6), (OF_TWO, 0.8808, 1e-6 * (1 + math.e))]),
        ("replace_one", [(OF_TWO, 0.7311, 1e-6)]),
    ],
)
def test_what_protects_names_whose_rows_which_guess_and_delta(relation, guesses):
    reported = Card({"epsilon": 1.0, "delta": 1e-6, "relation": relation, "unit": "patient", "max_rows_of_a_unit": 3})
    reported_guesses = [(g.what().split("one person")[0], g.sure, g.accident) for g in limits.guesses(reported)]
    assert reported_guesses == [(what, pytest.approx(s, abs=1e-4), pytest.approx(a)) for what, s, a in guesses]
    *lines, whose = limits.sentences(reported)
    assert "person (patient), of whom at most 3 rows" in whose
    assert all("one person" in line and f"1 in {1 / g[2]:,.0f}" in line for line, g in zip(lines, guesses, strict=True))
    assert "one row" in limits.sentences(Card({**reported, "unit": "row"}))[0]


def test_the_first_page_tells_recipients_what_it_is_and_rests_on_the_release_alone(folder, tmp_path):
    """What it says is that of the publishable report and the card; it can be opened without a network."""
    made = release_bundle.bundle(folder, tmp_path / "r.zip", how="before", facts={"name": "Small <b>survey</b>"})
    with zipfile.ZipFile(tmp_path / "r.zip") as file:
        page, names = file.read("index.html").decode(), set(file.namelist())
        report = json.loads(file.read("report.json"))
    assert "It is no copy" in page
    assert "describes a real person" not in page, "a drawn row may be like a real one"
    assert "Small &lt;b&gt;survey&lt;/b&gt;" in page, "what the steward states is escaped"
    for title in ("Usable with care for", "Not for", "How to analyse it", "How to cite it"):
        assert title in page
    assert report["verdict"]
    for use in report["verdict"]:
        spread = use["name"] == "averages"  # in standard deviations
        figure = use["value"] if use["value"] is None or spread else 100 * use["value"]
        assert figure is None or (f"up to {figure:.2f}" if spread else f"up to {figure:.1f} %") in page
        assert use["use"] in page
    assert f"epsilon {made.epsilon:g}" in page
    assert set(re.findall(r'href="([^"#]+)"', page)) - {"data:,"} <= names
    assert "steward only" not in page.lower()
    assert "<script" not in page
    said = " ".join(page.split())
    assert "What is protected is a row: a person with several rows is protected less." in said
    assert "whether one row was used at all can be at most 73.2 % sure" in said
    assert "of one row can be at most 88.1 % sure" in said, "two contents of a row are two steps apart"
    assert "but for an accident of 1 in 100,000" in said
