"""The documents as their questions: what the release answers, with a place for each fact, and what the steward answers.

The answers' places are those of ``filled.places``. Every text is translated when a document is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Say:
    """A question that the release answers; ``several``: the answer about related tables, where it differs."""

    question: str
    answer: str
    several: str = ""


@dataclass(frozen=True)
class Ask:
    """A question that the form's ``fact`` answers; ``wanted``: what is asked for, of related tables ``several``."""

    question: str
    fact: str
    wanted: str
    several: str = ""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A document: its title (``several``: of related tables, where it differs), and parts of questions."""

    title: str
    several: str = ""
    intro: str
    parts: Mapping[str, tuple[Say | Ask, ...]]


NIST = Sheet(  # what NIST SP 800-226 asks of a guarantee, one question after the other
    title="Questions of NIST SP 800-226",
    intro="Guidelines for Evaluating Differential Privacy Guarantees, answered from the release card.",
    parts={
        "The guarantee": (
            Say("Which variant of differential privacy?", "{variant} (epsilon, delta)."),
            Say(
                "What are the parameters?",
                "Epsilon {epsilon}, delta {delta}; the accountant derives {derived} from the mechanisms. In odds: "
                "{meaning}.",
            ),
            Say("What is the unit of privacy?", "{unit}. {relation}: {relation_in_words}."),
            Say("Which quantities are not protected?", "{invariants}"),
            Ask(
                "Does one person stand in one row only?",
                "several_rows",
                "State whether a person may stand in several rows, or in other tables; where the unit is a row, a "
                "person of several rows is protected less.",
            ),
        ),
        "The algorithms": (
            Say("Which mechanisms add noise?", "{mechanisms}. The card lists the sensitivity and noise of each."),
            Say("What was measured?", "{measured}"),
            Say("Where do bounds and categories come from?", "{invariants}"),
            Say("How do mechanisms compose?", "{composition}"),
            Say("How was the budget divided?", "{spent}"),
            Say("Was tuning paid for?", "{tuning}"),
            Say("How was this release chosen among candidates?", "{selection}"),
            Say("What was done after the noise?", "{post_processing}"),
        ),
        "Utility and bias": (
            Say("How large is the noise?", "The publishable report has every released count with its interval."),
            Say(
                "What is lost besides?",
                "Whatever lies beyond the tables named above was not measured: the method's model fills it in, and no "
                "released figure says how well.",
            ),
            Ask(
                "Are small groups served worse?",
                "small_groups",
                "The steward's report compares groups of people with the real rows; it may not be published. State "
                "what may be said.",
            ),
        ),
        "Implementation and threats": (
            Say("Where does randomness come from?", "{randomness}. {after_release}."),
            Say("How are floating-point attacks met?", "{floating_point}"),
            Say("What of side channels?", "{side_channels}"),
            Say("Which software?", "{versions}"),
            Say("Who must be trusted?", "{trust}"),
            Ask(
                "How are the private rows secured?",
                "security",
                "Describe storage, access and logging of the source table.",
                "Describe storage, access and logging of the source tables.",
            ),
            Ask(
                "How were the rows collected?",
                "collection",
                "Describe collection, consent and minimisation: differential privacy does not protect rows before the "
                "release.",
            ),
        ),
        "What is not known": (
            Say(
                "Which other releases are there?",
                "Not known from the release: whether releases outside this ledger tell of the same persons; their "
                "epsilons add to this one.",
            ),
            Say("Which hazards remain?", "{hazards}"),
        ),
    },
)

DPIA = Sheet(  # Article 35(7) GDPR: description, necessity, risks, measures
    title="Data-protection impact assessment: the synthetic table",
    several="Data-protection impact assessment: the synthetic tables",
    intro="A chapter for the assessment under Article 35 GDPR. It answers what the release can answer.",
    parts={
        "Description of the processing": (
            Say(
                "What is done?",
                "{description} Measured of the private table: {measured}.",
                "{description} Measured of the private tables: {measured}.",
            ),
            Say("Which data?", "Columns {columns}."),
            Ask("For which purpose?", "intended_use", "State the purpose."),
            Ask("Who is responsible?", "controller", "Name the controller."),
            Ask(
                "On which legal basis?",
                "legal_basis",
                "State the legal basis of making and of publishing the synthetic rows, and that of special categories "
                "of data.",
            ),
        ),
        "Necessity and proportionality": (
            Ask(
                "Why is it necessary?",
                "necessity",
                "State why the purpose cannot be reached with less: tables, access on site, fewer columns.",
            ),
            Say(
                "What limits the disclosure?",
                "The unit of privacy is {unit}; epsilon {epsilon}, delta {delta}, charged as line {ledger_line} of a "
                "ledger before a row was read.",
            ),
        ),
        "Risks to the persons": (
            Say(
                "Singling out: is anybody's row in it?",
                "No row was copied. Whether a unit was in the private rows can be guessed with at most {odds} instead "
                "of 50 %, whatever else is known (but for delta).",
            ),
            Say("Linkability: can rows be linked?", "{linkage}"),
            Say(
                "Inference: what can be concluded?",
                "What is true of many can be inferred of one; the guarantee bounds only what a unit's own rows add.",
            ),
            Say("What is not protected?", "{invariants}"),
            Say(
                "Which other releases are there?",
                "Every release about the same persons adds to the risk; those of the ledger are summed there.{in_all}",
            ),
            Ask("How grave, how likely?", "severity", "Judge severity and likelihood for the groups concerned."),
        ),
        "Measures against the risks": (
            Say("Against reconstruction and membership", "Noise before anything else: {mechanisms}."),
            Say("Against weak randomness", "{randomness}."),
            Say("Against attacks on arithmetic", "{floating_point}"),
            Say("Against choosing by looking", "Chosen among candidates: {selection}."),
            Ask("Who approved it?", "approver", "Name who approved the release, and when."),
            Ask("Who has access?", "access", "State who has access to the source, and how long it is kept."),
        ),
        "Outcome of the assessment": (
            Ask("Data-protection officer's advice", "advice", "What the officer advised."),
            Ask("Views of the persons concerned", "views", "What they said, or why they were not asked."),
            Ask("Residual risk", "residual_risk", "To be judged; Article 36 if it is high."),
        ),
    },
)

FIVE_SAFES = Sheet(  # two of them are facts of the release, three are the steward's
    title="Five Safes statement",
    intro="Safe data and safe outputs follow from the release; the others depend on how it is handed over.",
    parts={
        "Safe data": (
            Say("What was done to the data?", "{description} In odds: {meaning}."),
            Say("What remains of identifiers?", "{linkage}"),
            Say("What is not protected?", "{invariants}"),
        ),
        "Safe outputs": (
            Say(
                "May results be published without a check?",
                "What is computed from the synthetic rows is post-processing of the release: the guarantee stated "
                "holds for it too, without further disclosure control.",
            ),
            Say(
                "May results be taken for those of the source?",
                "Not without an interval for the noise; the publishable report has that of each released count; "
                "several tables drawn at once and `synth.combine` give one where the method is mixture.",
                "Not without an interval for the noise; the publishable report has that of each released count.",
            ),
        ),
        "Safe projects": (Ask("For which use?", "intended_use", "State the uses that are allowed."),),
        "Safe people": (
            Ask("Who may use it?", "recipients", "State whether everybody may use it, or who is admitted and how."),
        ),
        "Safe settings": (
            Ask(
                "Where may it be used?",
                "settings",
                "State whether there are conditions on the place; the guarantee does not depend on any.",
            ),
        ),
    },
)

DATA_CARD = Sheet(  # what a user of the table wants to know first; rows and columns are put in
    title="Data card: {name}",
    intro="{description}",
    parts={
        "At a glance": (
            Say("How was it made?", "{created}, method {method}"),
            Say("What was measured?", "{measured}"),
            Say("What is the unit of privacy?", "{unit}"),
            Say("Which rules across columns?", "{rules}"),
            Ask("Published by whom?", "curators", "Name who publishes it."),
            Ask("Intended use", "intended_use", "State what it is meant for, and what not."),
            Ask("Which region?", "region", "State which region the source covers."),
            Ask("Whom can I ask?", "contact", "Say whom to ask."),
            Ask("Which licence?", "licence", "State the licence."),
            Ask("Which source?", "source", "Describe the source: population, time, how it was sampled."),
        ),
        "Not to be used for": (
            Say("Single persons", "{made_up}. Nothing about anybody can be looked up."),
            Say("Fine relations", "What lies beyond the tables measured is the model's guess."),
            Say("Rare groups", "Counts of the size of their noise, which the report states, tell nothing."),
        ),
    },
)

ONS = Sheet(  # where the table stands on the ONS's spectrum of synthetic data, by what was measured
    title="Place on the ONS synthetic data spectrum",
    intro="The Office for National Statistics orders synthetic tables from structural to replica, by what they keep of "
    "the source; disclosure risk rises along it. The order knows no noise, so the guarantee stands beside.",
    parts={
        "Its place": (
            Say("By what was measured", "Synthetically-augmented {level}."),
            Say("What was measured?", "{measured}"),
            Say("What is guaranteed?", "Epsilon {epsilon}, delta {delta}: {meaning}."),
            Say(
                "Is it a replica?",
                "No: no row is copied or altered from a real one; every row is drawn from a model of noisy answers.",
            ),
            Ask(
                "Confirmed by whom?",
                "spectrum",
                "The level is an institution's judgement: confirm it, or state another with the reason.",
            ),
        ),
    },
)
LEVELS = (  # by the most columns of a table that was measured
    "depends on the method's release, which holds no counts",
    "plausible: single columns follow the source, relations between them do not",
    "multivariate plausible: single columns and tables of two columns follow the source, within noise",
    "multivariate detailed: some tables of {most} columns follow the source too, within noise",
)

PEOPLE = Sheet(  # for the people whose rows the source holds, in plain language
    title="What this means for you",
    intro="This page is for the people whose data were used.",
    parts={
        "In short": (
            Say(
                "Is there a row about me?",
                "No. The table is made up. A computer learnt blurred totals from the real data, and drew rows that fit "
                "the totals. One may look like yours; that is by chance.",
                "No. The tables are made up. A computer learnt blurred totals from the real data, and drew rows that "
                "fit the totals. One may look like yours; that is by chance.",
            ),
            Say("Can somebody find out about me?", "There is a limit that can be proved. {guesses}"),
            Say(
                "What can still be learnt?",
                "What is true of many people. If most people who do a job earn much, the made-up rows show it, and "
                "someone who knows your job may guess that you do too. That would be the same without your data.",
            ),
            Say("Which information is in it?", "{columns}"),
        ),
        "From the people who keep the data": (
            Ask("Why was it made?", "intended_use", "Say in a sentence why it was made."),
            Ask("Whom can I ask?", "contact", "Name a person or an office."),
            Ask(
                "Can I object?",
                "objection",
                "Say what rights people have and how to use them. A table that was published cannot be taken back.",
            ),
        ),
    },
)
LIMIT = (
    "Suppose somebody thinks the chances even {what}. Seeing what is published here can make them at most {sure} sure, "
    "but for an accident of a probability of {accident}."
)
BY_ROW = "Rows are protected one by one: whoever has several is protected less."
YOURS = {  # what may be guessed, for those whom it may be about: by the guess, and by the unit
    "whether_row": "whether your row was used at all",
    "whether_person": "whether your rows were used at all",
    "whether_key": "whether your key of {root}, with all that belongs to it, was used at all",
    "which_row": "which of two things the private table says of your row",
    "which_person": "which of two things the private table says of you",
    "which_key": "which of two things the private tables say of your key of {root}, with all that belongs to it",
}
