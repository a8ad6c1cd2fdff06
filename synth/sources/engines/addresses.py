"""One address for one place: however a database's address is written, what it stands for is compared and charged.

Files are named by where they really lie; hosts by their number or in small letters, every name of this machine as
``localhost``; the usual port, user, password and options that do not say where are left out. Nothing is looked up in
the network.
"""

import getpass
import ipaddress
import os
import re
import socket
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from synth.schema.names import UNSEEN

OWN_NAMES = {"", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"}
PORT = "5432"
QUOTES = "\"'`\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
AROUND = f"(?:{UNSEEN}|[{QUOTES}\\s])+"


def address(text: str) -> str | None:
    """The address that a text is, however it was typed: without quotes and space around it, its scheme in small
    letters, the rest as written, since it names files and databases; None for what is none, such as a file's name.
    Whoever is given one takes it, or refuses it.

    >>> address(' "PostgreSQL://db/Census"'), address("ledger.sqlite"), address("a/ledger.sqlite")
    ('postgresql://db/Census', None, None)
    """
    bare = re.sub(f"^{AROUND}|{AROUND}$", "", text)
    plain = _plain(bare)
    scheme, found, rest = plain.partition("://")
    if found or re.match(r"(?i)postgres(ql)?:", plain):
        before, _, written = bare.partition("://")
        return f"{scheme.lower()}{found}{written if _plain(before) == scheme else rest}"
    return None


def has_password(address: str) -> bool:
    """Whether an address, or an option in it, has a password. Errors: ValueError for one that cannot be read.

    >>> has_password("postgres://ann:secret@db/a"), has_password("postgres://db/a?sslpassword=x")
    (True, True)
    """
    parts = urlsplit(address)
    named = [n.lower() for n, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return parts.password is not None or any("password" in n for n in named)


def _plain(text: str) -> str:
    return re.sub(UNSEEN, "", unicodedata.normalize("NFKC", text))


def file(path: str | Path) -> str:
    """Where a file really lies: links followed, doubled slashes and points resolved.

    >>> file("//no//such/../file.db")
    '/no/file.db'
    """
    return os.path.realpath(os.path.normpath("/" + str(path).lstrip("/") if str(path).startswith("/") else path))


def host(name: str) -> str:
    """A host as it is compared; this machine's own names, and a folder of sockets, are ``localhost``.

    >>> [host(n) for n in ("LOCALHOST", "127.0.1", "127.1", "2130706433", "::1", "/run/postgresql", "Db.Example.")]
    ['localhost', 'localhost', 'localhost', 'localhost', 'localhost', 'localhost', 'db.example']
    """
    plain = _plain(unquote(name)).strip("[]").lower().rstrip(".")
    if plain in OWN_NAMES or plain.startswith(("/", "@")) or plain == socket.gethostname().lower():
        return "localhost"
    try:
        number = ipaddress.ip_address(plain)
    except ValueError:
        try:
            number = ipaddress.ip_address(socket.inet_aton(plain))  # 127.1, 0x7f000001 and their like
        except OSError:
            return plain
    mapped = getattr(number, "ipv4_mapped", None) or number
    return "localhost" if mapped.is_loopback or mapped.is_unspecified else str(mapped)


def postgres(parts: SplitResult, environment: Mapping[str, str] = os.environ) -> str:
    """The server and database that a PostgreSQL address means, by its options and the driver's own rules."""
    options = {n.lower(): v for n, v in parse_qsl(parts.query)}
    number = options.get("hostaddr") or environment.get("PGHOSTADDR")  # where the driver goes, whatever the host is
    at = number or parts.hostname or options.get("host") or environment.get("PGHOST", "")
    port = str(parts.port or options.get("port") or environment.get("PGPORT") or PORT)
    user = unquote(parts.username or "") or options.get("user") or environment.get("PGUSER") or getpass.getuser()
    named = unquote(parts.path.lstrip("/")) or options.get("dbname") or options.get("database")
    database = named or environment.get("PGDATABASE") or user
    place = "" if port == PORT else f":{port}"
    return f"postgres://{host(at)}{place}/{database}"
