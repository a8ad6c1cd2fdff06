"""How the application writes what the library's messages name in Python: options as its fields, functions as pages."""

from collections.abc import Mapping

from synth import app_api
from synth.languages import Texts, _, phrase

LABELS = Texts(
    {  # of options: the words on the field or button that sets it
        "approved_by": "Approved by",
        "assume_public": "I have checked all this, and vouch for it",
        "candidates": "Compare with",
        "categorical": "Columns of codes",
        "dataset": "Name of the dataset",
        "delta": "Allowance (delta)",
        "dialect": "How the CSV is written",
        "epsilon": "Privacy loss (epsilon)",
        "error": "Rows in the wrong place at most (percent)",
        "formats": "Formats of columns, one a line",
        "group": "Group it by its first characters",
        "how": "This run was chosen",
        "identifier": "Identifiers",
        "keys": "Keys of several columns, one a line",
        "max_epsilon": "Cap on epsilon over all runs",
        "max_rows": "Rows kept of one person",
        "method": "Method",
        "missing": "Missing codes",
        "num_rows": "Synthetic rows",
        "ordinal": "Columns of ordered codes",
        "out_table": "Name of the new table",
        "prior": "Is there something public like it?",
        "public": "Public tables",
        "reasons": "Why may these",
        "relation": "What is hidden",
        "root": "Table of the units",
        "rows": "About how many rows are there?",
        "separate": "No person is in both",
        "shadow_runs": "With membership attacks by shadow runs",
        "source": "Database",
        "target": "Column to predict",
        "unit": "Can a person appear in more than one row?",
        "uses": "One use a line, or a research plan",
        "linked": "Keep the rows of one person together",
        "where": "Only rows with",
    }
)
PAGES = Texts(
    {  # of functions: the page, or the button, that does the same
        "Ledger.set_policy": "“Cap on epsilon over all runs”",
        "Ledger.summary": "the page Ledger",
        "Ledger.verify": "“Check the ledger”",
        "Release.refit": "“Fit again, free”",
        "bundle": "the page Release",
        "draft": "the page Data",
        "learn_schema": "“Learn it privately”",
        "run": "the page Run",
    }
)
ELSEWHERE = "(in Python or on the command line)"  # what the application has no field for


def plain(message: str) -> str:
    """A library message in the words of these pages.

    >>> plain("`target=zip`: lower `epsilon=`, or see `synth.run`")
    '“Column to predict = zip”: lower “Privacy loss (epsilon)”, or see the page Run'
    >>> plain("choose `device=cpu`")
    'choose device = cpu (in Python or on the command line)'
    >>> plain("take it out, or `linked=False`")
    'take it out, or “Keep the rows of one person together” not ticked'
    """
    return app_api.spelled(phrase(message), option=_option, function=_function)


def _option(name: str, value: str) -> str:
    whole, _other, part = name.partition(".")
    given = f" = {value}" if value not in ("", "True") else ""
    if part:
        return f"“{of_option(part)}{given}”"
    label = LABELS.get(whole)
    if label and value == "False":
        return _("“{label}” not ticked").format(label=label)
    return f"“{label}{given}”" if label else f"{whole.replace('_', ' ')}{given} {ELSEWHERE}"


def _function(name: str, _given: Mapping[str, str]) -> str:
    return PAGES.get(name, _("synth.{name} {elsewhere}").format(name=name, elsewhere=ELSEWHERE))


def of_option(name: str) -> str:
    """The label of a method's option.

    >>> of_option("oneway_share")
    'One-way share'
    """
    return name.replace("oneway", "one-way").replace("_", " ").capitalize()
