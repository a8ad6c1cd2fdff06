"""The application's longer texts in plain words, and how it writes what the library's messages name in Python."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from synth import app_api
from synth.languages import Texts, _, ngettext, numerals, prose

KINDS = Texts(
    categorical="category",
    ordinal="ordered category",
    boolean="two values",
    integer="whole number",
    float="decimal number",
    datetime="date or time",
    identifier="identifier (not learnt)",
    omitted="left out (never read)",
)
SOURCES = Texts(declared="I confirm it", public="published", private="learnt with budget", unconfirmed="nobody yet")
CONFIRMED = Texts(public="published", declared="confirmed here", private="learnt with budget")
RELATIONS = Texts(
    add_remove="One row is in the table or not (recommended)",
    replace_one="One row is replaced by any other",
    zero_out="One row is blanked out",
)
RELATIONS_SHORT = Texts(add_remove="one row in or out", replace_one="one row replaced", zero_out="one row blanked out")
RELATION_NOTES = Texts(
    add_remove="Epsilon limits how sure anybody can be that a row was in the table, and of how many there are.",
    replace_one="Epsilon limits how sure anybody can be of what a row says; how many there are is public.",
    zero_out="Epsilon limits how sure anybody can be of what a row says; how many there are is public.",
)
RELATION_HELP = (
    "What is hidden: the promise compares two tables that differ in one row, and this says how they differ. "
    "All runs on one dataset must use the same choice, because budgets under different choices do not add up."
)
EPSILON_HELP = (
    "Epsilon is the privacy loss of the whole run: how much the result may depend on any single row. "
    "Small values add more noise and protect better."
)
DELTA_HELP = (
    "A tiny probability with which the promise of epsilon does not hold; the noise calculation needs it. "
    "Choose it well below 1 divided by the number of rows."
)
RECOMMENDED = "mixture"
REASON = "It keeps relations between columns, on tables of any width, mostly within seconds."
JOINED_REASON = "It keeps relations between columns, between rows that belong together, and between tables."
METHODS = Texts(
    mixture="counts single columns, pairs and what pairs miss, and fits a blend of simple tables to them",
    independent="counts each column alone; relations between columns are lost",
    slicing="asks for random blends of all columns, and fits a blend of simple tables to them",
    slice_wasserstein="asks for random blends of all columns, and trains a neural network on them",
    dp_kernel="asks once for a long list of averages that describe columns and pairs, and trains on it",
    dp_merf="asks once for averages of random waves over the rows, and trains on them",
    dp_hp="asks once for averages of powers of the columns, and trains on them",
    pearl="asks once for averages of random waves, and trains where the result still misses",
    dp_ntk="asks once how a random neural network reacts to the rows, and trains on that",
    dp_ctgan="trains two competing neural networks, with noise in every step; wants many rows",
    pate_gan="trains a neural network on noisy votes of teachers that saw parts of the rows; wants many rows",
    dp_autogan="trains a network that packs and unpacks rows, then one that invents packed rows, with noise in "
    "every step; wants many rows",
    dp_vae="trains a neural network that packs and unpacks rows, with noise in every step; wants many rows",
    dp_flow="trains a neural network that bends plain noise into rows, with noise in every step; wants many rows",
    dp_diffusion="trains a neural network to fill in blanked columns, with noise in every step; wants many rows",
    dp_sinkhorn="moves invented rows to where the real ones lie, with noise in every step; wants many rows",
    private_set="makes a small set of rows that teaches a classifier of the target what the table would",
    gs_wgan="trains a neural network on which way teachers with parts of the rows would move its rows, under noise",
    datalens="trains a neural network on noisy signs of where teachers with parts of the rows would move its rows",
    g_pate="trains a neural network on noisy ballots of where teachers with parts of the rows would move its rows",
    private_evolution="lets invented rows evolve by noisy votes of the real rows that are most like them",
    aim="counts groups of columns one after another, where the result is worst so far",
    mst="counts the pairs of columns that depend most on each other",
    mwem="adjusts one table of all combinations step by step; for teaching, on a few columns",
    online_weights="answers one question after another and counts only where it is far off; for teaching, on "
    "a few columns",
    small_db="picks the best of all tiny tables; for teaching, on a few columns",
)
JOINED_METHODS = Texts(
    mixture="relations within and between rows as well",
    independent="each column and numbers of rows alone, the baseline",
)  # of rows that belong together, in several tables or of persons in one
METHOD_HELP = (
    "How the synthetic table is made. The privacy promise is the same for all: methods differ in what they ask the "
    "table under noise, and so in what the result keeps."
)
NOT_FREE = (
    "These facts were taken from the private rows, and that is not free of risk: a largest age of 103 says that "
    "somebody is 103. Confirm a fact only if you know it from elsewhere, such as the questionnaire or a code book. "
    "Otherwise change it to what is generally possible (age 0 to 120) and then confirm it."
)
ASKS = Texts(
    {
        "one-way": "single columns",
        "one-way, calendar": "weekdays and months",
        "one-way, round numbers": "how round numbers are",
        "one-way, again": "single columns, finer",
        "one-way, together": "the far ends of numbers",
        "tables": "pairs of columns",
        "slices": "random blends of all columns",
        "mean embedding": "averages that describe the rows",
        "rows": "the number of rows",
        "row count": "the number of rows",
        "nearest rows": "which made-up rows are nearest",
        "nearest candidates": "which made-up rows are nearest",
        "votes": "votes of teachers",
        "critic": "steps of the training",
        "autoencoder": "steps of the training",
        "aim": "groups of columns, chosen on the way",
        "mst": "pairs of columns, chosen on the way",
        "small database": "the choice of a tiny table",
    }
)
ENDS = Texts(
    {
        0: "done",
        1: "internal error",
        2: "the request, the table or its description does not fit",
        3: "this machine could not do it",
        4: "the budget does not allow it",
        5: "it stopped after the budget was charged",
        130: "cancelled, nothing was spent",
    }
)


def asks(purposes: Sequence[str]) -> list[str]:
    """What the steps of a spend ask for, in plain words.

    >>> asks(["one-way", "one-way, level 2", "tables", "tables", "the newest"])
    ['single columns', 'single columns, finer', 'pairs of columns', 'pairs of columns, once more', 'the newest']
    """
    said = [_("single columns, finer") if p.startswith("one-way, level") else ASKS.get(p, p) for p in purposes]
    return [_("{s}, once more").format(s=s) if s in said[:i] else s for i, s in enumerate(said)]


CAUTION = Texts(
    none="A common choice for sensitive tables.",
    note="Above 1 the promise is weaker. Many published tables use such values; record why you need it.",
    careful="Careful: at this value an attacker who knows almost everything else can become nearly sure about one "
    "person. Use it only where the table is not very sensitive.",
    strong="Strong warning: above 10 the guarantee says almost nothing about a single person. Do not release such a "
    "table as protected.",
)


def caution(epsilon: float) -> tuple[str, str]:
    """How to speak of an epsilon: a level (none, note, careful, strong) and a sentence.

    >>> caution(0.5)[0], caution(2)[0], caution(6)[0], caution(12)[0]
    ('none', 'note', 'careful', 'strong')
    """
    level = "none" if epsilon <= 1 else "note" if epsilon <= 4 else "careful" if epsilon <= 10 else "strong"
    return level, CAUTION[level]


def method(about: Mapping[str, Any], *, tree: bool = False) -> str:
    """What a method of ``synth.methods`` does, in plain words where there are some; ``tree``: to rows that belong
    together.

    >>> method({"name": "mst", "summary": "x"}), method({"name": "newest", "summary": "x"})
    ('counts the pairs of columns that depend most on each other', 'x')
    """
    return (JOINED_METHODS if tree else METHODS).get(str(about["name"]), prose(about["summary"]))


ASKED_ABOVE = ("keys that repeat (", "long lists, or values that few rows have (")  # the page asks about these itself


def small(value: float) -> str:
    """A delta as people write it.

    >>> small(1e-5), small(0.001), small(0.0)
    ('1e-5', '0.001', '0')
    """
    return re.sub(r"e-0*", "e-", f"{value:g}")


def moment(time: datetime) -> str:
    """A point in time as people of this language write it, in this computer's zone.

    >>> moment(datetime(2026, 11, 28, 17, 5))
    '28 Nov 2026 17:05'
    """
    return time.astimezone().strftime(_("%d %b %Y %H:%M"))


def runs(count: int) -> str:
    """A number of runs.

    >>> runs(1), runs(2)
    ('1 run', '2 runs')
    """
    return ngettext("{n} run", "{n} runs", count)


def at_most(error: float | None) -> str:
    """A share of rows that are misplaced at most, for a narrow place.

    >>> at_most(0.0141), at_most(None)
    ('≤ 1.4 %', '–')
    """
    return numerals(f"≤ {100 * error:.2g} %") if error else "–"


def share(part: float) -> str:
    """A share in percent, two digits.

    >>> share(0.0141), share(0.204), share(1.0)
    ('1.4 %', '20 %', '100 %')
    """
    return numerals(f"{float(f'{100 * part:.2g}'):g} %")


def between(low: float, high: float) -> str:
    """Shares from one to another.

    >>> between(0.011, 0.0312)
    '1.1 % to 3.1 %'
    """
    return _("{least} to {most}").format(least=share(low), most=share(high))


def count(number: float) -> str:
    """A scale of noise for a narrow place.

    >>> count(0.512), count(164.2), count(20230.0), count(2.5e6)
    ('0.512', '164', '20,230', '2.5e6')
    """
    if number < 1000:
        return numerals(f"{number:.3g}")
    return numerals(f"{number:,.0f}" if number < 1e5 else f"{number:.3g}".replace("e+0", "e").replace("e+", "e"))


def short_seconds(seconds: float) -> str:
    """A duration for a narrow place.

    >>> short_seconds(2.4), short_seconds(150), short_seconds(7300)
    ('2 s', '3 min', '2.0 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60 + 0.49)} min" if seconds < 5400 else numerals(f"{seconds / 3600:.1f} h")


def about_seconds(seconds: float) -> str:
    """A duration as people say it.

    >>> about_seconds(2.4), about_seconds(150), about_seconds(7300)
    ('about 2 seconds', 'about 3 minutes', 'about 2.0 hours')
    """
    if seconds < 90:
        whole = max(1, round(seconds))
        return ngettext("about {n} second", "about {n} seconds", whole)
    return (
        _("about {seconds} minutes").format(seconds=round(seconds / 60 + 0.49))
        if seconds < 5400
        else _("about {seconds:.1f} hours").format(seconds=seconds / 3600)
    )


CHOSEN = Texts(
    before="before anybody compared results with the real rows",
    releases="by released figures only (forecast, card, publishable report)",
    scores="by its comparison with the real rows",
)


LABELS = Texts(
    # of options: the words on the field or button that sets it
    approved_by="Approved by",
    assume_public="Confirm",
    candidates="Compare with",
    categorical="Columns of codes",
    dataset="Name of the dataset",
    delta="Allowance (delta)",
    dialect="How the CSV is written",
    epsilon="Privacy loss (epsilon)",
    error="Rows that would have to change, at most (percent)",
    formats="Formats of columns, one a line",
    group="Group it by its first characters",
    how="This run was chosen",
    identifier="Identifiers",
    keys="Keys of several columns, one a line",
    max_epsilon="Cap on epsilon over all runs",
    mark="With a column that says so in every row",
    max_rows="Rows kept of one person",
    method="Method",
    missing="Missing codes",
    num_rows="Synthetic rows",
    ordinal="Columns of ordered codes",
    out_table="Name of the new table",
    prior="Is there something public like it?",
    public="Public tables",
    reasons="Why may",
    relation="What is hidden",
    root="Table of those it protects",
    rows="About how many rows are there?",
    separate="No person is in both",
    shadow_runs="With membership attacks by shadow runs",
    source="Database",
    target="Column to predict",
    unit="Can a person appear in more than one row?",
    uses="One use a line, or a research plan",
    linked="Keep the rows of one person together",
    where="Only rows with",
)
PAGES = Texts(
    {  # of functions: the page, or the button, that does the same
        "Ledger.set_policy": "“Cap on epsilon over all runs”",
        "Ledger.summary": "the page Ledger",
        "Ledger.verify": "“Check the ledger”",
        "Release.refit": "“Fit again, free”",
        "bundle": "the page The result",
        "draft": "the page The table",
        "learn_schema": "“Learn it privately”",
        "run": "the page Privacy and accuracy",
    }
)
ELSEWHERE = "(in Python or on the command line)"  # what the application has no field for


def plain(message: str) -> str:
    """A library message in the words of these pages.

    >>> plain("`target=zip`: lower `epsilon=`, or see `synth.run`")
    '“Column to predict = zip”: lower “Privacy loss (epsilon)”, or see the page Privacy and accuracy'
    >>> plain("choose `device=cpu`")
    'choose device = cpu (in Python or on the command line)'
    >>> plain("take it out, or `linked=False`")
    'take it out, or “Keep the rows of one person together” not ticked'
    """
    return app_api.spelled(prose(message), option=_option, function=_function)


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
