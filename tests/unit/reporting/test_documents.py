"""Every document and record of a release says what card and schema say, and marks what only the steward can say."""

import csv
import hashlib
import io
import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest

import synth
from synth.languages import spoken
from synth.release.folder import load_release
from synth.report.documents import pack
from tests.conftest import SMALL, small_frame
from tests.made import ran
from tests.unit.reporting.validators import judged

STATED = {
    "curators": ["Institute <b>A</b>"],
    "intended_use": "teaching & trials",
    "contact": "office@example.org",
    "region": "Town",
    "sector": "Health",
    "name": 'Town: "small"',
    "published": "2026-02-03",
}
FILES = {kind: pack.parsed(kind)[0]["file"] for kind in pack.PAPERS}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    place = tmp_path_factory.mktemp("documents")
    how = {"out": place / "out", "ledger": place / "ledger.sqlite", "dataset": "small", "method": "independent"}
    ran(small_frame(300), SMALL, seed=1, **how)
    return place / "out"


@pytest.fixture(scope="module")
def bundled(release, tmp_path_factory):
    """The parts of a bundle whose steward has said who he is."""
    place = tmp_path_factory.mktemp("zip") / "r.zip"
    ledger = release.parent / "ledger.sqlite"
    synth.bundle(release, place, facts=STATED, how="before", ledger=ledger, unfinished=True)
    with zipfile.ZipFile(place) as file:
        return {n: file.read(n).decode() for n in file.namelist() if not n.endswith((".parquet", ".safetensors"))}


def text(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.S))


def test_every_document_is_in_the_bundle_and_states_the_guarantee(bundled):
    card = json.loads(bundled["card.json"])
    for name in FILES.values():
        page = text(bundled[name])
        assert "Institute <b>" not in bundled[name], "what the steward writes is escaped"
        if name != "documents/for-the-people.html":
            assert str(card["relation"]) in page or "psilon 1" in page, name
    odds = re.search(r"at most ([\d.]+) %", text(bundled["documents/for-the-people.html"]))[1]
    assert 0 <= float(odds) - 100 * synth.app_api.odds(1.0) < 0.1, "never told smaller"
    assert "epsilon" not in text(bundled["documents/for-the-people.html"])


def test_what_nobody_said_is_marked_and_what_was_said_is_not(bundled, release):
    for kind, name in FILES.items():
        waiting = pack.open_questions(release, kind)
        assert waiting, "each has something that only the steward knows"
        stated, open_ = (
            t.count("<mark>To be written by the steward:</mark>") for t in (bundled[name], pack.export(release, kind))
        )
        assert stated < open_ or kind in ("nist", "ons"), "which ask for nothing that a deployment states"
    assert "teaching &amp; trials" in bundled["documents/five-safes.html"]


def test_a_document_is_one_text_in_every_language(release):
    stored = load_release(release)
    for kind in pack.PAPERS:
        english = pack.paper(kind, stored, stored.card)
        with spoken("de"):
            german = pack.paper(kind, stored, stored.card)
        assert [len(lines) for _, lines in english.parts] == [len(lines) for _, lines in german.parts]
        for (ours, first), (theirs, other) in zip(english.parts, german.parts, strict=True):
            assert ours != theirs
            assert [line.fact for line in first] == [line.fact for line in other]
            assert ours == "Columns" or all(a.question != b.question for a, b in zip(first, other, strict=True))


def test_records_name_the_table_and_its_columns(bundled, release):
    table = (release / "synthetic.csv").read_bytes()
    header = next(csv.reader(io.StringIO(table.decode())))
    digest = hashlib.sha256(table).hexdigest()
    croissant = json.loads(bundled["croissant.json"])
    assert croissant["distribution"][0]["sha256"] == digest
    assert [f["source"]["extract"]["column"] for f in croissant["recordSet"][0]["field"]] == header
    assert croissant["creator"][0]["name"] == "Institute <b>A</b>"
    columns = json.loads(bundled["synthetic.csv-metadata.json"])["tableSchema"]["columns"]
    assert [c["name"] for c in columns] == header
    assert columns[1]["datatype"] == {"base": "integer", "minimum": "0", "maximum": "99"}
    dcat = json.loads(bundled["dcat.jsonld"])
    assert dcat["healthdcatap:numberOfRecords"]["@value"] == str(table.count(b"\n") - 1)
    crate = json.loads(bundled["ro-crate-metadata.json"])["@graph"]
    named = {e["@id"] for e in crate if e["@type"] == "File"}
    assert {"synthetic.csv", "synthetic.parquet", "release.safetensors", "card.json"} <= named
    for entity in (e for e in crate if e["@type"] == "File" and e["@id"] in bundled):
        assert entity["sha256"] == hashlib.sha256(bundled[entity["@id"]].encode()).hexdigest()
    assert 'name: "Institute <b>A</b>"' in bundled["CITATION.cff"]
    assert 'title: "Town: \\"small\\""' in bundled["CITATION.cff"]
    assert "date-released: 2026-02-03" in bundled["CITATION.cff"]


def test_export_writes_one_and_refuses_what_it_does_not_know(command, release, tmp_path):
    code, out, _ = command("card", "export", release, "--format", "croissant")
    assert code == 0
    assert json.loads(out)["name"] == "Synthetic table small"
    german = ("--format", "dpia", "--language", "de", "--out", tmp_path / "d.html")
    code, out, _ = command("card", "export", release, *german)
    assert code == 0
    assert "answers are for the steward" in out
    assert "Folgenabschätzung" in (tmp_path / "d.html").read_text()
    for wrong in (["--format", "word"], ["--format", "csvw", "--out", tmp_path / "none" / "x"]):
        code, _, stderr = command("card", "export", release, *wrong)
        assert code == 2, stderr
        assert len(stderr.splitlines()) == 1


def test_nothing_is_claimed_for_the_steward(release):
    record = pack.export(release, "croissant")
    assert "license" not in record
    assert '"creator"' not in record
    assert "publisher" not in pack.export(release, "dcat")


@pytest.mark.slow
def test_outside_validators_take_the_records(release, tmp_path):
    crate = tmp_path / "crate"
    shutil.copytree(release, crate)
    for kind, name in pack.RECORDS.items():
        (crate / name).write_text(pack.export(release, kind))
    judged(
        "import mlcroissant, rdflib; from rocrate.rocrate import ROCrate\n"
        "d = mlcroissant.Dataset(jsonld='croissant.json'); assert not d.metadata.ctx.issues.errors\n"
        "assert len(next(iter(d.records('synthetic-table')))) == 7\n"
        "c = ROCrate('.'); assert c.root_dataset['name'] == 'Synthetic table small'\n"
        "assert c.get('synthetic.csv')['sha256']\n"
        "g = rdflib.Graph(); g.parse('dcat.jsonld', format='json-ld', publicID='http://example.org/')\n"
        "assert len(g) > 12\n",
        crate,
    )


def test_dcat_types_what_its_shapes_ask_for(bundled):
    """Found by SHACL: a plain media type, checksum and algorithm have no class, and the record does not conform."""
    for file in json.loads(bundled["dcat.jsonld"])["dcat:distribution"]:
        assert file["dcat:mediaType"]["@type"] == "dct:MediaType"
        assert file["spdx:checksum"]["spdx:checksumValue"]["@type"] == "xsd:hexBinary"
        assert file["spdx:checksum"]["spdx:algorithm"]["@type"] == "spdx:ChecksumAlgorithm"


@pytest.mark.slow
@pytest.mark.parametrize("sector", ["Health", "Education"])
def test_dcat_conforms_to_the_shapes_of_dcat_ap(release, tmp_path, sector):
    """``SYNTH_DCAT_SHAPES`` names them (releases/3.0.1/shacl/dcat-ap-SHACL.ttl of SEMICeu/DCAT-AP), which no package
    brings."""
    shapes = os.environ.get("SYNTH_DCAT_SHAPES", "")
    if not Path(shapes).is_file():
        pytest.skip("SYNTH_DCAT_SHAPES names no shapes of DCAT-AP")
    facts, ledger = {**STATED, "sector": sector}, release.parent / "ledger.sqlite"
    synth.bundle(release, tmp_path / "r.zip", facts=facts, how="before", ledger=ledger)
    with zipfile.ZipFile(tmp_path / "r.zip") as file:
        file.extract("dcat.jsonld", tmp_path)
    judged(
        "import sys, pyshacl, rdflib\n"
        "g = rdflib.Graph(); g.parse('dcat.jsonld', format='json-ld', publicID='http://example.org/')\n"
        "ok, _, said = pyshacl.validate(g, shacl_graph=sys.argv[1])\n"
        "assert ok, said\n"
        "g.remove((None, rdflib.URIRef('http://purl.org/dc/terms/title'), None))\n"
        "assert not pyshacl.validate(g, shacl_graph=sys.argv[1])[0], 'shapes that refuse nothing'\n",
        tmp_path,
        shapes,
    )
