"""Which Parquet files are a table: those of a folder, or what a Delta table's log says its current version is.

A Delta, Iceberg or Hudi table leaves the files of deleted and overwritten rows where they are; only its own log tells
them from the current ones. So its folder is never read file by file, nor is a part of it.
"""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from synth.errors import InputError, need
from synth.files.regular_files import is_folder

ENDINGS = (".parquet", ".pq")
ICEBERG = re.compile(r"v?[0-9]+(-.*)?\.(gz\.)?metadata\.json")
UNDERSTOOD = {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}


def parquet_files(path: Path) -> list[Path]:
    """The file, those of a folder in the order of their names, or those of a Delta table's current version.

    Errors: InputError for a folder without any, a part of a table that keeps old rows, and what of such a table cannot
    be honoured; UsageError without the extra `delta`.
    """
    check_whole(path)
    if not is_folder(path):
        return [path]
    if is_delta(path):
        return _current(path)
    result = sorted(p for p in path.iterdir() if p.name.lower().endswith(ENDINGS))
    result = [p for p in result if not p.name.startswith((".", "_"))]
    if not result:
        raise InputError(f"{path}: no .parquet file lies in this folder; name the folder that holds them")
    return result


def check_whole(path: Path) -> None:
    """Errors: InputError for an Iceberg or Hudi table, and for what lies within one or within a Delta table."""
    whole = path.resolve()
    for home in (whole, *whole.parents):
        if _is_iceberg(home) or (home / ".hoodie").exists():
            kind = "Iceberg" if _is_iceberg(home) else "Hudi"
            raise InputError(
                f"{path}: belongs to the {kind} table {home.name!r}, whose folder also keeps the files of rows that "
                "were deleted or overwritten; write its current rows to a folder of Parquet files, or name it as a "
                "table of Spark's catalogue"
            )
        if home != whole and is_delta(home):
            raise InputError(
                f"{path}: belongs to the Delta table {home.name!r}, whose folder also keeps the files of rows that "
                f"were deleted or overwritten; name the folder {home}"
            )


def is_delta(path: Path) -> bool:
    """Whether a folder is a Delta table. Privacy: public only (names of files)."""
    return is_folder(path / "_delta_log")


def _is_iceberg(path: Path) -> bool:
    held = path / "metadata"
    return is_folder(held) and any(ICEBERG.fullmatch(p.name) for p in held.glob("*.metadata.json"))


def _current(path: Path) -> list[Path]:
    """The files of a Delta table's current version, in the order of their names. Errors: as ``parquet_files``."""
    need(f"{path}: to read a Delta table", "delta", "deltalake")
    from deltalake import DeltaTable

    home = path.resolve()
    if re.search("%[0-9A-Fa-f]{2}", str(home)):
        raise InputError(
            f"{path}: the library of Delta would take a name with a sign like %20 for another; rename the folder"
        )
    try:
        table = DeltaTable(home.as_uri())  # of a bare path it would decode the signs
        features, facts = set(table.protocol().reader_features or ()), table.metadata()
        masked = "deletionVectors" in features and any(b.num_rows for b in table.deletion_vectors())
        result = sorted(Path(unquote(urlsplit(uri).path)).resolve() for uri in table.file_uris())  # no links, no ..
    except Exception:  # of many kinds, whose texts may quote the log, which holds cells
        raise InputError(
            f"{path}: the log of this Delta table cannot be read; look at it, or write its current rows to a folder of "
            "Parquet files"
        ) from None
    unknown = sorted(features - UNDERSTOOD)
    log = home / "_delta_log"
    faults = {
        "a log that links lead out of the folder for": any(p.is_symlink() for p in (log, *log.rglob("*"))),
        "deletion vectors (rows marked as deleted inside files)": masked,
        "column mapping (other names in the files)": facts.configuration.get("delta.columnMapping.mode", "none")
        != "none",
        f"partition columns ({', '.join(facts.partition_columns)}), which no file holds": bool(facts.partition_columns),
        f"the feature {', '.join(unknown)}": bool(unknown),
        "files outside its folder, twice, or that are gone": len({*result}) < len(result)
        or any(home not in p.parents or not p.is_file() for p in result),
        "no file in its current version": not result,
    }
    for fault, there in faults.items():
        if there:
            raise InputError(
                f"{path}: this Delta table has {fault}, which is not read; write its current rows to a folder of "
                "Parquet files, or name it as a table of Spark's catalogue"
            )
    return result
