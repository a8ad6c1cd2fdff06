"""A page that is being left is worked through and not sent: the browser would draw it anew and drop it at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


@contextmanager
def where(left: bool) -> Iterator[None]:
    """Sends no element that is drawn inside if the page is ``left``; where it stays after all, it is drawn once more.

    Its fields are still read: what was typed last may arrive together with the click that leaves.
    """
    context = get_script_run_ctx() if left else None
    if context is None:
        yield
        return
    send = context._enqueue

    def pass_on(message: Any) -> None:
        if message.WhichOneof("type") != "delta":
            send(message)
        else:
            st.session_state.get("onward")  # here as in sending, the framework ends a script that was told to end

    context._enqueue = pass_on
    try:
        yield
    finally:
        context._enqueue = send
    st.rerun()
