"""What the texts of a column would give away if they were published: keys, notes, dates, near-unique or rare values.

The rules look at names, shapes and how often values come; each is a plain rule of thumb that errs towards caution. They
decide what a draft proposes and what may be confirmed in bulk, never what a run does with a row.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth.schema.column import Risk

FEW = 20  # distinct values up to which a column may well hold codes
LONG_LIST = 100  # distinct values above which a list is no longer a questionnaire's
SMALL_TABLE = 20  # rows up to which distinct texts say nothing about a column being a key
RARE = 10  # rows below which a value says something of those who have it
WORDY, LONG = 4, 40  # words and characters of a typical note
MOSTLY = 0.9  # part of the values that a shape must fit
KEY_WORDS = {
    *("id", "ids", "key", "uuid", "guid", "serialno", "serial", "nbr", "number", "no", "nr", "nummer", "mrn", "pid"),
    *("piz", "pat", "ssn", "svnr", "ahv", "nhs", "iban", "ehr", "empi", "kvnr"),
}
PERSON_WORDS = {
    *("patient", "patients", "patienten", "person", "subject", "client", "customer", "member", "participant", "mrn"),
    *("pid", "piz", "pat", "respondent", "employee", "student", "citizen", "insured", "versicherter", "kunde"),
    *("klient", "ssn", "svnr", "ahv", "nhs", "empi", "kvnr", "case", "fall", "encounter", "visit", "admission"),
    "aufnahme",
}
CASES = {"case", "fall", "encounter", "visit", "admission", "aufnahme"}
CONTACTS = {
    *("name", "names", "surname", "firstname", "lastname", "vorname", "nachname", "nom", "email", "mail", "phone"),
    *("telephone", "telefon", "mobile", "address", "adresse", "anschrift", "street", "strasse"),
}
KEY_ENDS = re.compile(r"(nummer|number|identifier|schluessel|schlüssel|(?<=[a-zäöü]{3})nr)$")
KEY_JOINED = re.compile(
    r"^(patient(en)?|person(en)?|pers|pat|case|fall|user|client|kunden?|member|subject|visit|encounter|record|row|"
    r"household|hospital|study|unique|episode|admission|insurance|account)(id|key|no|nr|num)$"
)
BIRTH = re.compile(r"(birth|geburt|gebdat|\bgeb\b|\bdob\b|naissance|nascita|nacimiento)", re.IGNORECASE)
PLACES = {"zip", "zipcode", "plz", "postcode", "postal", "postleitzahl", "zcta"}
D, T = r"[0-9]{1,2}", r"([T ,]+[0-9]{1,2}[:.][0-9]{2}([:.][0-9]{2}([.,][0-9]+)?)?( ?[AaPp][Mm])?(Z|[+-][0-9:]{4,6})?)?"
MONTH = r"([Jj]an|[Ff]eb|[Mm](ar|är|rz|ai|ay)|[Aa]pr|[Jj]u[nl]|[Aa]ug|[Ss]ep|[Oo][ck]t|[Nn]ov|[Dd]e[cz])[a-zä]*\.?"
DATED = re.compile(
    rf"^({D}\.{D}\.([0-9]{{4}}|[0-9]{{2}})|{D}/{D}/([0-9]{{4}}|[0-9]{{2}})|{D}-{D}-([0-9]{{4}}|[0-9]{{2}})|"
    rf"[0-9]{{4}}[-/.]{D}[-/.]{D}|(18|19|20)[0-9]{{2}}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])|"
    rf"{D}[. -]+{MONTH}[ ,-]+([0-9]{{4}}|[0-9]{{2}})|{MONTH}[ -]+{D},?[ -]+[0-9]{{4}}){T}$"
).pattern
CODED = r"^[^\s]*[0-9][^\s]*$"  # one word that holds a digit


@dataclass(frozen=True, kw_only=True)
class ColumnTexts:
    """A column as the rules see it: its name, distinct texts that are not missing, and how many rows have each.

    ``missing``: the codes that occur, "" among them.
    """

    name: str
    values: list[str]
    counts: np.ndarray
    missing: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Distinct values."""
        return len(self.values)

    @property
    def repeats(self) -> bool:
        """Whether a value comes twice."""
        return self.size < self.rows

    @property
    def long(self) -> bool:
        """Whether there are too many values for a questionnaire's list."""
        return self.size > LONG_LIST


def named_like_key(name: str) -> bool:
    """Whether a column's name says that it identifies something.

    >>> [n for n in ("ID", "person_id", "HouseholdID", "serialno", "patient_nbr", "PAID") if named_like_key(n)]
    ['ID', 'person_id', 'HouseholdID', 'serialno', 'patient_nbr']
    >>> [n for n in ("MRN", "Fallnummer", "PatNr", "patientid", "covid", "grid") if named_like_key(n)]
    ['MRN', 'Fallnummer', 'PatNr', 'patientid']
    """
    parts = words(name)
    last = parts[-1] if parts else ""
    return last in KEY_WORDS or bool(KEY_ENDS.search(last) or KEY_JOINED.match(last))


def named_like_person(name: str) -> bool:
    """Whether a column's name says that it tells persons or cases apart, as ``patient`` or ``surname`` does.

    >>> [n for n in ("patient", "hospital_case", "e_mail", "patient_age", "city") if named_like_person(n)]
    ['patient', 'hospital_case', 'e_mail']
    """
    return bool({*PERSON_WORDS, *CONTACTS} & set(words(name)[-1:]))


def names_person(name: str) -> bool:
    """Whether a key's name speaks of persons rather than of their cases: the likelier unit of privacy.

    >>> names_person("patient_id"), names_person("MRN"), names_person("Fallnummer")
    (True, True, False)
    """
    parts = words(name)
    return bool((PERSON_WORDS - CASES) & set(parts)) or any(re.match(r"(patient|pers|pat|versich)", w) for w in parts)


def named_like_birth(name: str) -> bool:
    """Whether a column's name speaks of a birth.

    >>> named_like_birth("Geburtsdatum"), named_like_birth("birth_date"), named_like_birth("last_visit")
    (True, True, False)
    """
    return bool(BIRTH.search(name.replace("_", " ")))


def words(name: str) -> list[str]:
    """The words of a column's name in lower case.

    >>> words("HouseholdID_2")
    ['household', 'id', '2']
    """
    return [w.lower() for w in re.findall(r"[A-ZÄÖÜ]+(?![a-zäöü])|[A-ZÄÖÜ]?[a-zäöüß]+|\d+", name)]


def key_of_numbers(seen: ColumnTexts) -> bool:
    """Whether whole numbers are a key: by name and number of values, or by running on, or by one width throughout."""
    unique = not seen.repeats
    if named_like_key(seen.name) or named_like_person(seen.name):
        few = seen.size * 10 <= seen.rows or seen.rows <= SMALL_TABLE
        return (unique and named_like_key(seen.name)) or seen.long or (seen.size > FEW and not few)
    if seen.rows <= SMALL_TABLE:
        return False
    width = {len(v) for v in seen.values}
    numbers = np.array(seen.values, dtype=np.float64)
    if unique and len(width) <= 3 and numbers.max() - numbers.min() + 1 == len(numbers):  # one after the other
        return True
    return seen.long and width <= {min(width)} and min(width) >= 6 and seen.size * 5 > seen.rows


def risk_of_text(seen: ColumnTexts) -> Risk | None:
    """The first reason why a column's texts should not be published as they are; None when there is none."""
    if seen.size == 0 or (seen.size <= 2 and seen.rows > seen.size):
        return None
    if dated(seen.values):
        return "dates"
    if wordy(seen) and (seen.size > FEW or seen.size * 2 > seen.rows):
        return "text"
    if seen.rows <= SMALL_TABLE:
        return None
    if seen.long or (seen.size > FEW and seen.size * 10 > seen.rows):
        digits = pc.count_substring_regex(pa.array(seen.values, pa.string()), "[0-9]").to_numpy(zero_copy_only=False)
        numbered = np.median(digits) >= 6 or seen.size * 2 > seen.rows
        coded = numbered and _share(seen.values, CODED) >= MOSTLY
        if named_like_key(seen.name) or named_like_person(seen.name) or coded:
            return "key"
    if seen.size * 2 > seen.rows:
        return "unique"
    if seen.long:
        return "many"
    return "rare" if rare(seen) else None


def rare(seen: ColumnTexts) -> bool:
    """Whether few rows have some value: fewer than 10, in a small table fewer than a hundredth of its rows."""
    bound = RARE if seen.rows >= 100 * RARE else max(2, seen.rows // 100)
    return seen.rows > SMALL_TABLE and seen.size > 2 and bool((seen.counts < bound).any())


def dated(values: Sequence[str]) -> bool:
    """Whether nearly all texts are dates in some usual form.

    >>> dated(["03.07.1961", "1.12.70"]), dated(["2020-01-31 08:00"]), dated(["7 Mar 1990"]), dated(["10.5"])
    (True, True, True, False)
    """
    return bool(values) and _share(values, DATED) >= MOSTLY


def wordy(seen: ColumnTexts) -> bool:
    """Whether texts read like notes rather than like the names of categories: typically several words, or long."""
    array = pa.array(list(seen.values), pa.string())
    parts = pc.add(pc.count_substring_regex(pc.utf8_trim_whitespace(array), r"\s+"), 1).to_numpy(zero_copy_only=False)
    lengths = pc.utf8_length(array).to_numpy(zero_copy_only=False)
    return bool(np.median(parts) >= WORDY or np.median(lengths) > LONG)


def _share(values: Sequence[str], pattern: str) -> float:
    fits = pc.match_substring_regex(pa.array(list(values), pa.string()), pattern)
    return float(pc.sum(fits).as_py() or 0) / len(values)


def risk_of_list(name: str, values: Sequence[str]) -> Risk | None:
    """The risk of a list of values of which nobody knows any more how many rows had each.

    >>> risk_of_list("town", ["Rome", "Oslo", "Bern"]), risk_of_list("ward", [f"w{i}" for i in range(101)])
    (None, 'many')
    """
    if len(values) <= FEW:
        return None
    seen = ColumnTexts(name=name, values=list(values), counts=np.full(len(values), 2 * RARE * SMALL_TABLE))
    return risk_of_text(seen)
