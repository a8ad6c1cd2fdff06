"""How each engine writes what the SQL standard leaves open."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SqlDialect:
    """How an engine writes what the standard leaves open. ``{0}`` stands for the operand.

    ``quote``: around names. ``double``, ``words``: types. ``rint``: to the nearest whole number, halves to the even
    one. ``days``, ``seconds``: whole ones since 1970 of a date and of a time without a zone, rounded down. ``time``: a
    time in microseconds, NULL for one beyond them. ``finite``: whether a date is one. ``trim``, ``ltrim``: text without
    the characters ``{1}`` around or before it. ``bytes``: of a text. ``order``: compares texts byte by byte, whatever
    the column says. ``end``: the end of a text in a pattern; ``group``: what it caught. ``hash``: a whole number of a
    text, all its 64 bits used; it cannot fail. ``one_spelling``: ``cells.one_spelling``, ``{1}`` what is not seen.
    """

    name: str
    quote: str = '"'
    double: str = "DOUBLE"
    words: str
    rint: str
    nan: str = "isnan({0})"
    days: str = "CAST({0} - DATE '1970-01-01' AS BIGINT)"
    seconds: str
    time: str = "{0}"
    finite: str = "isfinite({0})"
    trim: str
    ltrim: str = "ltrim({0}, {1})"
    bytes: str = "octet_length({0})"
    order: str
    end: str = "$"
    group: str = "\\1"
    hash: str
    one_spelling: str

    def identifier(self, name: str) -> str:
        """The name, quoted."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def whole(self, cells: int) -> str:
        """A type for positions among so many cells, and marks below zero; Spark's executors hold narrow ones."""
        if self.name == "spark" and cells < 1 << 15:
            return "TINYINT" if cells < 1 << 7 else "SMALLINT"
        return "INTEGER" if cells < 1 << 31 else "BIGINT"

    def number(self, value: float) -> str:
        """Exactly this float."""
        return f"CAST('{float(value)!r}' AS {self.double})"

    def text(self, value: str) -> str:
        """A text literal."""
        plain = value.replace("\\", "\\\\") if self.name == "spark" else value
        return "'" + plain.replace("'", "\\'" if self.name == "spark" else "''") + "'"


DUCKDB = SqlDialect(
    name="duckdb",
    words="VARCHAR",
    rint="round_even({0}, 0)",
    seconds="(epoch_us({0}) // 1000000 - CASE WHEN epoch_us({0}) % 1000000 < 0 THEN 1 ELSE 0 END)",
    time="TRY_CAST({0} AS TIMESTAMP)",
    trim="trim({0}, {1})",
    bytes="strlen({0})",
    order="({0} COLLATE C)",
    hash="hash({0})",
    one_spelling="one_spelling({0})",  # of Python: duckdb_closed.py
)
POSTGRES = SqlDialect(
    name="postgres",
    double="DOUBLE PRECISION",
    words="TEXT",
    rint="round({0})",
    nan="({0} = CAST('NaN' AS DOUBLE PRECISION))",
    seconds="CAST(floor(extract(epoch FROM {0})) AS BIGINT)",
    trim="btrim({0}, {1})",
    order='({0} COLLATE "C")',
    hash="hashtextextended({0}, 0)",
    one_spelling="normalize(regexp_replace({0}, {1}, '', 'g'), NFKC)",
)
SPARK = SqlDialect(
    name="spark",
    quote="`",
    words="STRING",
    rint="rint({0})",
    days="CAST(datediff({0}, DATE '1970-01-01') AS BIGINT)",
    seconds="unix_seconds(CAST({0} AS TIMESTAMP))",
    finite="TRUE",
    trim="trim(BOTH {1} FROM {0})",
    ltrim="trim(LEADING {1} FROM {0})",
    order="({0} COLLATE UTF8_BINARY)",
    end="\\z",
    group="$1",
    hash="xxhash64({0})",
    one_spelling="reflect('com.ibm.icu.text.Normalizer', 'compose', regexp_replace({0}, {1}, ''), true)",
)
DIALECTS = {d.name: d for d in (DUCKDB, POSTGRES, SPARK)}
