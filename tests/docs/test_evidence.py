"""The officer's page: every command on it runs, in its order, in one folder; on fewer rows and columns."""

import json
import re
import shlex
import zipfile
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "release.md").read_text().partition("## Evidence for an officer")[2].partition("\n## ")[0]
ROWS = 300
RETAINED = ("person_id", "age", "sex", "region", "chronic_condition")


def test_the_page_can_be_followed(command, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    schema = json.loads((ROOT / "data" / "town_survey.schema.json").read_text())
    schema["columns"] = {n: schema["columns"][n] for n in RETAINED}
    schema.pop("constraints", None)
    (tmp_path / "data" / "town_survey.schema.json").write_text(json.dumps(schema))
    rows = pd.read_csv(ROOT / "data" / "town_survey.csv.gz", dtype=str, keep_default_na=False, nrows=ROWS)
    rows[list(RETAINED)].to_csv(tmp_path / "data" / "town_survey.csv.gz", index=False)
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^    (synth .*)$", PAGE, re.M)
    assert len(lines) >= 10
    for line in lines:
        code, _, stderr = command(*shlex.split(line)[1:])
        assert code == 0, (line, stderr)
    assert "Town hall" in (tmp_path / "dpia.html").read_text()
    assert len(list((tmp_path / "tables").iterdir())) == 3
    with zipfile.ZipFile(tmp_path / "release.zip") as file:
        assert "documents/dpia.html" in file.namelist()
