"""A spend as tests write it."""

from synth.privacy.ledger.ledger import Spend


def charge(epsilon=0.1, *, dataset="census", delta=1e-5, **changed):
    facts = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system", "question": {}}
    return Spend(dataset=dataset, epsilon=epsilon, delta=delta, **(facts | changed))
