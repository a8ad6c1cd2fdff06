"""The stages of long runs, in words for people."""

WORDS = {
    "": "Starting",
    "check": "Checking the request (nothing spent yet)",
    "read": "Reading the table",
    "learn": "Learning facts under noise",
    "measure": "Asking under noise",
    "fit": "Fitting the model to the noisy answers",
    "sample": "Drawing synthetic rows",
    "write": "Writing the files",
    "open": "Reading both tables",
    "compare": "Comparing columns and pairs",
    "predict": "Training models that predict",
    "detect": "Telling synthetic rows from real ones",
    "copies": "Looking for copies",
    "attack": "Trying attacks",
    "shadow": "Running the method with and without a row",
}


def stage_in_words(name: str) -> str:
    """A stage as people say it; one that has no words yet by its name.

    >>> stage_in_words("fit"), stage_in_words("newest")
    ('Fitting the model to the noisy answers', 'newest')
    """
    return WORDS.get(name, name)
