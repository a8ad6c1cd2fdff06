"""One canonical form of a name: what counts as the same dataset, whoever wrote it and however.

A budget is kept under a name. Two spellings that a person takes for one name must be one name, or the second has a
budget of its own: composed and decomposed accents, capitals, full-width letters, letters of another script that look
the same, characters that cannot be seen.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from synth.errors import UsageError

MOST_PREFIX = 8  # characters that a grouping by beginnings may keep
MAX_CATEGORIES = 50_000  # of a column; above this max_categories must confirm it

FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")  # of a table that becomes a file, anywhere
LONGEST = 4096  # a path may be a name
# A pattern of what is not seen when drawn: format characters (soft hyphen, zero width, direction), those that Unicode
# lets programs ignore, and a blank sign. NFKC brings none of them out of others.
UNSEEN = (
    "["
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    "]"
)
# Scripts whose letters look like one another's; within a word only one of them may stand.
ALIKE = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"}
# All that names may be written in: those that Unicode recommends for identifiers. Of others, such as Lisu and Cherokee,
# whole words look like Latin ones.
SCRIPTS = re.compile(
    "ARABIC|ARMENIAN|BENGALI|BOPOMOFO|CJK|CYRILLIC|DEVANAGARI|ETHIOPIC|GEORGIAN|GREEK|GUJARATI|GURMUKHI|HANGUL|HEBREW|"
    "HIRAGANA|IDEOGRAPHIC|KANNADA|KATAKANA(-HIRAGANA)?|KHMER|LAO|LATIN|MALAYALAM|MYANMAR|ORIYA|SINHALA|TAMIL|TELUGU|"
    "THAANA|THAI|TIBETAN|COMBINING|MODIFIER"
)
SMALL_CAPITALS = "ᴀʙᴄᴅᴇꜰɢʜᴊᴋᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ"
# Letters, small as the canonical form has them, that look in small or capital print like the Latin one below them.
LOOKS = str.maketrans(
    "авекмнорстухіјѕԁԛԝһӏьгпү" + "αβεζηικμνορτυχγωϲϳ" + "ագզհյոռսցւքօտլ" + "ıɑɡɩʟȷ" + SMALL_CAPITALS + "‐‑‒–—−’‘´`",
    "abekmhopctyxijsdqwhlbrny"
    + "abezhikmvoptuxywcj"
    + "wqqhjnnugifosl"
    + "iagilj"
    + "abcdefghjkmnopqrstuvwyz"
    + "------''''",
)


def canonical(text: str) -> str:
    """The form by which names are compared: NFKC, case-folded, runs of spaces as one. ``text``: any; none is refused.

    Privacy: public only.

    >>> canonical("Cafe\\u0301  ＳＵＲＶＥＹ") == canonical("café survey")
    True
    """
    if text.isascii():
        return " ".join(text.lower().split())
    for _ in range(2):  # folding may undo composition, and composing may bring out a letter to fold
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.split())


def twins(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two names that are one in canonical form, None where none are: engines take PID for pid.

    >>> twins(["pid", "age", "PID"]), twins(["pid", "pid2"])
    (('pid', 'PID'), None)
    """
    first: dict[str, str] = {}
    for name in names:
        if (form := canonical(name)) in first:
            return first[form], name
        first[form] = name
    return None


def checked(text: str, what: str) -> str:
    """The name with accents composed, otherwise as written.

    Errors: UsageError unless it is 1 to 4096 characters that can be seen, without space at either end.
    """
    plain = isinstance(text, str) and 0 < len(text) <= LONGEST and text == text.strip() and text.isprintable()
    if not plain or re.search(UNSEEN, text) or not canonical(text).isprintable():
        raise UsageError(
            "{}: must be 1 to {} printable characters that can be seen, no space at either end; choose another",
            what,
            LONGEST,
        )
    return unicodedata.normalize("NFC", text)


def mixed(text: str) -> str | None:
    """A word whose letters come from scripts that look alike, or that names are not written in; None without any.

    >>> mixed("census"), mixed("c\\u0435nsus") is None, mixed("\\ua4da\\ua4f3\\ua4d1") is None
    (None, False, False)
    """
    for is_word, letters in groupby(canonical(text), lambda c: c.isalpha() or unicodedata.combining(c) > 0):
        word = "".join(letters)
        scripts = set() if word.isascii() else {unicodedata.name(c, "?").split()[0] for c in word}
        if is_word and (len(scripts & ALIKE) > 1 or not all(map(SCRIPTS.fullmatch, scripts))):
            return word
    return None


def double(text: str, known: Iterable[str]) -> str | None:
    """The known name that looks like this one and is another, None where there is none.

    Only letters of other scripts, dashes and quotes are compared; 1 and l in one script stay two characters.

    >>> double("\\u0441\\u043e\\u0440", ["cop", "other"])
    'cop'
    """
    name = canonical(text)
    looks = name.translate(LOOKS)
    plain = name.isascii() and looks == name
    for other in known:
        if plain and other.isascii() and "`" not in other:
            continue  # two names of plain letters look alike only where they are equal
        form = canonical(other)
        if form != name and form.translate(LOOKS) == looks:
            return other
    return None


def is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8: JSON can name halves of characters, which no file can hold.

    >>> is_text("a"), is_text(chr(0xD800))
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def dataset_of(path: str | Path, *, book: Any = None) -> str:
    """The file's (or folder's) name up to its first point.

    ``book``: where the ledger knows the file under its whole path, as all files once were, that name stays.

    Privacy: public only.

    >>> dataset_of("data/town_survey.csv.gz")
    'town_survey'
    """
    whole = Path(path).resolve()
    if book is not None and book.summary(str(whole)):
        return str(whole)
    return whole.name.split(".")[0].strip() or str(whole)
