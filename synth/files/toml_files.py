"""Files of settings that an administrator writes, as TOML: read into a model, or refused in one line."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from synth.errors import InputError
from synth.files import regular_files
from synth.languages import Said

Model = TypeVar("Model", bound=BaseModel)


class KnownTable(BaseModel):
    """A table of known names alone: a misspelt rule would be no rule, so it is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def read(path: Path, *, kind: str, variable: str, page: str) -> dict[str, Any]:
    """What the file holds; ``page`` tells its form. Errors: InputError naming file and remedy. Privacy: public only."""
    try:
        return tomllib.loads(regular_files.text(path))
    except OSError as error:
        raise InputError("{} {}: {}; correct {}", kind, path, error, variable) from None
    except (ValueError, RecursionError):  # also of a number of thousands of digits
        raise InputError("{} {}: not a TOML file; see {} for its form", kind, path, page) from None


def load(path: Path, form: type[Model], *, kind: str, variable: str) -> Model:
    """The file as ``form`` says.

    Errors: InputError naming file, key, rule and remedy; never a value, which may be secret.
    Privacy: public only.
    """
    plain = read(path, kind=kind, variable=variable, page="docs/app.md")
    try:
        return form.model_validate(plain)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))
    rule = fault["msg"].replace("Input should be", "must be").removeprefix("Value error, ")
    rule = "is not known here; remove it" if fault["type"] == "extra_forbidden" else rule
    raise InputError(
        "{} {}: {}{}; see docs/app.md for its form", kind, path, Said("{}: ", where) if where else "", rule
    )
