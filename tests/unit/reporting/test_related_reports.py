"""Reports, card and bundle of related tables: what they show is in the rows or the release, and damage is found."""

import hashlib
import html
import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from related_homes import PLAIN, SCHEMA, homes, related_homes  # noqa: F401

import synth
from synth.errors import InputError
from synth.evaluate.quality import measure, measure_related
from synth.evaluate.related_fidelity import compare_related, forest
from synth.pipeline.uses import with_uses
from synth.release import leaving
from synth.release.card import verify
from synth.release.card.card import Card
from synth.report import publish, publishable
from synth.report.documents import pack
from synth.report.steward.write import pages as report_pages
from synth.report.steward.write import put
from tests.made import codes, facts_of, number
from tests.unit.reporting.validators import judged

pytestmark = pytest.mark.xdist_group("related reports")


def test_what_a_report_examines_is_written_at_its_end_whole_or_not_at_all(made, tmp_path):
    release, real, _ = made
    page = tmp_path / "report.html"
    pages = report_pages(release, page, real=real)
    assert list(tmp_path.iterdir()) == [], "whoever cancels until now leaves nothing"
    paths = put(pages)
    assert {Path(p) for p in paths.values()} == set(tmp_path.iterdir())
    assert all(Path(p).stat().st_mode & 0o777 == 0o600 for p in paths.values())
    before = Path(paths["report"]).read_bytes()
    with pytest.raises(UnicodeEncodeError):
        put({"report": (Path(paths["report"]), "half a page \ud800")})
    assert Path(paths["report"]).read_bytes() == before
    assert {Path(p) for p in paths.values()} == set(tmp_path.iterdir()), "and no part of one"


def test_a_column_that_is_empty_everywhere_is_no_warning_of_a_library(recwarn):
    columns = synth.Schema.parse(facts_of(end=number(0, 9, nullable=True), sex=codes("f", "m"))).columns
    table = {"end": np.full(50, 10), "sex": np.arange(50) % 2}
    made = {**table, "end": np.arange(50) % 10}
    found = measure(table, made, columns, rows=50, rng=np.random.default_rng(0))
    assert found.by_column == {"sex": 1.0}
    assert not [str(w.message) for w in recwarn if w.category is not DeprecationWarning]


def test_sdmetrics_scores_each_table_and_relation_and_what_is_lost_shows(made):
    _, real, _ = made
    ours = forest(real, SCHEMA)
    people = ours["people"]
    columns = {**people.columns, "work": ours["homes"].columns["region"][people.parent]}  # which the region decides
    ours = ours.with_branch("people", replace(people, columns=columns))
    same = measure_related(ours, ours, SCHEMA)
    assert (same.score, set(same.tables), set(same.relations)) == (1.0, {"homes", "people"}, {("people", "homes")})
    assert same.relations["people", "homes"][0] == 1.0
    assert set(same.properties) >= {"Column Shapes", "Cardinality", "Intertable Trends"}
    mixed_up = {**columns, "work": np.random.default_rng(0).permutation(columns["work"])}
    apart = ours.with_branch("people", replace(people, columns=mixed_up))
    mixed = measure_related(ours, apart, SCHEMA)
    assert mixed.relations["people", "homes"][1] < same.relations["people", "homes"][1] - 0.05
    assert mixed.tables["people"][0] == same.tables["people"][0] == 1.0
    few = measure_related(ours, ours, SCHEMA, rows=100)
    assert max(max(r) for r in few.rows.values()) < 150


def test_a_result_in_memory_is_compared_with_frames(made):
    release, real, _ = made
    result = synth.app_api.refit(release, method="independent", num_rows=300, seed=1)
    compared = result.compare(homes())
    assert any("columns of people with those of tables above" in u.use for u in compared.verdict.uses)
    assert compared.comparison.quality is not None
    assert "for the steward only" in repr(compared).lower()
    written = synth.app_api.refit(release, method="independent", num_rows=300, seed=1)
    assert written.compare(real).verdict.plain() == compared.verdict.plain()


def test_a_comparison_with_itself_finds_no_distance_and_one_with_independence_the_relation(made):
    _, real, _ = made
    ours = forest(real, SCHEMA)
    retained = homes()["people"].query("home != 'nowhere'").groupby("home").size().clip(upper=3).sum()
    assert len(ours["people"].parent) == retained, "orphans and rows beyond the bound are in no figure"
    alike = compare_related(ours, ours, SCHEMA)
    assert {p.distance for pairs in alike.pairs.values() for p in pairs} == {0.0}
    assert alike.numbers[0].distance == 0.0
    twins = {(p.first, p.second): p for p in alike.pairs["two rows of people of one parent"]}
    same = twins["people.work", "people.work (of the other)"]
    assert same.independent > 0.2, "within a home people work alike"
    assert twins["people.sex", "people.sex (of the other)"].independent < 0.1
    assert set(alike.pairs) == {
        "how many people by column of homes and above",
        "columns of people with those of tables above",
        "two rows of people of one parent",
    }


def test_a_second_real_sample_is_as_far_off_as_the_comparison_says():
    """Two samples, forty times: 600 homes of three people who mostly work alike; six pairs of one are no six draws."""
    rng = np.random.default_rng(0)

    def sample():
        works = np.repeat(rng.integers(0, 3, 600), 3)
        works = np.where(rng.random(1800) < 0.1, rng.integers(0, 3, 1800), works)
        people = {
            "home": np.repeat(np.arange(600), 3).astype(str),
            "sex": "f",
            "work": np.array(["no", "part", "full"])[works],
        }
        places = {"home": np.arange(600).astype(str), "region": rng.choice(["n", "s"], 600)}
        return forest({"homes": pd.DataFrame(places), "people": pd.DataFrame(people)}, SCHEMA)

    results = [compare_related(sample(), sample(), SCHEMA).pairs["two rows of people of one parent"] for _ in range(40)]
    works = [next(p for p in pairs if p.first == "people.work" and "other" in p.second) for pairs in results]
    reported, seen = (np.mean([getattr(p, n) for p in works]) for n in ("by_chance", "distance"))
    assert 0.85 < reported / seen < 1.15
    assert seen > 1.5 * 0.5 * 9 * np.sqrt(4 / np.pi * (1 / 9) * (8 / 9) / 3600), "six pairs of a home are no six draws"


def test_the_stewards_report_has_a_page_across_and_one_a_table(command, made, tmp_path):
    release, real, ledger = made
    asked = ["report", release, "--real", real, "--out", tmp_path / "r.html", "--rows", "300", "--ledger", ledger]
    code, said, stderr = command(*asked, "--json")
    assert code == 0, stderr
    paths, standing = json.loads(said)["paths"], json.loads(said)["standing"]
    lists = {f"{t}.{n}": c for t, s in SCHEMA.tables.items() for n, c in s.measured().items() if c.categories}
    assert {n: 0 < k <= len(lists[n].categories) for n, k in standing.items()} == dict.fromkeys(lists, True)
    assert json.loads(said)["of_which_in_few_real_rows"].items() <= dict.fromkeys(lists, 0).items()
    page = (tmp_path / "r.steward-only.html").read_text()
    assert "For the steward only" in page
    assert 'href="r.people.steward-only.html"' in page
    assert set(paths) == {"report", "report_json", "report of homes", "report of people"}
    plain = json.loads((tmp_path / "r.steward-only.json").read_text())
    assert plain["numbers of children"][0]["distance"] < 0.1
    for path in tmp_path.iterdir():
        assert "steward-only" in path.name
        assert path.stat().st_mode & 0o077 == 0, path
    code, _, stderr = command("report", release, "--real", real, "--group", "sex", "--out", tmp_path / "x.html")
    assert (code, "related tables have no test, groups" in stderr) == (2, True)
    code, _, stderr = command("report", release, "--real", real, "--out", release / "x.html", "--ledger", ledger)
    assert (code, "lies in the release's folder" in stderr) == (2, True), stderr


def test_the_publishable_report_reads_the_release_alone(command, made, tmp_path):
    release, _, _ = made
    code, _, stderr = command("report", release, "--publishable", "--out", tmp_path / "p.html")
    assert code == 0, stderr
    result = publish.gather(release)
    assert result.rows == pytest.approx(600, rel=0.1)
    assert set(result.singles["homes"]) == {"region", "number of people"}
    assert {"people with homes", "people: two of one parent", "within homes", "within people"} <= set(result.pairs)
    region = result.singles["homes"]["region"]
    assert region.table.values.sum() == pytest.approx(region.synthetic.sum(), rel=0.1), "both are in roots"
    assert "one of homes with all its rows there and in" in (tmp_path / "p.html").read_text()


def test_both_verdicts_speak_of_named_uses(made):
    release, real, _ = made
    lines = ["people.work by homes.region", "people.work by people.sex by homes.region", "columns homes.region"]
    lines += ["people.sex ~ homes.region"]
    named = with_uses(SCHEMA, lines)
    across = compare_related(forest(real, named), forest(release, named), named)
    judged_uses = {u.use: u for u in across.verdict.uses if u.use.startswith("named: ")}
    assert set(judged_uses) == {f"named: {line}" for line in (*lines[:2], lines[3])}
    assert "coefficient of homes.region[T.s]" in judged_uses[f"named: {lines[3]}"].sentence
    assert 0 < judged_uses[f"named: {lines[0]}"].value < 0.2
    said = publishable.verdict(replace(publish.gather(release), schema=named), {})
    judged_uses = {u.use: u for u in said.uses if u.use.startswith("named: ")}
    assert set(judged_uses) == {f"named: {line}" for line in lines}
    assert all(u.at_most and u.second is not None for u in judged_uses.values())


STATED = {
    "curators": ["Town <b>office</b>"],
    "intended_use": "teaching",
    "contact": "office@example.org",
    "region": "Town",
    "sector": "Health",
}


@pytest.fixture(scope="module")
def bundled(made, tmp_path_factory):
    """The folder of a bundle whose steward has said who he is."""
    place = tmp_path_factory.mktemp("bundled")
    synth.bundle(made[0], place / "b.zip", facts=STATED, how="before", ledger=made[2], unfinished=True)
    with zipfile.ZipFile(place / "b.zip") as file:
        file.extractall(place / "b")
    return place / "b"


def test_every_page_for_those_who_answer_names_the_unit_and_all_tables(made, bundled):
    unit = "ne of homes with all its rows there and in people"
    for kind, name in ((k, pack.parsed(k)[0]["file"]) for k in pack.PAPERS):
        page = (bundled / name).read_text()
        assert "Town <b>" not in page, "what the steward writes is escaped"
        assert ("homes" in page and "people" in page) or kind == "nist", name
        assert unit in page, name
        assert pack.open_questions(made[0], kind), "each has something that only the steward knows"
    german = pack.export(made[0], "dpia", language="de")
    assert "ein Eintrag von homes mit allen seinen Zeilen dort und in people" in german
    german = pack.export(made[0], "nist", language="de")
    assert "die Anzahl (Schlüssel von homes) ist selbst geschützt" in german
    nist = (bundled / "documents/nist-sp-800-226.html").read_text()
    assert "at most 3 of people are kept of one row of homes" in nist


def test_records_name_every_table_with_its_keys(made, bundled):
    def record(name):
        return json.loads((bundled / name).read_text())

    croissant, digests = record("croissant.json"), {}
    for part in croissant["distribution"]:
        digests[part["@id"]] = part["sha256"]
        assert part["sha256"] == hashlib.sha256((bundled / part["@id"]).read_bytes()).hexdigest()
    assert set(digests) == {"homes.csv", "people.csv"}
    homes_of, people_of = croissant["recordSet"]
    assert homes_of["key"] == [{"@id": "homes/home"}]
    assert people_of["field"][0]["references"] == {"field": {"@id": "homes/home"}}
    for table, records in zip(record("csv-metadata.json")["tables"], croissant["recordSet"], strict=True):
        header = (bundled / table["url"]).read_text().splitlines()[0].split(",")
        assert [c["name"] for c in table["tableSchema"]["columns"]] == header == [f["name"] for f in records["field"]]
    plain = json.loads(pack.export(made[0], "csvw"))["tables"]
    assert plain[0]["tableSchema"]["primaryKey"] == ["home"]
    assert plain[1]["tableSchema"]["foreignKeys"] == [
        {"columnReference": ["home"], "reference": {"resource": "homes.csv", "columnReference": ["home"]}}
    ]
    crate = {e["@id"]: e for e in record("ro-crate-metadata.json")["@graph"] if e["@type"] == "File"}
    assert {"homes.csv", "people.parquet", "release.safetensors", "card.json", "index.html"} <= set(crate)
    assert all(e["sha256"] == hashlib.sha256((bundled / n).read_bytes()).hexdigest() for n, e in crate.items())
    files = {f["dct:title"] for f in record("dcat.jsonld")["dcat:distribution"]}
    assert files == {"homes.csv", "homes.parquet", "people.csv", "people.parquet"}


def test_the_first_page_says_what_belongs_together_and_its_lines_join_the_tables(bundled, monkeypatch):
    page = (bundled / "index.html").read_text()
    assert "What is protected is one of homes with all its rows there and in people" in page
    assert "homes, by home" in page
    assert "single columns of homes" in page
    assert "steward-only" not in page
    monkeypatch.chdir(bundled)
    result: dict = {}
    lines = re.search(r"<pre><code>(import pandas.*?)</code>", page, re.S)[1]
    exec(html.unescape(lines), result)
    assert len(result["table_1"]) == len(pd.read_csv("people.csv"))
    assert {"region", "work"} <= set(result["table_1"])
    linked = re.findall(r'href="([a-z]+\.[a-z]+)"', page)
    assert "homes.csv" in linked
    for name in linked:
        assert (bundled / name).is_file(), name


@pytest.mark.slow
def test_outside_validators_take_the_records_of_related_tables(bundled):
    """As of one table (test_documents.py)."""
    judged(
        "import mlcroissant, rdflib; from rocrate.rocrate import ROCrate\n"
        "d = mlcroissant.Dataset(jsonld='croissant.json'); assert not d.metadata.ctx.issues.errors\n"
        "assert len(next(iter(d.records('homes')))) == 2 and len(next(iter(d.records('people')))) == 3\n"
        "c = ROCrate('.'); assert c.get('people.csv')['sha256'] and c.get('homes.csv')['sha256']\n"
        "g = rdflib.Graph(); g.parse('dcat.jsonld', format='json-ld', publicID='http://example.org/')\n"
        "assert len(g) > 12\n",
        bundled,
    )


def test_a_bundle_holds_every_table_and_states_its_unit(command, made, tmp_path):
    release, _, ledger = made
    out = tmp_path / "b.zip"
    code, _, stderr = command("bundle", release, "--out", out, "--ledger", ledger, "--choice", "only")
    assert code == 0, stderr
    with zipfile.ZipFile(out) as file:
        names = set(file.namelist())
        tables = {f"{t}.{kind}" for t in ("homes", "people") for kind in ("csv", "parquet")}
        papers = {"card.html", "report.html", "README.md", "model.json", "release.json", "MANIFEST.sha256"}
        assert tables | papers <= names
        assert not [n for n in names if "steward" in n]
        stderr = file.read("card.md").decode()
        file.extractall(tmp_path / "again")
    assert "one of homes with all its rows there and in people" in stderr
    assert "at most 3 rows of one parent are kept" in stderr
    assert command("card", "check", tmp_path / "again", "--ledger", ledger)[0] == 0
    code, _, stderr = command("sample", tmp_path / "again", "--num-roots", "9", "--out", tmp_path / "more")
    assert code == 0, stderr


def swapped(folder, name, change):
    """A table changed and the hash in all three cards with it: only the keys can tell."""
    table = change(pd.read_csv(folder / f"{name}.csv", dtype=str))
    table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    digest = hashlib.sha256((folder / f"{name}.csv").read_bytes()).hexdigest()
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
        leaving.may_leave(folder)
    (folder / f"{name}.csv").write_bytes((folder / f"{name}.csv").read_bytes() + b"\n")
    with pytest.raises(InputError, match="is not the table that the card names"):
        leaving.may_leave(folder)


def test_a_card_of_related_tables_is_held_to_its_keys(made):
    card = verify.load(made[0])
    verify.check(card)
    less = [{**m, "sensitivity": 0.5, "mechanism": "rounded Gaussian sums"} for m in card["mechanisms"]]
    for change, words in (
        ({"keys": [{**card["keys"][0], "most_children": 0}]}, "has no bound"),
        ({"keys": [{**card["keys"][0], "parent": "towns"}]}, "is not the root"),
        ({"mechanisms": less}, "one root under add_remove moves"),
    ):
        assert any(words in p for p in verify.problems(Card({**card, **change}))), words
