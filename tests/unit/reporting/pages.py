"""A reader of pages: which tags, links and texts they have."""

from html.parser import HTMLParser


class Reader(HTMLParser):
    """Collects tags, addresses, identifiers and headings; checks that tags close in order."""

    VOID = frozenset({"meta", "link", "br", "line", "circle", "rect", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.images: list[str | None] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open, self._open

    def handle_starttag(self, tag, attrs):
        reported = dict(attrs)
        self.tags.append(tag)
        self.links += [reported[k] for k in ("href", "src", "xlink:href") if k in reported]
        self.names |= {reported["id"]} if "id" in reported else set()
        if tag == "svg":
            self.images.append(reported.get("aria-label"))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, _attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self._open.pop() == tag, tag


def check(text: str) -> Reader:
    """A page that needs no network and no script, whose links lead somewhere and whose pictures speak."""
    page = Reader(text)
    assert "script" not in page.tags
    assert "http" not in text.replace("http-equiv", "")
    for link in page.links:
        assert link == "data:," or link.removeprefix("#") in page.names, link
    assert all(page.images)
    return page
