"""The command line: options in, one call into the library, one answer out. It adds nothing of its own."""

import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from synth.cli import answer, audit, ledger, paid, release, run, schema, series
from synth.cli.answer import asked, foreign, guided, leave
from synth.cli.options import spelled_out
from synth.errors import COMMITTED, SynthError

app = typer.Typer(
    name="synth",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Make synthetic tables with a differential-privacy guarantee.",
    callback=guided,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for room in (run, paid, schema, release, ledger, series, audit):
    room.register(app)


@app.command("app")
def app_command(
    port: Annotated[int, typer.Option("--port", help="Port on this machine.")] = 8501,
    headless: Annotated[bool, typer.Option("--headless", help="Do not open a browser window.")] = False,
    address: Annotated[
        str | None, typer.Option("--address", help="Network address to listen on [default: 127.0.0.1].")
    ] = None,
    tables: Annotated[
        list[Path] | None, typer.Option("--tables", help="Folder whose tables are offered; repeatable.")
    ] = None,
    sources: Annotated[Path | None, typer.Option("--sources", help="File that lists the databases to offer.")] = None,
    roles: Annotated[Path | None, typer.Option("--roles", help="File of roles; people then have to sign in.")] = None,
    secrets: Annotated[Path | None, typer.Option("--secrets", help="File with the secrets for signing in.")] = None,
) -> None:
    """Start the application in a browser.

    An option overrides its environment variable (SYNTH_ADDRESS, SYNTH_TABLES, SYNTH_SOURCES, ...).
    """
    from synth.cli import serve_app

    files = {"--sources": sources, "--roles": roles, "--secrets": secrets}
    serve_app.start(port=port, headless=headless, given={"--address": address, "--tables": tables or (), **files})


@cache
def commands() -> Any:
    """All commands, put together once in a process: it takes as long as the rest of a short one."""
    return answer.guarded(get_command(app))


answer.commands = commands


def main() -> None:
    """The entry point: every error is one line on stderr and an exit code, never a traceback."""
    COMMITTED.clear()
    try:
        commands()(args=spelled_out(asked(sys.argv[1:])), prog_name="synth", standalone_mode=False)
        sys.stdout.flush()
    except SynthError as error:
        leave(str(error), error.exit_code)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        leave("stopped; nothing more was done", 130)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        leave(*foreign(error))
