"""The tables of a ledger on PostgreSQL: those of a file, in the server's types, with its guards and its rights.

Lines are guarded twice: by triggers, which refuse everybody a change, and by rights, where the tables belong to one
role and lines are added by another (``granted``), which may neither alter, remove nor own them.
"""

from typing import Final

from synth.privacy.ledger.accounts import INDEXES, TABLES
from synth.privacy.ledger.entries import START, TABLE

SCHEMA, VERSION = "facsimile_ledger", 1
TYPES = ((" INTEGER", " BIGINT"), (" REAL", " DOUBLE PRECISION"), (" TEXT", ' TEXT COLLATE "C"'))


def translated(sql: str) -> str:
    """A statement for SQLite as PostgreSQL has it.

    >>> translated("SELECT a FROM ledger NOT INDEXED WHERE b IS NOT ?")
    'SELECT a FROM ledger WHERE b IS DISTINCT FROM %s'
    """
    sql = sql.replace(" NOT INDEXED", "").replace("IS NOT ?", "IS DISTINCT FROM ?")
    return sql.replace("?", "%s")


def made(sql: str) -> str:
    """The making of a table or an index, in the server's types. An index ends with the number, as SQLite's all do.

    >>> made("CREATE INDEX a ON ledger (dataset)")
    'CREATE INDEX a ON ledger (dataset, number)'
    """
    if sql.startswith("CREATE INDEX"):
        return sql.replace(")", ", number)")
    for ours, theirs in TYPES:
        sql = sql.replace(ours, theirs)
    return sql


FROZEN = " BEGIN RAISE EXCEPTION 'a ledger line cannot be altered or removed'; END "
APPENDED = f""" DECLARE
    last_number BIGINT;
    last_hash TEXT;
BEGIN
    SELECT number, hash INTO last_number, last_hash FROM {SCHEMA}.ledger ORDER BY number DESC LIMIT 1;
    IF NEW.number IS DISTINCT FROM coalesce(last_number, 0) + 1
        OR NEW.previous IS DISTINCT FROM coalesce(last_hash, '{START}') THEN
        RAISE EXCEPTION 'a ledger line can only be added at the end';
    END IF;
    RETURN NEW;
END """
# By name: when it acts, its function, and how the catalogue has it: bits of pg_trigger.tgtype (1 each row, 2 before,
# 4 insert, 8 delete, 16 update, 32 truncate). A statement's guard also stops a change that meets no row.
GUARDS: Final = {
    "ledger_no_change": ("BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger FOR EACH STATEMENT", FROZEN, 58),
    "ledger_only_append": ("BEFORE INSERT ON ledger FOR EACH ROW", APPENDED, 7),
}
BESIDE = {
    "ledger_version": "CREATE TABLE ledger_version (version BIGINT NOT NULL)",
    "ledger_key": "CREATE TABLE ledger_key (digest TEXT NOT NULL)",  # which key: never the key
    "ledger_note": "CREATE TABLE ledger_note (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " note TEXT NOT NULL)",
}


def statements() -> list[str]:
    """What makes the ledger. ``ALWAYS``: also while a replica is filled, where other triggers rest."""
    result = [made(sql) for sql in (TABLE, *TABLES.values(), *INDEXES.values(), *BESIDE.values())]
    for name, (when, body, _) in GUARDS.items():
        result += [
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $${body}$$",
            f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()",
            f"ALTER TABLE ledger ENABLE ALWAYS TRIGGER {name}",
        ]
    begun = ["INSERT INTO account_end VALUES (0, '', 0)", f"INSERT INTO ledger_version VALUES ({VERSION})"]
    return [*result, *begun]


RIGHTS = {  # of a role that adds lines; sums are derived and sealed, so that an altered one is not used
    "SELECT, INSERT": ("ledger", "ledger_key", "ledger_note"),
    "SELECT, INSERT, UPDATE, DELETE": tuple(TABLES),
    "SELECT": ("ledger_version",),
}


MAY_WRITE = "SELECT " + " AND ".join(
    f"has_table_privilege('{table}', '{right}')"
    for rights, tables in RIGHTS.items()
    for right in rights.split(", ")
    for table in tables
)


def granted(role: str) -> list[str]:
    """What lets a role add lines, and nothing else. ``role``: as an identifier, quoted."""
    rights = [f"GRANT {what} ON {', '.join(tables)} TO {role}" for what, tables in RIGHTS.items()]
    return [f"GRANT USAGE ON SCHEMA {SCHEMA} TO {role}", *rights]


COLUMNS = """SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type FROM pg_attribute a
    WHERE a.attrelid = 'ledger'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
TRIGGERS = """SELECT t.tgname AS name, t.tgtype AS type, t.tgenabled::text AS enabled, p.prosrc AS body
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE t.tgrelid = 'ledger'::regclass AND NOT t.tgisinternal"""
HIDING = """SELECT c.relrowsecurity OR c.relkind <> 'r' OR EXISTS (SELECT 1 FROM pg_rewrite WHERE ev_class = c.oid)
    FROM pg_class c WHERE c.oid = 'ledger'::regclass"""
UNLOGGED = f"""SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '{SCHEMA}' AND c.relkind IN ('r', 'S') AND c.relpersistence <> 'p'"""
KINDS = {"INTEGER": "bigint", "REAL": "double precision", "TEXT": "text"}  # as format_type calls them
EXPECTED = [(name, KINDS[kind]) for name, kind, *_ in (part.split() for part in TABLE.partition("(")[2].split(",\n"))]
CONSTRAINTS = "SELECT count(*) FROM pg_constraint WHERE conrelid = 'ledger'::regclass AND contype IN ('p', 'c')"
CONSTRAINED = TABLE.count(" CHECK ") + TABLE.count(" PRIMARY KEY")
