"""A method's options as controls, whatever the method, and how the synthetic table is written."""

from typing import Any

import streamlit as st

from app.session import words, workers
from app.session.state import Wizard, effective
from synth import app_api
from synth.languages import Texts, _

PATIENCE = 60.0  # seconds that loading torch may take
SAYS = Texts(
    accounting="theorem_1, swd: as much noise as a published bound asks for, where that is more than needed.",
    accuracy="How far off answers may be, as a share of the rows.",
    adversary="How fast weight moves to what the model misses; 0 treats all alike.",
    agreed="Share of the teachers that must agree on a move before it is released.",
    anchors="Numbers in the functional release: a value for each point, and those of its gradient.",
    asked="Made-up rows that the teachers vote on in each round; every vote is paid for.",
    batch="Rows that the network makes in each step.",
    bins="Most parts into which a number's range is cut.",
    blur="How strongly counts are smoothed: more is steadier, and keeps less of relations.",
    candidates="Most made-up rows that the real ones choose among in a round.",
    change="How far variations lie from their row, in the first round: part of each range.",
    choices="Part of the remaining budget that goes to choosing what to count.",
    classifier_rate="How fast the network that predicts the target learns.",
    clip="Largest influence of one row on a step, which the noise then hides.",
    clip_last="The last step's clip as a part of the first one's; between, it falls evenly.",
    code_rate="How fast the network that packs and unpacks rows learns.",
    code_steps="Steps in which rows are packed and unpacked, before the others.",
    comparing="Part of an update's price for the comparison that finds it.",
    compared="About how many columns are compared at a time.",
    components="Components of the mixture: more can represent more, and take longer.",
    coordinates="Random directions along which teachers say where rows should move.",
    copies="Times that each row is blanked and used in a step: more cost only time.",
    counting="Part of epsilon for the number of rows, where that is private.",
    critic_rate="How fast the network that judges rows learns.",
    decay="How strongly details are damped.",
    degree="Degree of the polynomials: a higher one keeps finer shapes, under more noise.",
    directions="How random directions are drawn: a rotation needs a little less noise.",
    encoding="How columns become numbers.",
    ensembles="Models fitted side by side and averaged.",
    epochs="Passes over the rows, in place of steps; 0: steps count.",
    every="Steps of the network that judges rows, for each move of the one that makes them.",
    features="About how many random features there are: more keep more, under more noise each.",
    form="How rows are compared and the model is trained: see the method's page.",
    gradients="joint: with form gaussian, gradients are released with the values; fewer points then.",
    layers="Layers of the network.",
    lengthscale="Width of form gaussian's kernel, in median distances of rows.",
    widths="How many Gaussians form gaussian's kernel is the mean of, each half as wide.",
    frequencies="Random questions about rows: more keep more, under more noise each.",
    generator_rate="How fast the network that makes rows learns.",
    groups="Into how many parts rows or values are put before noise is added; auto where offered fits the budget.",
    hidden="Units of a network's layer.",
    k="How many components a direction's distance uses.",
    kept="How many numbers of a gradient a teacher gives the sign of.",
    knots="Bends of each curve that turns random draws into values.",
    latent="Numbers from which the decoder makes a row.",
    learning_rate="How fast the network learns.",
    least="A part of a number's range must hold so many times the noise.",
    lesson="Steps after which the network that predicts the target begins anew.",
    loss="What the fit makes alike: moments, or a distance of distributions (then a network is trained).",
    max_size="Most megabytes of the model.",
    moves="Steps of the network that makes rows, after each lesson.",
    num_slices="Random directions that are asked about in all.",
    numbers="Part of the budget for cutting numbers into parts.",
    ones="Part of the budget for counts of single columns.",
    oneway_share="Part of the budget for counts of single columns; the rest goes to relations.",
    order="How many columns each question joins.",
    pairs="Pairs of columns that are asked about.",
    parts="Parts of a direction's range that teachers vote for.",
    points="Made-up rows at which each step of form stepwise asks.",
    price_rate="How fast the transport's prices follow.",
    questions="Most questions that are asked; only those that are far off cost anything.",
    rate="Part of the rows, drawn at random, that each step of the training sees, or the one question.",
    records="Most records of the small database.",
    ridge="How strongly noisy estimates are pulled together.",
    rounds="Rounds of choosing, asking and learning; 0, where usual, lets the method decide.",
    rows="Made-up rows that are held, or made in each step.",
    rows_each="About how many rows each teacher learns from.",
    sample="Where rate is below 1: rows that are not drawn count as empty (zeros) or leave nothing (fixed).",
    set_rate="How fast the condensed rows move.",
    splines="Curves that bend random draws before the decoder; 0 leaves them normal.",
    steps="Steps of the training: more fit better, and take longer.",
    sum_share="Share of the features for single columns beside the label.",
    threshold="How far off an answer must be to be counted, in parts of the largest noise.",
    updates="Most questions that are counted; each has its part of the budget.",
    votes="Rounds in which rows say which made-up rows are nearest to them; 0: none.",
    variant="joint: the column to predict is one like others. conditional, parallel: class by class.",
    variations="New rows made from each that was chosen.",
)


def ask(method: dict[str, Any], chosen: dict[str, Any], *, key: str) -> dict[str, Any]:
    """The options of a method of ``synth.methods`` that differ from their defaults."""
    asked = {
        name: _one(name, default, chosen.get(name, default), f"{key}_{name}", method["choices"].get(name))
        for name, default in method["options"].items()
    }
    return {name: value for name, value in asked.items() if value != method["options"][name]}


def _one(name: str, default: Any, value: Any, key: str, known: list[str] | None) -> Any:
    label = words.of_option(name)
    said = SAYS.get(name, _("The method's page in docs/ explains it."))
    said = _("{said} Usual: {default}.").format(said=said, default=default)
    if isinstance(default, bool):
        return st.checkbox(label, value=bool(value), key=key, help=said)
    if isinstance(default, int):
        return int(st.number_input(label, value=int(value), step=1, key=key, help=said))
    if isinstance(default, float):
        return float(st.number_input(label, value=float(value), format="%.4g", key=key, help=said))
    if known:
        return st.selectbox(label, known, index=known.index(value) if value in known else 0, key=key, help=said)
    return st.text_input(label, value=str(value), key=key, help=said).strip() or default


WAYS_TO_WRITE = Texts(
    same="Like the private table, beside a plain one", plain="Plain only: UTF-8, commas, points, ISO dates"
)


def own_way(w: Wizard) -> bool:
    """Whether the description tells of a dialect, or of formats, that a second table would be written in."""
    facts = effective(w)
    return bool(facts.get("dialect")) or any(c.get("format") for c in facts["columns"].values())


def written_choice(w: Wizard) -> None:
    """The switch, where there is something to choose; kept in the wizard."""
    if not own_way(w):
        w.written = "same"
        return
    ways = list(WAYS_TO_WRITE)
    said = _(
        "The rows are the same. Choose plain where the table's own encoding has no room for a value of the description."
    )
    label, at = _("How the CSV is written"), ways.index(w.written)
    w.written = st.radio(label, ways, at, WAYS_TO_WRITE.__getitem__, key="written", help=said, horizontal=True)


def device_choice(w: Wizard) -> None:
    """The switch, where there is a GPU, for which torch is asked beside the server."""
    if workers.begun("", app_api.finds_gpu, seconds=PATIENCE, pool=workers.BESIDE).result():
        says = _("Methods that train on the rows themselves use the processor alone. The guarantee is the same.")
        chosen = st.toggle(_("Use the graphics card where the method can"), w.device == "auto", "device", help=says)
        w.device = "auto" if chosen else "cpu"


def written_as(w: Wizard) -> str:
    """What the run is told of it."""
    return w.written if own_way(w) else "same"
