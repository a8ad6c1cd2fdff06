"""`synth sample --multiple`: several tables of one release, for intervals."""

from pathlib import Path
from typing import Any

from synth.cli.answer import names
from synth.pipeline.reporting import Quiet


class CollectedNotes(Quiet):
    """Keeps what is noted, to be said in the end."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def note(self, message: str) -> None:
        self.messages.append(message)


def multiple_tables(
    release: Path,
    count: int,
    *,
    out: Path | None,
    num_rows: int | None,
    seed: int | None,
    columns: str | None,
    raw_text: bool,
    dialect: str,
) -> tuple[dict[str, Any], str]:
    """Draws the tables into a folder; what is to be said of it, as data and as text. Errors: as of ``multiple``."""
    from synth.pipeline.multiple import multiple_to

    release = release.parent if release.name == "model.json" else release  # as for a single sample
    place = out or Path("tables")
    notes = CollectedNotes()
    paths = multiple_to(
        release,
        place,
        count=count,
        num_rows=num_rows,
        seed=seed,
        columns=names(columns) or None,
        raw_text=raw_text,
        dialect=dialect,
        reporter=notes,
    )
    reported = {"tables": len(paths), "epsilon_spent": 0.0, "paths": {"tables": paths}, "notes": notes.messages}
    text = f"{len(paths)} tables: {place}; combine their estimates with synth.combine (docs/inference.md)"
    return reported, "\n".join([text, *notes.messages])
