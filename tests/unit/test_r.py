"""The R package, as somebody who knows synthpop would use it: installed, then run by Rscript beside the library."""

import json
import os
import shutil
import subprocess
import sys
import tomllib

import pytest

import synth
from tests.conftest import ROOT, SMALL, small_frame

SCRIPT = """
library(facsimile, lib.loc = "lib")
people <- read.csv("people.csv")
people$region[1:3] <- NA
made <- syn(people, "people.schema.json", epsilon = 1, method = "independent", dataset = "club", num_rows = 50L,
            seed = 1L, out = "release")
print(made)
stopifnot(nrow(made$syn) == 50, is.numeric(made$syn$age), inherits(made$syn$seen, "Date"))
stopifnot(is.character(made$syn$region),
          identical(as.data.frame(made), made$syn), made$card$epsilon == 1)
uses <- compare(made, people)
stopifnot(all(c("level", "use", "value") %in% names(uses)), nrow(uses) > 2)
question <- list(kind = "mean", column = "age")
stopifnot(length(ask(made, question)$terms) == 1)
answer <- ask("release", question, people, epsilon = 1, dataset = "club")
stopifnot(answer$term == "mean", answer$low < answer$high)
refused <- tryCatch(syn(people, "people.schema.json", epsilon = 1), error = conditionMessage)
stopifnot(grepl("dataset", refused))
whole <- c(100000, 1e15, 20000000, NA)
stopifnot(identical(facsimile:::frame_of(facsimile:::table_of(data.frame(a = whole, b = 1L)))$a,
                    c("100000", "1000000000000000", "20000000", NA)), getOption("scipen") == 0)
cat("done", sum(is.na(made$syn$region)), list.files(tempdir(), pattern = "csv$"))
"""


def test_the_package_has_the_projects_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"Version: {project}\n" in (ROOT / "r" / "DESCRIPTION").read_text()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (Debian's r-base-core)")
def test_a_user_of_r_makes_compares_and_asks(tmp_path):
    there = subprocess.run(["Rscript", "--vanilla", "-e", "library(reticulate)"], capture_output=True)
    if there.returncode:
        pytest.skip("reticulate is not installed (Debian's r-cran-reticulate)")
    (tmp_path / "lib").mkdir()
    shutil.copytree(ROOT / "r", tmp_path / "r")
    installed = ["R", "CMD", "INSTALL", "--library=lib", "r"]
    done = subprocess.run(installed, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "WARNING" not in done.stderr
    small_frame(300).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.schema.json").write_text(json.dumps(SMALL))
    own = {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "SYNTH_LEDGER": str(tmp_path / "l.sqlite")}
    asked = {"input": SCRIPT, "cwd": tmp_path, "text": True, "capture_output": True, "env": os.environ | own}
    done = subprocess.run(["Rscript", "--vanilla", "-"], **asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-1].split()[0] == "done"
    assert done.stdout.split("\n")[-1].split()[2:] == [], "no private rows are left in a file"
    assert [e.epsilon for e in synth.Ledger(tmp_path / "l.sqlite").entries() if e.kind == "spend"] == [1.0, 1.0]
