"""Builds the documentation site into build/site/html, strictly: a dead link, anchor or page in no index ends it.

    .venv-docs/bin/python docs/site/build.py        # make docs

The pages lie in build/site/pages as they lie in the repository, so that their links hold there and here. The
navigation is the index by reader, docs/README.md; reference pages are made from docstrings, a page a room.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
PAGES, HTML = SITE / "pages", SITE / "html"
sys.path.insert(0, str(ROOT))
ROOMS = {  # page: modules or folders of synth/
    "Errors": ["errors.py"],
    "Questions": ["questions"],
    "Mechanisms": ["mechanisms"],
    "The door and its noise": ["privacy"],
    "Accounting": ["privacy/accounting"],
    "The ledger": ["privacy/ledger"],
    "Methods": ["generators/base.py", "generators/method.py"],
    "The run": ["pipeline"],
}
FOREIGN = re.compile(
    r"<(?:script|link|img|iframe|source)[^>]+(?:src|href)=[\"']?(?:https?:)?//[^\"'> ]+|url\([\"']?https?:"
)


def copied() -> None:
    """Every Markdown page and picture that readers may reach, at its own place; papers' forms are no pages."""
    shutil.rmtree(SITE, ignore_errors=True)
    kinds = (
        "*.md",
        "LICENSE",
        "data/*.md",
        "docs/**/*.md",
        "docs/**/*.png",
        "docs/**/*.svg",
        "docs/extending/**/*.py",
        "synth/**/*.md",
        "synth/**/*.json",
    )
    forms = [ROOT / "synth" / "report" / name for name in ("documents", "templates")]
    for path in sorted(p for kind in kinds for p in ROOT.glob(kind) if p.parent not in forms):
        into = PAGES / path.relative_to(ROOT)
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, into)


def printed() -> list[dict[str, str]]:
    """Pages that programs print (`make docs`), where they were made: their entries in the navigation.

    Every table of figures by the name that pages give it; every command with its options.
    """
    found = [(title, name) for title, name in (("Commands", "commands"), ("Figures", "figures")) if made(name).exists()]
    for title, name in found:
        text = made(name).read_text()
        (PAGES / f"{name}.md").write_text(text if text.lstrip().startswith("# ") else f"# {title}\n\n{text}")
    return [{title: f"{name}.md"} for title, name in found]


def made(name: str) -> Path:
    return ROOT / "build" / f"{name}.md"


def modules(places: list[str]) -> list[str]:
    """Dotted names of the modules at these places of synth/, folders one level deep."""
    files = [
        p
        for at in places
        for p in ([ROOT / "synth" / at] if at.endswith(".py") else sorted((ROOT / "synth" / at).glob("*.py")))
    ]
    names = [".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for p in files]
    return [n for n in names if not n.rpartition(".")[2].startswith("_")]


def library() -> dict[str, tuple[str, str]]:
    """Of each name that `import synth` offers its module, and its name there ("" for the module itself)."""
    import synth  # light: what it names is loaded when it is used

    homes = {name: home.partition(":") for name, home in synth._HOME.items()}
    return {
        n: (f"synth.{module}", "" if colon and not inside else inside or n)
        for n, (module, colon, inside) in homes.items()
    }


def block(module: str) -> str:
    """One module's part of a reference page, less the names that stand on the library's page."""
    elsewhere = [inside for home, inside in library().values() if home == module and inside]
    options = {"show_root_full_path": True, "filters": ["!^_", *(f"!^{name}$" for name in elsewhere)]}
    if (ROOT / module.replace(".", "/")).is_dir():
        options["members"] = False  # imported from the modules that follow
    return f"::: {module}\n    options: {json.dumps(options)}\n"


def reference() -> list[dict[str, str]]:
    """Writes the reference pages; their entries in the navigation."""
    folder = PAGES / "reference"
    folder.mkdir()
    lines = ["# The library", "", "What `import synth` offers; everything else may change.", ""]
    for name, (module, inside) in library().items():
        options = json.dumps({"show_root_heading": False, "show_root_toc_entry": False, "heading_level": 3})
        lines += [
            f"## synth.{name}",
            "",
            f"::: {'.'.join(filter(None, (module, inside)))}",
            f"    options: {options}",
            "",
        ]
    (folder / "library.md").write_text("\n".join(lines))
    entries = [{"The library": "reference/library.md"}]
    for title, homes in ROOMS.items():
        file = re.sub(r"\W+", "_", title.lower()) + ".md"
        (folder / file).write_text("\n".join([f"# {title}", "", *map(block, modules(homes))]))
        entries.append({title: f"reference/{file}"})
    return entries


def navigation(reference_pages: list[dict[str, str]]) -> list:
    """Sections and pages of the index by reader; a page stands where it is named first, folders are listed whole."""
    found: list = [{"Facsimile": "README.md"}, {"All pages, by reader": "docs/README.md"}]
    seen = {"README.md", "docs/README.md"}
    for part in re.split(r"^## ", (ROOT / "docs" / "README.md").read_text(), flags=re.M)[1:]:
        entries: list = []
        for target in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", part):
            place = (ROOT / "docs" / target).resolve().relative_to(ROOT).as_posix()
            folder = Path(place).parent.as_posix()
            several = folder not in (".", "docs")
            pages = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / folder).glob("*.md")) if several else [place]
            fresh = [p for p in pages if p not in seen]
            seen.update(fresh)
            entries += [{folder.rpartition("/")[2].capitalize(): fresh}] if several and fresh else fresh
        found.append({part.splitlines()[0]: entries})
    return [*found, *printed(), {"Reference": reference_pages}]


def foreign() -> list[str]:
    """Whatever a built page would load from another host."""
    files = [p for p in HTML.rglob("*") if p.suffix in (".html", ".css")]
    return [f"{p.relative_to(HTML)}: {hit}" for p in files for hit in FOREIGN.findall(p.read_text())]


def main() -> int:
    copied()
    settings = {"INHERIT": "../../docs/site/mkdocs.yml", "nav": navigation(reference())}
    (SITE / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(SITE / "mkdocs.yml")]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        return done.returncode
    if hits := foreign():
        print("loaded from another host:", *hits, sep="\n", file=sys.stderr)
        return 1
    print(HTML / "README.html" if (HTML / "README.html").exists() else HTML / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
