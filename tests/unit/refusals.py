"""Runs that must be refused: in one line, with an exit code, before anything is spent."""

from synth.privacy.ledger.ledger import Ledger


def run(command, table, schema, tmp_path, *more, epsilon=1.0, delta=1e-5):
    out = tmp_path / "out"
    code, said, told = command(
        "run",
        table,
        "--schema",
        schema,
        "--epsilon",
        epsilon,
        "--delta",
        delta,
        "--out",
        out,
        "--json",
        "--method",
        "independent",
        *more,
    )
    return code, said, told, out


def errors(told: str) -> list[str]:
    return [line for line in told.splitlines() if line.startswith("synth: ")]


def assert_refused(code, said, told, out, *, codes=(2,), words=()):
    assert code in codes, told
    assert said == ""
    assert "Traceback" not in told
    assert len(errors(told)) == 1, told
    for word in words:
        assert word in errors(told)[0]
    assert not out.exists()
    assert all(e.kind != "spend" for e in Ledger().entries())
