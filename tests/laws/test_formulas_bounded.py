"""A formula is a stranger's program: whatever it says, each place that reads one is done within seconds and 2 GiB.

In a process of its own, which the system ends: a text that takes longer could not be stopped from within.
"""

import json
import random
import resource
import string
import subprocess
import sys

import pytest

from synth.errors import SynthError
from synth.pipeline import uses as pipeline_uses
from synth.schema import uses
from synth.verified import formula
from tests.made import a_schema, codes, number

SECONDS, MEMORY = 3, 2 << 30
SCHEMA = a_schema(
    x=number(0, 1 << 20),
    y=number(0, 1000, decimals=3),
    sex=codes("m", "f"),
    **{c: codes("0", "1") for c in string.ascii_lowercase[:22]},
)
LETTERS = list(string.ascii_lowercase[:22])
HOSTILE = {
    "a power within a sum": "I(x + 9**((8)**(8)))",
    "a power of powers": "(4)**(4)**(4)**(4)",
    "a power in brackets": "x**(4)**(4)",
    "a power of 99": "I(x ** 99)",
    "powers of floats": "I(x + 9.0**(9.0**(9.0**9.0)))",
    "all products": "*".join(LETTERS),
    "265 letters": f"({'+'.join(LETTERS)})*({'+'.join(LETTERS)})*({'+'.join(LETTERS)})",
    "the fourth power": f"({'+'.join(LETTERS)})**4",
    "powers of the fourth": "((a+b+c+d)**4)**4",
    "nested": "/".join(LETTERS * 20),
    "within": " in ".join(LETTERS * 9),
    "colons": ":".join(["x"] * 400),
    "signs": "+-" * 400 + "x",
    "brackets": "(" * 450 + "x" + ")" * 450,
    "functions": "log(" * 180 + "x" + ")" * 180,
    "sums of one column": f"I({'+'.join(['x'] * 400)})",
    "exponentials": "+".join(f"exp(x*{i})" for i in range(90)),
    "a long number": "I(x + " + "9" * 900 + ")",
    "an infinite number": "I(x + 1e999)",
    "products of long numbers": f"I(x * {'*'.join(['9' * 90] * 10)})",
    "a shift": "I(x + (1 << 99999999))",
    "texts": "I('a' * 999999999)",
    "open quotes": "`x" * 300,
    "stages": "[a ~ " * 100 + "b" + "]" * 100,
    "parts": " | ".join(LETTERS),
    "a call": "__import__('time').sleep(99)",
}
PARTS = ["x", "y", "sex", "a", "4", "(", ")", "**", "*", "/", ":"]
PARTS += ["+", "-", " in ", "I(", "log(", "C(", "9", "1e9", "^"]


def texts() -> dict[str, str]:
    rng = random.Random(7)
    chance = {f"chance {i}": "".join(rng.choices(PARTS, k=rng.randint(5, 300)))[:990] for i in range(150)}
    return HOSTILE | chance


READERS = {
    "design": lambda t: formula.design(t, SCHEMA, place="formula"),
    "outcome": lambda t: formula.outcome(t, SCHEMA, None, place="formula"),
    "column_of": formula.column_of,
    "a use": lambda t: pipeline_uses.with_uses(SCHEMA, [f"y ~ {t}"]),
    "a use of outcome": lambda t: pipeline_uses.with_uses(SCHEMA, [f"{t} ~ x"]),
    "a line of text": lambda t: uses.of_text(t),
    "a plan": lambda t: uses.of_plan(f"{t}\n" * 3, list(SCHEMA.columns)),
    "related": lambda t: uses.in_quotes(f"a.y ~ {t}", ["a.y", "a.x"]),
}


def main(reader: str) -> None:
    """Prints what each text took; the limits end what would not."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    begun = READERS[reader]
    formula.design("x", SCHEMA, place="loads what it needs")
    for name, text in texts().items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        resource.setrlimit(resource.RLIMIT_CPU, (int(before) + SECONDS + 1, resource.RLIM_INFINITY))
        print(json.dumps(name), end=" ", flush=True)
        try:
            begun(text)
            said = "taken"
        except SynthError as error:
            said = "refused" if "\n" not in str(error) else "more than one line"
        took = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
        print(said, "in time" if took < SECONDS else f"in {took:.1f} s", flush=True)


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_formulas_is_done_in_time_whatever_they_say(reader):
    done = subprocess.run(
        [sys.executable, "-m", "tests.laws.test_formulas_bounded", reader], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert len(lines) == len(texts())
    assert not [line for line in lines if not line.endswith(("taken in time", "refused in time"))]


def test_whatever_is_calculated_is_calculated_in_floats():
    """Ten million digits of a whole number would be the work of one power."""
    made = formula.design("I(x * 2 ** 4) + I(x / ((9.0) ** ((9.0) ** (9.0))))", SCHEMA, place="formula")
    assert made.factors[0].table.dtype == float


if __name__ == "__main__":
    main(sys.argv[1])
