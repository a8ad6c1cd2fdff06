"""Who the visitor is: the only user, or somebody signed in through the organisation's provider (OIDC)."""

import io
import mimetypes
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import synth
from synth.app_api import ACTIONS, Roles, Visitor, jobs, roles
from synth.languages import _, as_now

_asks: ContextVar[str | None] = ContextVar("asks", default=None)
given: dict[bytes, set[str]] = {}  # whose a file is that was made for a download, by its hash: the server's door asks
sessions: dict[str, str] = {}  # who has signed in, by session of the framework's: the door asks that too
MOST_SESSIONS = 10_000  # that are remembered


def rules() -> Roles:
    """The roles of this installation; without a file, rules that stop nobody. Errors: InputError."""
    place = roles.place()
    return _read(place, place.stat().st_mtime_ns if place.exists() else 0) if place else Roles()


@lru_cache(maxsize=4)
def _read(place: Path, changed: int) -> Roles:  # noqa: ARG001 - a file that was changed is read again
    return roles.load(place)


def visitor() -> Visitor | None:
    """The visitor, None for somebody whom no role admits or who has not signed in. Errors: InputError."""
    if roles.place() is None:
        return Visitor()
    address, context = signed_in(), get_script_run_ctx(suppress_warning=True)
    if context is not None:
        sessions[context.session_id] = address
        while len(sessions) > MOST_SESSIONS:
            del sessions[next(iter(sessions))]
    return rules().visitor(address) if address else None


def signed_in() -> str:
    """The address of whoever signed in; empty for nobody."""
    asked = _asks.get()
    return verified_address(st.user) if asked is None else asked


def later(deed: Callable[..., bytes], *arguments: Any) -> Callable[[], bytes]:
    """A download's bytes, made when its button is pressed: outside of the page, in the name and language of whoever was
    shown it."""
    address = signed_in() if roles.place() is not None else ""
    spoken = as_now(deed)

    def made() -> bytes:
        token = _asks.set(address)
        try:
            result: bytes = spoken(*arguments)
        finally:
            _asks.reset(token)
        given.setdefault(sha256(result).digest(), set()).add(address)
        return result

    return made


def offer(
    label: str, file: str, key: str, deed: Callable[..., bytes], *arguments: Any, help: str, kind: Any = "secondary"
) -> None:
    """A button that downloads what ``deed`` makes of these arguments when it is pressed."""
    shown: dict[str, Any] = {"on_click": "ignore", "type": kind, "icon": ":material/download:", "help": help}
    of_kind = mimetypes.guess_type(file)[0] or "application/octet-stream"
    st.download_button(label, later(deed, *arguments), file, of_kind, key, **shown)


def zipped(files: Sequence[Path]) -> bytes:
    """Files in one zip, by their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.name)
    return out.getvalue()


def verified_address(reported: Mapping[str, Any]) -> str:
    """The address that the provider confirms; empty where it does not say that it verified it.

    >>> verified_address({"is_logged_in": True, "email": "ann@x.org"})
    ''
    """
    sure = reported.get("is_logged_in") is True and reported.get("email_verified") is True
    return str(reported.get("email") or "").lower() if sure else ""


def me() -> Visitor:
    """The visitor on a page that is open to him. Errors: PermissionError, which no page should ever see."""
    result = visitor()
    if result is None:
        raise PermissionError
    return result


def mine(job: jobs.Job) -> bool:
    """Whether the visitor may look into a run: his own, or any for the only user."""
    return me().may("watch", job.request().get("owner"))


def allow(action: str, owner: str | None = None) -> Visitor:
    """The visitor, where the table of actions lets him do it to a thing of ``owner``: the one gate of every action.

    Errors: UsageError, the same for a thing of somebody else's as for one that nobody has.
    """
    who = visitor()
    if who is not None and who.may(action, owner):
        return who
    what = ACTIONS[action].words
    if who is None:
        raise synth.UsageError(_("{what}: nobody without a role may; sign in, or ask for a role").format(what=what))
    if who.may(action, who.name):
        raise synth.UsageError(_("{what}: it is somebody else's, or gone; choose one of your own").format(what=what))
    raise synth.UsageError(
        _("{what}: your role, {role}, may not; ask somebody whose role may").format(what=what, role=who.role)
    )


def job(action: str, path: str | Path) -> jobs.Job:
    """A run, where the visitor may do it to this one. Errors: UsageError; InputError when there is no run."""
    result = jobs.Job(path)
    allow(action, result.request().get("owner"))
    return result


def door() -> None:
    """The page before anything else: signs in, or says that no role fits."""
    st.title(_("Facsimile"), anchor=False)
    address = signed_in()
    if not address:
        said = _(
            "Synthetic tables with a differential-privacy guarantee. This installation is shared: please "
            "sign in with your organisation's account."
        )
        st.markdown(said)
        if st.button(_("Sign in"), type="primary", key="sign_in", icon=":material/login:"):
            st.login()
        return
    said = _("{address} has no role here. Ask whoever runs this installation to add the address to its file of roles.")
    st.info(said.format(address=address), icon=":material/lock:")
    if st.button(_("Sign out"), key="sign_out"):
        st.logout()


def sidebar(who: Visitor) -> None:
    """Who is signed in, and the way out."""
    if who.alone:
        return
    st.caption(f"{who.name}, {who.role}")
    if st.button(_("Sign out"), key="sign_out", icon=":material/logout:"):
        st.logout()
