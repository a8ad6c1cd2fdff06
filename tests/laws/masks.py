"""What may differ from run to run, masked."""

import re
from pathlib import Path

VOLATILE = {"created", "time", "updated", "seconds", "seconds_left", "seconds_total", "peak_mib", "pid"}
VOLATILE |= {"pid_started", "writer", "writer_started", "seed", "hash", "previous", "run"}
VOLATILE |= {"synthetic_sha256", "synthetic_dialect_sha256", "arrays_sha256", "ledger_hash", "fingerprint"}


def still(plain, place: Path):
    """JSON data without times, process numbers, random names and hashes of noised files; the folder's name masked."""
    if isinstance(plain, dict):
        return {k: still(v, place) for k, v in plain.items() if k not in VOLATILE}
    if isinstance(plain, list):
        return [still(v, place) for v in plain]
    return plain.replace(str(place), "PLACE") if isinstance(plain, str) else plain


def masked(text: str, place: Path) -> str:
    """Text without the folder's name, seconds and mebibytes, and without what is worked out from noised answers."""
    reported = re.sub(r"[0-9.]+ (s|MiB)\b", r"N \1", text.replace(str(place), "PLACE"))
    reported = re.sub(r"[0-9.e+]+ % of the rows differ from the noisy counts", "N % of the rows differ", reported)
    return re.sub(r"noise alone explains [0-9.e+]+ %", "noise alone explains N %", reported)
