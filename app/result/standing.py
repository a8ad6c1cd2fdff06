"""The last look: values that stand in a result word for word because somebody vouched for them."""

from concurrent.futures import Future
from pathlib import Path

import streamlit as st

from app.run import background
from app.session import frame
from app.session.aside import worker
from synth import app_api
from synth.languages import _

PATIENCE = 120.0  # seconds that counting may take


def section(release: Path) -> None:
    """How many such values there are, by column; follows from the release alone."""
    limits(release)
    there = counted(release)
    if not there:
        st.caption(_("This result contains no list of values that somebody vouched for."))
        return
    message = ", ".join(f"{frame.escape(n)} {k:,}" for n, k in sorted(there.items(), key=lambda pair: -pair[1]))
    st.info(
        _(
            "**Word for word, because somebody vouched for them:** {sum:,} values are in this result ({reported}). "
            "Is each of them public knowledge?"
        ).format(sum=sum(there.values()), reported=message),
        icon=":material/visibility:",
    )


def limits(release: Path) -> None:
    """The bounds of numbers and dates in the description; from the release alone."""
    result = app_api.standing_bounds(release)
    if result:
        listed = "; ".join(f"{frame.escape(n)} {frame.escape(b)}" for n, b in result.items())
        st.info(
            _(
                "**Bounds in the description, because somebody vouched for them:** {listed}. A bound that is no "
                "round number may be one person's value."
            ).format(listed=listed),
            icon=":material/straighten:",
        )


def rare(few: dict[str, int] | None, release: Path) -> None:
    """How many of them fewer than 10 real rows have; an exact count, for the steward alone."""
    if few is None:
        return
    there = counted(release)
    named = ", ".join(
        _("{n} {k} of {get}").format(n=frame.escape(n), k=k, get=there.get(n, k)) for n, k in few.items() if k
    )
    st.markdown(
        _("**Values that somebody vouched for and that occur in fewer than 10 real rows:** {named}.").format(
            named=named or _("none")
        )
    )


def counted(release: Path) -> dict[str, int]:
    """Vouched-for values in the result, by column; counted once for each state of the table."""
    return dict(begun(release).result())


def begun(release: Path) -> Future[dict[str, int]]:
    """The count of ``counted``, beside the page. It depends on the release alone."""
    card = release / "card.json"  # which names the tables' bytes
    key = ("standing", str(card), card.stat().st_mtime_ns)
    return background.once(key, lambda: worker.ask("standing", str(release), seconds=PATIENCE))
