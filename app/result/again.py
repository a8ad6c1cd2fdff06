"""The run of a result as a command line and as a notebook, to be kept with papers or carried to another machine."""

import json
import shlex
from pathlib import Path
from typing import Any

import streamlit as st

from app.run import runs
from app.session import frame
from synth.app_api import jobs
from synth.languages import _


def section(job: jobs.Job) -> None:
    """Both, of a charged run."""
    if not job.request().get("free"):
        frame.fold(_("The same run as a command line, or as a notebook"), "again", lambda: _shown(job))


def _shown(job: jobs.Job) -> None:
    st.caption(
        _(
            "Beside the saved description (page Describe) and the private table. Whoever runs it is charged "
            "again: the same noise is never drawn twice."
        )
    )
    request, several = job.request(), runs.is_several(job)
    st.code(command(request, several=several), language="bash", wrap_lines=True)
    st.download_button(
        _("Notebook (.ipynb)"),
        notebook(request, several=several),
        "run.ipynb",
        "application/x-ipynb+json",
        key="get_notebook",
        on_click="ignore",
        icon=":material/terminal:",
        help=_("The same in Python, with a picture of the result. It holds no row."),
    )


def _tables(request: dict[str, Any], *, several: bool) -> str | None:
    """What a run reads: a table by its label, related ones by a folder; those of a database are all that is there."""
    if not several:
        return str(request["label"])
    return None if request.get("source") else str(request["dataset"])


def command(request: dict[str, Any], *, several: bool = False) -> str:
    """The command line of a run; ``several``: of related tables, in a folder with the dataset's name.

    >>> command({"label": "my people.csv", "dataset": "club", "epsilon": 1.0, "delta": 1e-05, "relation": "add_remove",
    ...          "method": "mixture", "options": {}})
    "synth run 'my people.csv' --schema schema.json --dataset club --epsilon 1 --delta 1e-05 --relation add_remove \\
--method mixture --out release"
    """
    read = _tables(request, several=several)
    reported = ["synth", "run", *([] if read is None else [read]), "--schema", "schema.json"]
    reported += ["--dataset", str(request["dataset"])]
    for name in ("source", "epsilon", "delta", "relation", "method"):
        if (value := request.get(name)) is not None:
            reported += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    for name, value in (request.get("options") or {}).items():
        reported += ["--option", f"{name}={value}"]
    for path in request.get("prior") or ():
        reported += ["--prior", Path(path).name]
    for reason in _reasons(request):
        reported += ["--prior-reason", reason]
    return shlex.join([*reported, "--out", "release"])


def _reasons(request: dict[str, Any]) -> list[str]:
    """Why each prior is public; one text where it was said for all."""
    why = request.get("prior_reason")
    return [why] if isinstance(why, str) else list(why or ())


def notebook(request: dict[str, Any], *, several: bool = False) -> str:
    """The run as a Jupyter notebook of three cells; ``several``: as of ``command``."""
    names = ("source", "dataset", "epsilon", "delta", "relation", "method", "options")
    stated = {n: request[n] for n in names if request.get(n)}
    if request.get("prior"):
        stated |= {"prior": [Path(p).name for p in request["prior"]], "prior_reason": _reasons(request)}
    given = "".join(f"    {n}={v!r},\n" for n, v in stated.items())
    load = "synth.app_api.load_related" if several else "synth.Schema.load"
    shown = 'result.frame.describe(include="all")'
    if several:
        shown = '{name: frame.describe(include="all") for name, frame in result.frames.items()}'
    cells = [
        (
            "markdown",
            _("# {dataset}\n\nOne charged run. Running it again is charged again.").format(dataset=request["dataset"]),
        ),
        ("code", "import synth"),
        (
            "code",
            f"result = synth.run(\n    {_tables(request, several=several)!r},\n"
            f'    schema={load}("schema.json"),\n{given})\nresult',
        ),
        ("code", shown),
    ]
    code: dict[str, Any] = {"execution_count": None, "outputs": []}
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"language_info": {"name": "python"}},
            "cells": [
                {"id": f"c{i}", "cell_type": k, "metadata": {}, "source": s, **(code if k == "code" else {})}
                for i, (k, s) in enumerate(cells)
            ],
        },
        indent=1,
    )
