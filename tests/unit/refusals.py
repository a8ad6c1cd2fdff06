"""Runs that must be refused: in one line, with an exit code, before anything is spent."""

from synth.privacy.ledger.ledger import Ledger


def run(command, table, schema, tmp_path, *more, epsilon=1.0, delta=1e-5):
    out = tmp_path / "out"
    code, said, stderr = command(
        f"run {table} --schema {schema} --out {out} --json --method independent --epsilon",
        epsilon,
        "--delta",
        delta,
        *more,
    )
    return code, said, stderr, out


def errors(message: str) -> list[str]:
    return [line for line in message.splitlines() if line.startswith("synth: ")]


def assert_refused(code, said, reported, out, *, codes=(2,), words=()):
    assert code in codes, reported
    assert said == ""
    assert "Traceback" not in reported
    assert len(errors(reported)) == 1, reported
    for word in words:
        assert word in errors(reported)[0]
    assert not out.exists()
    assert all(e.kind != "spend" for e in Ledger().entries())
