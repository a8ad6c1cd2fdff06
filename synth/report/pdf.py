"""Pages as one PDF, for whoever signs or files it: A4, numbered, with bookmarks; the same pages make the same bytes."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256

from jinja2 import PackageLoader

from synth.errors import UsageError, need
from synth.report import html

WANTED = ("report.html", "card.html")  # of a bundle, before its documents
NAME = "release.pdf"
PANGO = "libpangoft2-1.0-0"  # Debian's package, which brings the others that WeasyPrint loads


def of_bundle(parts: Mapping[str, bytes]) -> bytes:
    """Report, card and papers among a bundle's ``parts`` by name as one PDF. Errors: UsageError without WeasyPrint.

    **Guarantee**: that of the parts. Privacy: released answers only.
    """
    documents = sorted(n for n in parts if n.startswith("documents/") and n.endswith(".html"))
    return written([parts[n].decode() for n in (*WANTED, *documents) if n in parts])


def written(pages: Sequence[str]) -> bytes:
    """HTML ``pages`` of this library, at least one, as one PDF; nothing is fetched.

    Errors: UsageError where WeasyPrint or Pango is not installed. Privacy: public only.
    """
    need("a PDF", "pdf", "weasyprint")
    try:
        import weasyprint
    except OSError:
        raise UsageError(
            "a PDF needs Pango; install it (Debian: apt-get install {}), or leave the PDF out", PANGO
        ) from None
    nothing = weasyprint.URLFetcher(allowed_protocols=("data",))
    drawn = [weasyprint.HTML(string=_styled(page), url_fetcher=nothing).render() for page in pages]
    whole = drawn[0].copy([page for one in drawn for page in one.pages])
    identifier = sha256("".join(pages).encode()).hexdigest()[:32].encode()
    return bytes(whole.write_pdf(pdf_identifier=identifier, pdf_tags=True))


def _styled(page: str) -> str:
    """The page with the style of its pictures within each: WeasyPrint applies a page's style to none of them."""
    return re.sub(r"(<svg\b[^>]+>)", lambda match: match[1] + _pictures(), page)


@cache
def _pictures() -> str:
    """The rules for pictures of the pages' style, in light colours."""
    source, _, _ = PackageLoader("synth.report").get_source(None, "style.css")  # type: ignore[arg-type]
    light = dict(re.findall(r"--(\w+):([^;}]+)", source.partition("@media")[0]))
    rules = re.findall(r"svg ((?:text|\.\w+)[^{]*)\{([^}]*)\}", source)
    text = "".join(f"{where}{{{what}}}" for where, what in rules).replace("currentColor", light["ink"])
    style = re.sub(r"var\(--(\w+)\)", lambda match: light[match[1]], text)
    return str(html.render("picture_style.html", rules=style))
