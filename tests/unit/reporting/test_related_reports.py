"""Reports, card and bundle of related tables: what they show is in the rows or the release, and damage is found."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError
from synth.evaluate.related_fidelity import compare_related, forest
from synth.release.card import verify
from synth.report import related_bundle, related_publish
from synth.report.steward import related as related_steward
from synth.report.steward.write import private_text

KEY = {"type": "identifier"}
PLAIN = {
    "dataset": "homes",
    "tables": {
        "homes": {"columns": {"home": KEY, "region": {"type": "categorical", "categories": ["n", "s"]}}},
        "people": {"columns": {"home": KEY, "sex": {"type": "boolean", "categories": ["f", "m"]},
                               "work": {"type": "categorical", "categories": ["no", "part", "full"]}}},
    },
    "keys": [{"parent": "homes", "child": "people", "columns": ["home"], "most_children": 3}],
}  # fmt: skip
SCHEMA = synth.parse_related(PLAIN)


def homes(size=600):
    """In the north people work alike within a home; some homes have more people than are kept, some rows no home."""
    rng = np.random.default_rng(2)
    north = rng.random(size) < 0.5
    owner = np.repeat(np.arange(size), rng.integers(0, 5, size))
    work = np.where(north[owner], (owner * 7) % 3, rng.integers(0, 3, len(owner)))
    people = pd.DataFrame({"home": owner.astype(str), "sex": rng.choice(["f", "m"], len(owner)),
                           "work": np.array(["no", "part", "full"])[work]})  # fmt: skip
    people.loc[::50, "home"] = "nowhere"
    return {"homes": pd.DataFrame({"home": np.arange(size).astype(str), "region": np.where(north, "n", "s")}),
            "people": people}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(release, folder of real tables, ledger) at epsilon 20: noise of under one root in most cells."""
    home = tmp_path_factory.mktemp("homes")
    real = home / "real"
    real.mkdir()
    for name, table in homes().items():
        table.to_csv(real / f"{name}.csv", index=False)
    synth.run(real, schema=SCHEMA, epsilon=20.0, delta=1e-5, out=home / "release", ledger=home / "ledger.sqlite")
    return home / "release", real, home / "ledger.sqlite"


def test_what_a_report_examines_is_written_at_its_end_whole_or_not_at_all(made, tmp_path):
    release, real, _ = made
    page = tmp_path / "report.html"
    pages = related_steward.examine(release, page, real=real)
    assert list(tmp_path.iterdir()) == [], "whoever cancels until now leaves nothing"
    paths = related_steward.put(pages)
    assert {Path(p) for p in paths.values()} == set(tmp_path.iterdir())
    assert all(Path(p).stat().st_mode & 0o777 == 0o600 for p in paths.values())
    before = Path(paths["report"]).read_bytes()
    with pytest.raises(UnicodeEncodeError):
        private_text(Path(paths["report"]), "half a page \ud800")
    assert Path(paths["report"]).read_bytes() == before
    assert {Path(p) for p in paths.values()} == set(tmp_path.iterdir()), "and no part of one"


def test_a_comparison_with_itself_finds_no_distance_and_one_with_independence_the_relation(made):
    _, real, _ = made
    ours = forest(real, SCHEMA)
    kept = homes()["people"].query("home != 'nowhere'").groupby("home").size().clip(upper=3).sum()
    assert len(ours["people"].parent) == kept, "orphans and rows beyond the bound are in no figure"
    alike = compare_related(ours, ours, SCHEMA)
    assert {p.distance for pairs in alike.pairs.values() for p in pairs} == {0.0}
    assert alike.numbers[0].distance == 0.0
    twins = {(p.first, p.second): p for p in alike.pairs["people: two of one parent"]}
    same = twins["people.work", "people.work (of the other)"]
    assert same.independent > 0.2, "within a home people work alike"
    assert twins["people.sex", "people.sex (of the other)"].independent < 0.1
    assert set(alike.pairs) == {"number of people by column of homes and above", "people with tables above",
                                "people: two of one parent"}  # fmt: skip


def test_the_stewards_report_has_a_page_across_and_one_a_table(command, made, tmp_path):
    release, real, ledger = made
    asked = ["report", release, "--real", real, "--out", tmp_path / "r.html", "--rows", "300", "--ledger", ledger]
    code, said, told = command(*asked, "--json")
    assert code == 0, told
    paths = json.loads(said)["paths"]
    page = (tmp_path / "r.steward-only.html").read_text()
    assert "For the steward only" in page
    assert 'href="r.people.steward-only.html"' in page
    assert set(paths) == {"report", "report_json", "report of homes", "report of people"}
    plain = json.loads((tmp_path / "r.steward-only.json").read_text())
    assert plain["numbers of children"][0]["distance"] < 0.1
    for path in tmp_path.iterdir():
        assert "steward-only" in path.name
        assert path.stat().st_mode & 0o077 == 0, path
    code, _, told = command("report", release, "--real", real, "--group", "sex", "--out", tmp_path / "x.html")
    assert (code, "--group: related tables have no such option" in told) == (2, True)
    code, _, told = command("report", release, "--real", real, "--out", release / "x.html", "--ledger", ledger)
    assert (code, "lies in the release's folder" in told) == (2, True), told


def test_the_publishable_report_reads_the_release_alone(command, made, tmp_path):
    release, _, _ = made
    code, _, told = command("report", release, "--publishable", "--out", tmp_path / "p.html")
    assert code == 0, told
    found = related_publish.gather(release)
    assert found.roots == pytest.approx(600, rel=0.1)
    assert set(found.singles["homes"]) == {"region", "number of people"}
    assert {"people with homes", "people: two of one parent", "within homes", "within people"} <= set(found.pairs)
    region = found.singles["homes"]["region"]
    assert region.table.values.sum() == pytest.approx(region.synthetic.sum(), rel=0.1), "both are in roots"
    assert "one row of homes with everything below it" in (tmp_path / "p.html").read_text()


def test_a_bundle_holds_every_table_and_states_its_unit(command, made, tmp_path):
    release, _, ledger = made
    out = tmp_path / "b.zip"
    code, _, told = command("bundle", release, "--out", out, "--ledger", ledger, "--choice", "only")
    assert code == 0, told
    with zipfile.ZipFile(out) as file:
        names = set(file.namelist())
        assert {"homes.csv", "people.csv", "homes.parquet", "people.parquet", "card.html", "report.html",
                "README.md", "model.json", "release.json", "MANIFEST.sha256"} <= names  # fmt: skip
        assert not [n for n in names if "steward" in n]
        told = file.read("card.md").decode()
        file.extractall(tmp_path / "again")
    assert "one row of homes with everything below it in people" in told
    assert "at most 3 rows of one parent are kept" in told
    assert command("card", "check", tmp_path / "again", "--ledger", ledger)[0] == 0
    code, _, told = command("sample", tmp_path / "again", "--num-roots", "9", "--out", tmp_path / "more")
    assert code == 0, told


def swapped(folder, name, change):
    """A table changed and the hash in all three cards with it: only the keys can tell."""
    table = change(pd.read_csv(folder / f"{name}.csv", dtype=str))
    table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    digest = related_bundle.hashlib.sha256((folder / f"{name}.csv").read_bytes()).hexdigest()
    for part in ("card", "release", "model"):
        plain = json.loads((folder / f"{part}.json").read_text())
        (plain if part == "card" else plain["card"])["tables_sha256"][name] = digest
        (folder / f"{part}.json").write_text(json.dumps(plain))


DAMAGE = {
    "an orphan": ("people", lambda t: t.assign(home=t.home.where(t.index > 0, "99999")), "key is not one of homes"),
    "a key twice": ("homes", lambda t: t.assign(home=t.home.where(t.index > 0, "2")), "a key stands twice"),
    "too many": ("people", lambda t: t.assign(home=t.home.where(t.index > 4, "1")), "more than 3"),
    "a cell": ("people", lambda t: t.assign(work=t.work.where(t.index > 0, "much")), "1 cells that its schema"),
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_a_damaged_table_is_not_bundled(made, tmp_path, damage):
    name, change, words = DAMAGE[damage]
    folder = tmp_path / "release"
    shutil.copytree(made[0], folder)
    swapped(folder, name, change)
    with pytest.raises(InputError, match=words):
        related_bundle.checked(folder)
    (folder / f"{name}.csv").write_bytes((folder / f"{name}.csv").read_bytes() + b"\n")
    with pytest.raises(InputError, match="is not the table that the card names"):
        related_bundle.checked(folder)


def test_a_card_of_related_tables_is_held_to_its_keys(made):
    card = verify.load(made[0])
    verify.check(card)
    for change, words in (
        ({"keys": [{**card["keys"][0], "most_children": 0}]}, "has no bound"),
        ({"keys": [{**card["keys"][0], "parent": "towns"}]}, "is not the root"),
        ({"mechanisms": [{**m, "sensitivity": 0.5, "mechanism": "rounded Gaussian sums"} for m in card["mechanisms"]]},
         "one root under add_remove moves"),
    ):  # fmt: skip
        assert any(words in p for p in verify.problems({**verify.complete(card), **change})), words
