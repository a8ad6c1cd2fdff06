"""Help where one is: ten words in plain language, and why each decision matters for the people in the table."""

from collections.abc import Mapping

import streamlit as st

from synth.languages import Texts, _

WORDS = Texts(
    {
        "Synthetic table": "Made-up rows, drawn from a model of the real table. No row describes a person.",
        "Epsilon": "How much the result may depend on any one person. Small protects better and is less exact.",
        "Delta": "A tiny probability with which the promise of epsilon does not hold.",
        "Noise": "Random numbers that are added to every answer of the real table, so that no single person can be "
        "recognised.",
        "Budget": "The epsilon that all runs on the same people may spend together. What is spent does not come back.",
        "Ledger": "The record of all that was spent, line by line. An altered line is always detected.",
        "Description": "What anyone may know of the table without seeing its rows: columns, kinds, possible values.",
        "To vouch": "To say that a fact is public knowledge and does not come from the rows.",
        "Release": "What may leave: noisy answers and everything made from them. It can be shared freely.",
        "Steward only": "Compared with the real rows without noise. It stays with whoever may see those rows.",
    }
)
WHY = Texts(
    {
        "data": {
            "Which table": "The rows stay on this machine. Nothing about them leaves before you release it.",
        },
        "describe": {
            "Who vouches": "A fact taken from the rows can identify somebody: a largest age of 103 says that "
            "somebody is "
            "103. What you vouch for is published without noise.",
            "More than one row a person": "If every row counts as a person, each row is protected, but a person with "
            "many rows is not.",
            "Names and numbers of persons": "An identifier is never learnt: made-up keys stand in their place.",
            "The name of the dataset": "Tables about the same people share one budget. Under two names each person is "
            "exposed twice, and the ledger cannot see it.",
        },
        "budget": {
            "Epsilon": "It is the most that anybody can learn about one person, whatever else they know. Doubling "
            "epsilon squares the odds that an attacker can gain.",
            "What is hidden": "“One row in or out” hides even that somebody is in the table; the others hide only what "
            "their row says.",
            "Number of rows": "How many there are can be a secret, for instance of patients with a rare "
            "illness. So it is "
            "asked, not read.",
            "The cap": "Every further run adds to what can be learnt about the same people. The cap limits that sum, "
            "also for whoever comes after you.",
        },
        "method": {
            "Method": "The promise to the people is the same for all. Methods differ in what the result keeps: with "
            "columns counted alone, relations are lost, and conclusions from them would be wrong.",
        },
        "run": {
            "Spend": "From here on people's privacy is used up for good: a run that failed, or that you disliked, is "
            "charged too.",
            "Closing": "The run goes on without this window, and without this server; this page shows it again.",
        },
        "review": {
            "Looking": "What you see here is exact. Passed on, it reveals facts about real people without any noise.",
            "Choosing": "Taking the best of several results by these figures is a question to the real rows "
            "that nobody "
            "paid for. Release all of them, or choose by published figures.",
        },
        "release": {
            "Release": "Once it is out it cannot be taken back. The promise holds for ever, whatever is learnt "
            "elsewhere "
            "later; a wrong description also stays wrong for ever.",
        },
        "ledger": {
            "Totals": "What was spent on the same people adds up, whoever spent it. The total is what an "
            "attacker who has "
            "all results may learn.",
        },
        "approve": {
            "Approve": "You answer for the people in the table: look at the sum of epsilon, not at this run alone.",
        },
    }
)


def help_here(name: str) -> None:
    """Why the decisions of this page matter, and the ten words; on every page, in the same place."""
    with st.container(horizontal=True, gap="small"):
        if name in WHY:
            with st.popover(
                _("Why?"), icon=":material/help:", type="tertiary", help=_("What it means for the people.")
            ):
                st.markdown(_paragraphs(WHY[name]))
        with st.popover(_("Ten words"), icon=":material/menu_book:", type="tertiary", help=_("What the words mean.")):
            st.markdown(_paragraphs(WORDS))
            st.caption(_("F1 in a field shows its help."))


def _paragraphs(words: Mapping[str, str]) -> str:
    """A paragraph for each; one text, since every element is a message of its own on every page."""
    return "\n\n".join(f"**{_(word)}.** {said}" for word, said in words.items())
