"""Whether a CSV file is refused for a row that is too long follows from that row alone, not from those around it."""

import pytest

from synth.errors import InputError
from synth.schema.dialect import Dialect
from synth.sources.formats import csv_files

LONGEST, READ = 4096, 1000  # in place of 64 MiB and 8 MiB at a time


def refused(path, before: int, long: int, *, quoted: bool) -> bool:
    """Whether a row of so many bytes is, behind a row of ``before`` bytes."""
    cell = b'"' + b"y\n" * (long // 2 - 1) + b'"' if quoted else b"y" * long
    path.write_bytes(b"a\n" + (b"x" * before + b"\n" if before else b"") + cell + b"\n" + b"z\n" * 300)
    try:
        return not sum(len(b) for b in csv_files.blocks(path, Dialect(), gathered=READ, longest=LONGEST))
    except InputError as error:
        return "a row is longer" in str(error)


@pytest.mark.parametrize("quoted", [False, True])
def test_a_rows_length_is_judged_alone(tmp_path, quoted):
    for long in (LONGEST - 2, LONGEST, LONGEST + 2, LONGEST + READ // 2, LONGEST + READ - 4, LONGEST + 2 * READ):
        reported = {refused(tmp_path / "t.csv", before, long, quoted=quoted) for before in range(0, 2 * READ, 53)}
        assert reported == {long > LONGEST}, long
