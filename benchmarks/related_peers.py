"""What related.py compares with: google/dpsynth."""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from public_tables import texts
from related_cases import Case
from related_scores import Coder, coded, scores
from runner import ROOT, answer_of, sure

from synth.privacy.accounting.composition import calibrate

DELTA = 1e-6


@dataclass(frozen=True)
class Rival:
    """google/dpsynth in an environment of its own; ``inside``: what it uses for its tables."""

    python: Path
    inside: str

    @property
    def name(self) -> str:
        """As it stands in the results."""
        return f"dpsynth, {self.inside}"

    def measured(self, case: Case, coder: Coder, real, epsilon: float) -> dict:
        """Scores of the tables that it makes within the same noise budget."""
        rho = calibrate(epsilon, DELTA) ** 2 / 2
        with TemporaryDirectory() as folder:
            place = Path(folder)
            for name, table in case.tables.items():
                table.to_csv(place / f"{name}.csv", index=False)
            (place / "schema.json").write_text(json.dumps(case.schema))
            command = [self.python, "-W", "ignore", ROOT / "benchmarks" / "related_rival.py", place]
            result = sure(answer_of([*command, "--rho", repr(rho), "--method", self.inside]))
            made = {t: texts(place / f"made-{t}.csv") for t in case.tables}
        return {"scores": scores(real, coded(case, made, coder)), **result}
