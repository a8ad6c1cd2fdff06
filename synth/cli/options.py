"""Options of commands: those of a request, made from its fields, and those that several commands share."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import ParameterInfo

from synth.cli.answer import FLAGS, NEGATED, answer, names, spelled
from synth.errors import SynthError, UsageError
from synth.files.regular_files import is_file
from synth.pipeline.request import RunRequest

FIELDS = RunRequest.model_fields
EVERYTHING = "*"  # what --assume-public holds that stands alone
Parse = Callable[[Any], Any]  # what makes an option's value of its texts
# What a command answers: data for --json, lines for people, and the error with which it ends all the same.
Said = tuple[Any, Iterable[str]] | tuple[Any, Iterable[str], SynthError | None] | None


def pairs(
    flag: str, form: str, convert: Callable[[str], Any] = str, *, last: bool = False, again: bool = False
) -> Callable[[Sequence[str] | None], dict[str, Any]]:
    """What parses the texts NAME=VALUE of an option, of which ``form`` tells the form, once for each name.

    ``convert``: makes the value of its text, or raises ValueError, with what is wrong or with nothing. ``last``: names
    may hold the sign, values not. ``again``: a name may stand twice; the later one counts. Errors: UsageError.

    >>> pairs("--group", "COLUMN=LENGTH", int)(["zip=2", "icd=1"])
    {'zip': 2, 'icd': 1}
    """

    def parsed(texts: Sequence[str] | None) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for text in texts or ():
            name, sign, value = text.rpartition("=") if last else text.partition("=")
            try:
                if not (sign and name) or (name in values and not again):
                    raise ValueError
                values[name] = convert(value)
            except ValueError as error:
                raise UsageError(f"{flag} {text}: {error}" if str(error) else f"{flag} {text}: write {form}") from None
        return values

    return parsed


def some(text: str) -> str:
    """A value that says something. Errors: ValueError."""
    if not text.strip():
        raise ValueError
    return text.strip()


def assumed(text: str | None) -> bool | list[str]:
    """What ``--assume-public`` says: not given, given alone, or the columns that it names.

    >>> assumed(None), assumed("*"), assumed("zip, icd")
    (False, True, ['zip', 'icd'])
    """
    return False if text is None else text == EVERYTHING or names(text)


def several(texts: Sequence[Any] | None) -> tuple[Any, ...]:
    """The values of an option that may be repeated."""
    return tuple(texts or ())


PARSERS: dict[str, Parse] = {  # of fields whose values are more than one text or number
    "options": pairs("--option", "NAME=VALUE, for instance --option steps=400", again=True),
    "reasons": pairs("--reason", "COLUMN=TEXT, once for each column", some),
    "assume_public": assumed,
    "prior_reason": lambda texts: texts[0] if texts and len(texts) == 1 else tuple(texts) if texts else None,
}


def field(name: str, defaults: Mapping[str, Any]) -> tuple[inspect.Parameter, Parse | None]:
    """The option of a request's field, its meaning as help; ``defaults``: of fields. And its parser."""
    about = FIELDS[name]
    default = ... if about.is_required() else about.get_default(call_default_factory=True)
    default = defaults.get(name, default)
    told = about.serialization_alias or name
    flag = f"--{FLAGS.get(told, (told,))[0].replace('_', '-')}"
    kind: Any = about.annotation
    words = spelled(str(about.description))
    more: dict[str, Any] = {}
    parse = PARSERS.get(name)
    if parse or tuple in {getattr(k, "__origin__", k) for k in (kind, *get_args(kind))}:
        kind, parse, default = list[str] | None, parse or several, default or None
    if name == "assume_public":
        kind, more = str | None, {"metavar": "[COLUMN,...]"}
    if name in ("schema_file", "out"):
        kind = Path if default is not None else Path | None
    if name in NEGATED:
        flag, more = f"{flag}/{NEGATED[name]}", {"show_default": False}
    if default is None and isinstance(about.default, str):
        words += f" [default: {about.default}]"
    kind = kind | None if default is None else kind
    given = inspect.Parameter.empty if default is ... else default
    option = Annotated[kind, typer.Option(flag, help=words, **more)]
    name = about.serialization_alias or name
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=option), parse


def own(parameter: inspect.Parameter) -> tuple[inspect.Parameter, Parse | None]:
    """A function's own parameter as a command's: an option, or an argument where it may be given by place.

    Of what its type is annotated with, a text is the help, one with dashes the flag, and a function the parser.
    """
    kind, *about = get_args(parameter.annotation) if hasattr(parameter.annotation, "__metadata__") else [None]
    parse = None
    if about and not isinstance(about[0], ParameterInfo):
        texts = [a for a in about if isinstance(a, str)]
        flags = [a for a in texts if a.startswith("--")] or [f"--{parameter.name.replace('_', '-')}"]
        parse = next((a for a in about if callable(a)), None)
        by_place = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        info = typer.Argument(help=texts[-1]) if by_place else typer.Option(*flags, help=texts[-1])
        parameter = parameter.replace(annotation=Annotated[kind, info])
    return parameter.replace(kind=parameter.KEYWORD_ONLY), parse


def command(
    group: typer.Typer, fields: str | Iterable[str] = "", /, *, name: str | None = None, **defaults: Any
) -> Callable[[Callable[..., Said]], Callable[..., Said]]:
    """Makes a function a command, with the options of a request's ``fields`` and ``--json``.

    The function takes them as keywords; what it takes by place is an argument (``own``). It returns its answer as data
    and as lines; nothing where it has said it. ``name``: the function's by default, empty for the group itself.
    ``defaults``: of fields, where they are not the request's own; ``...`` for what must be given.
    """
    wanted = fields.split() if isinstance(fields, str) else fields

    def register(function: Callable[..., Said]) -> Callable[..., Said]:
        there = {FIELDS[n].serialization_alias or n for n in wanted}
        given = inspect.signature(function, eval_str=True).parameters.values()
        alone = [own(p) for p in given if p.kind is not p.VAR_KEYWORD and p.name not in there]
        json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOpt)
        taken = [*alone, *(field(n, defaults) for n in wanted), own(json)]
        parsers = {p.name: parse for p, parse in taken if parse is not None}

        def called(*, as_json: bool, **given: Any) -> None:
            said = function(**{n: parsers[n](v) if n in parsers else v for n, v in given.items()})
            if said is not None:
                plain, lines, *fault = said
                ends = next(filter(None, fault), None)
                answer(plain, () if ends else lines, as_json=as_json)
                if ends:
                    raise ends

        called.__doc__, called.__name__ = function.__doc__, function.__name__
        called.__signature__ = inspect.Signature([p for p, _ in taken])  # type: ignore[attr-defined]
        (group.callback() if name == "" else group.command(name))(called)
        return function

    return register


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """The arguments with a value for ``--assume-public`` where it stands alone; a file's name after it is none.

    >>> spelled_out(["t.csv", "--assume-public", "--out", "s.json"])
    ['t.csv', '--assume-public=*', '--out', 's.json']
    >>> spelled_out(["t.csv", "--assume-public", "zip,icd"])
    ['t.csv', '--assume-public', 'zip,icd']
    """
    out = list(arguments)
    for i, word in enumerate(out):
        after = out[i + 1] if i + 1 < len(out) else "-"
        if word == "--assume-public" and (after.startswith("-") or is_file(after)):
            out[i] = f"{word}={EVERYTHING}"
    return out


def in_language(code: str | None) -> str | None:
    """A language, looked up before the command begins. Errors: UsageError for one without a catalogue."""
    if code is not None:
        from synth.report.words import written

        with written(code):
            pass
    return code


def address(source: str | None) -> str | None:
    """What ``@name`` stands for."""
    if source is None or not source.startswith("@"):
        return source
    from synth.sources import named_databases  # costs a second

    return named_databases.address(source)


def charged_by() -> dict[str, Any]:
    """By whom a spend is asked for: the id of the job that this process works for, and what its owner may know."""
    from synth.cli.jobs import audience
    from synth.jobs import RUN

    return {"run": os.environ.get(RUN) or None, "audience": audience()}


def none_of(options: Mapping[str, Any], why: str) -> None:
    """Errors: UsageError naming the first that is given."""
    for name, value in options.items():
        if value not in (None, (), {}, [], False):
            raise UsageError(f"--{name.replace('_', '-')}: {why}")


JsonOpt = Annotated[bool, "--json", "Print one JSON object on stdout."]
TableArg = Annotated[Path, "CSV (also .gz), Parquet, .xlsx, .dta, .sav or .xpt file of private rows."]
TablesArg = Annotated[
    Path | None,
    "CSV (also .gz), Parquet, .xlsx, .dta, .sav or .xpt file of private rows, or a folder of related tables.",
]
ReleaseArg = Annotated[Path, "Release: the folder that a run wrote."]
SchemaArg = Annotated[Path, "The schema, a JSON file."]
LanguageOpt = Annotated[str | None, "--language", "Of pages and papers: en or de [default: en].", in_language]
SourceOpt = Annotated[str | None, "--source", FIELDS["source"].description, address]
CandidatesOpt = Annotated[
    list[Path] | None, "--with", "Folder of another candidate; repeatable. With --choice all, private.", several
]
ChoiceOpt = Annotated[
    str | None, "--choice", "--selection", "How the release was chosen: only, before, releases, all, private or scores."
]
PapersOpt = Annotated[
    Path | None, "--papers", "Answers for the papers, a JSON file; `synth card papers` writes an empty one."
]
PaidOpt = Annotated[Path | None, "--paid", "Counts by which it was chosen, from `synth statistics`."]
