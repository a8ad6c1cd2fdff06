"""Documents in English: answers from the card, and what is left for the steward to write."""

from synth.release.card.limits import MADE_UP
from synth.report.documents.facts import Document, Facts, Line, kind_of

NOT_KNOWN = "Not known from the release: "


def fact(question: str, answer: str) -> Line:
    """A line that the release answers."""
    return Line(question=question, answer=answer)


def nist(f: Facts) -> Document:
    """What NIST SP 800-226 asks of a differential-privacy guarantee, one question after the other."""
    a = f.about
    return Document(
        title="Questions of NIST SP 800-226",
        intro="Guidelines for Evaluating Differential Privacy Guarantees, answered from the release card.",
        parts=(
            (
                "The guarantee",
                (
                    fact("Which variant of differential privacy?", f"{a['variant']} (epsilon, delta)."),
                    fact(
                        "What are the parameters?",
                        f"Epsilon {a['epsilon']:g}, delta {a['delta']:g}; the accountant "
                        f"derives {a['epsilon_derived']:.6g} from the mechanisms. In odds: {a['meaning']}.",
                    ),
                    fact(
                        "What is the unit of privacy?",
                        f"{f.unit[0].upper()}{f.unit[1:]}. {a['relation']}: {a['relation_in_words']}.",
                    ),
                    fact("Which quantities are not protected?", f.invariants),
                    f.stated(
                        "Does one person stand in one row only?",
                        "several_rows",
                        "State whether a person may stand in several rows, or in "
                        "other tables; where the unit is a row, a person of several rows is protected less.",
                    ),
                ),
            ),
            (
                "Algorithms",
                (
                    fact(
                        "Which mechanisms add noise?",
                        f"{f.mechanisms}. The card lists the sensitivity and noise of each.",
                    ),
                    fact("What was measured?", f.measured),
                    fact("Where do bounds and categories come from?", f.invariants),
                    fact("How do mechanisms compose?", a["composition"]),
                    fact("How was the budget divided?", f.spent),
                    fact("Was tuning paid for?", a["tuning"]["statement"]),
                    fact("How was this release chosen among candidates?", a["selection"]["in_words"]),
                    fact("What was done after the noise?", a["post_processing"]),
                ),
            ),
            (
                "Utility and bias",
                (
                    fact(
                        "How large is the noise?", "The publishable report has every released count with its interval."
                    ),
                    fact(
                        "What is lost besides?",
                        "Whatever lies beyond the tables named above was not measured: the "
                        "method's model fills it in, and no released figure says how well.",
                    ),
                    f.stated(
                        "Are small groups served worse?",
                        "small_groups",
                        "The steward's report compares groups of people with the real "
                        "rows; it may not be published. State what may be said.",
                    ),
                ),
            ),
            (
                "Implementation and threats",
                (
                    fact(
                        "Where does randomness come from?",
                        f"{a['randomness']['privacy']}. {a['randomness']['after_release']}.",
                    ),
                    fact("How are floating-point attacks met?", str(a["floating_point"])),
                    fact("What of side channels?", a["side_channels"]),
                    fact("Which software?", ", ".join(f"{n} {v}" for n, v in a["versions"].items())),
                    fact("Who must be trusted?", a["trust"]),
                    f.stated(
                        "How are the private rows secured?",
                        "security",
                        f"Describe storage, access and logging of the source {f.of('table', 'tables')}.",
                    ),
                    f.stated(
                        "How were the rows collected?",
                        "collection",
                        "Describe collection, consent and minimisation: differential "
                        "privacy does not protect rows before the release.",
                    ),
                ),
            ),
            (
                "What is not known",
                (
                    fact(
                        "Other releases",
                        NOT_KNOWN + "whether releases outside this ledger tell of the same persons; "
                        "their epsilons add to this one.",
                    ),
                    fact("Hazards", " ".join(a["hazards"])),
                ),
            ),
        ),
    )


def five_safes(f: Facts) -> Document:
    """The Five Safes: two of them are facts of the release, three are the steward's."""
    return Document(
        title="Five Safes statement",
        intro="Safe data and safe outputs follow from the release; the others depend on how it is handed over.",
        parts=(
            (
                "Safe data",
                (
                    fact(
                        "What was done to the data?",
                        f"{f.description} {f.about['meaning'][:1].upper()}{f.about['meaning'][1:]}.",
                    ),
                    fact("What remains of identifiers?", str(f.about.get("linkage", "Nothing is stated."))),
                    fact("What is not protected?", f.invariants),
                ),
            ),
            (
                "Safe outputs",
                (
                    fact(
                        "May results be published without a check?",
                        "What is computed from the "
                        f"{f.of('table', 'tables')} is post-processing of the release: the guarantee stated holds for "
                        "it too, without further disclosure control.",
                    ),
                    fact(
                        "May results be taken for those of the source?",
                        "Not without an interval for the noise; "
                        "the publishable report has that of each released count"
                        + f.of(
                            "; several tables drawn at once and `synth.combine` give one where the method is mixture.",
                            ".",
                        ),
                    ),
                ),
            ),
            ("Safe projects", (f.stated("For which use?", "intended_use", "State the uses that are allowed."),)),
            (
                "Safe people",
                (
                    f.stated(
                        "Who may use it?",
                        "recipients",
                        f"State whether the {f.of('table is', 'tables are')} open, or who is admitted and how.",
                    ),
                ),
            ),
            (
                "Safe settings",
                (
                    f.stated(
                        "Where may it be used?",
                        "settings",
                        "State whether there are conditions on the place; the guarantee does not depend on any.",
                    ),
                ),
            ),
        ),
    )


def data_card(f: Facts) -> Document:
    """What a user of the table wants to know first."""
    columns = [
        (
            f.of("Columns", f"Columns of {t.name}"),
            tuple(
                fact(n, kind_of(c) + (f". {c.description}" if c.description else ""))
                for n, c in t.schema.columns.items()
            ),
        )
        for t in f.tables
    ]
    return Document(
        title=f"Data card: {f.name}",
        intro=f.description,
        parts=(
            (
                "Overview",
                (
                    *_rows(f),
                    fact("Made", f"{f.card['created']}, method {f.card['method']}"),
                    fact(f"Measured of the private {f.of('table', 'tables')}", f.measured),
                    fact("Unit of privacy", f.unit),
                    fact(
                        "Rules across columns",
                        "; ".join(
                            f"{c['rule']}: kept by {100 * c['kept']:.4g} % of the rows" if "rule" in c else str(c)
                            for c in f.card.get("constraints") or []
                        )
                        or "none were stated",
                    ),
                    f.stated("Published by", "curators", "Name who publishes it."),
                    f.stated("Intended use", "intended_use", "State what it is meant for, and what not."),
                    f.stated("Region", "region", "State which region the source covers."),
                    f.stated("Contact", "contact", "Say whom to ask."),
                    f.stated("Licence", "licence", "State the licence."),
                    f.stated("Source", "source", "Describe the source: population, time, how it was sampled."),
                ),
            ),
            *columns,
            (
                "Not to be used for",
                (
                    fact(
                        "Single persons", f"{MADE_UP[0].upper()}{MADE_UP[1:]}. Nothing about anybody can be looked up."
                    ),
                    fact("Fine relations", "What lies beyond the tables measured is the model's guess."),
                    fact("Rare groups", "Counts of the size of their noise, which the report states, tell nothing."),
                ),
            ),
        ),
    )


SPECTRUM = {
    0: "depends on the method's release, which holds no counts",
    1: "plausible: single columns follow the source, relations between them do not",
    2: "multivariate plausible: single columns and tables of two columns follow the source, within noise",
}
DETAILED = "multivariate detailed: some tables of {} columns follow the source too, within noise"


def ons(f: Facts) -> Document:
    """Where the table stands on the ONS's spectrum of synthetic data, by what was measured."""
    level = SPECTRUM.get(f.most_columns, DETAILED.format(f.most_columns))
    return Document(
        title="Place on the ONS synthetic data spectrum",
        intro="The Office for National Statistics orders synthetic tables from structural to replica, by what they "
        "keep of the source; disclosure risk rises along it. The order knows no noise, so the guarantee stands beside.",
        parts=(
            (
                "Place",
                (
                    fact("By what was measured", f"Synthetically-augmented {level}."),
                    fact("Measured", f.measured),
                    fact(
                        "Guarantee", f"epsilon {f.card['epsilon']:g}, delta {f.card['delta']:g}: {f.card['meaning']}."
                    ),
                    fact(
                        "Replica?",
                        "No: no row is copied or altered from a real one; every row is drawn from a model of "
                        "noisy answers.",
                    ),
                    f.stated(
                        "Confirmed by",
                        "spectrum",
                        "The level is an institution's judgement: confirm it, or state another with the reason.",
                    ),
                ),
            ),
        ),
    )


def _rows(f: Facts) -> list[Line]:
    """How many, and which belong to which."""
    if len(f.tables) == 1:
        return [fact("Rows", f"{f.card['rows']['synthetic']:,} synthetic ones")]
    return [fact(f"Rows of {t.name}", t.rows) for t in f.tables]


def _limit(what: str, sure: str, accident: float) -> str:
    """A guess and how far it can rise, for those whom it may be about."""
    whose = (
        what.replace("one row", "your row")
        .replace("one key", "your key")
        .replace("one person", "you")
        .replace("you was", "you were")
    )
    return (
        f"Suppose somebody thinks the chances even {whose}. Seeing what is published here can make them "
        f"at most {sure} sure, but for an accident of a probability "
        f"of {accident:.2g}."
    )


def people(f: Facts) -> Document:
    """For the people whose rows the source holds, in plain language."""
    return Document(
        title="What this means for you",
        intro="This page is for the people whose data were used.",
        parts=(
            (
                "In short",
                (
                    fact(
                        "Is there a row about me?",
                        f"No. The {f.of('table is', 'tables are')} made up. A "
                        "computer learnt blurred totals from the real data, and drew rows that fit the totals. "
                        "One may look like yours; that is by chance.",
                    ),
                    fact(
                        "Can somebody find out about me?",
                        "There is a limit that can be proved. "
                        + " ".join(_limit(*g) for g in f.guesses)
                        + (
                            " Rows are protected one by one: whoever has several is protected less."
                            if f.card["unit"] == "row"
                            else ""
                        ),
                    ),
                    fact(
                        "What can still be learnt?",
                        "What is true of many people. If most people who do a job earn much, "
                        f"the {f.of('table shows', 'tables show')} it, and someone who knows your job may guess that "
                        "you do too. That would be the same without your data.",
                    ),
                    fact("Which information is in it?", ", ".join(f.schema.retained().columns)),
                ),
            ),
            (
                "From the people who keep the data",
                (
                    f.stated(
                        "Why was it made?",
                        "intended_use",
                        f"Say in a sentence why the {f.of('table was', 'tables were')} made.",
                    ),
                    f.stated("Whom can I ask?", "contact", "Name a person or an office."),
                    f.stated(
                        "Can I object?",
                        "objection",
                        "Say what rights people have and how to use them. A table that was published "
                        "cannot be taken back.",
                    ),
                ),
            ),
        ),
    )
