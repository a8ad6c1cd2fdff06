"""A fitted nested mixture, and the model on disk."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import InputError
from synth.generators.nested_mixture.draw import Draw, DrawnTable
from synth.generators.nested_mixture.parts import Parts
from synth.generators.product_mixture import check_state
from synth.generators.product_mixture.model import Product
from synth.schema.dataset import Dataset

if TYPE_CHECKING:
    from synth.schema.enforcement import Rules

ROOTS_AT_A_TIME = 1 << 16  # roots drawn at a time
EVENED = 1 << 14  # roots up to which rows are rearranged towards the model's tables of pairs


class NestedMixture(Parts):
    """A mixture over roots, from which related rows are drawn; its arrays are those of ``Parts``.

    **Guarantee**: derived from releases only, hence free to sample, copy and publish.
    """

    @property
    def total(self) -> float:
        """Estimated number of roots."""
        return self.tables[self.schema.root].total

    def probability(self, where: Mapping[str, np.ndarray]) -> float:
        """The chance that a root meets a condition on its columns."""
        return self.tables[self.schema.root].probability(where)

    def blocks(
        self,
        num_roots: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        rules: "Mapping[str, Rules] | None" = None,
    ) -> Iterator[dict[str, DrawnTable]]:
        """Related rows of ``num_roots`` roots, ``ROOTS_AT_A_TIME`` roots at a time; parents are rows of the same block.

        ``where``: by column of the root the positions allowed. ``rules``: constraints of each table.
        """
        draw = Draw(model=self, where=where or {}, rules=rules or {}, rng=rng, evened=num_roots <= EVENED)
        for first in range(0, num_roots, ROOTS_AT_A_TIME):
            yield draw.block(min(ROOTS_AT_A_TIME, num_roots - first))

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        about: dict[str, Any] = {"tables": {}, "ordered": list(self.turns)}
        arrays: dict[str, np.ndarray] = {}
        for i, (name, product) in enumerate(self.tables.items()):
            released, own = product.state()
            about["tables"][name] = released
            arrays |= {f"table{i}.{n}": a for n, a in own.items()}
            if name in self.states:
                arrays[f"table{i}.state"] = self.states[name]
            if name in self.direct:
                _, own = self.direct[name].state()
                arrays |= {f"table{i}.direct.{n}": a for n, a in own.items()}
                arrays[f"table{i}.lean"] = self.lean[name]
            more = {"shared": self.shared, "later": self.later, "last": self.last, "turn": self.turns}
            more |= {"keep": self.keep, "again": self.again, "lasting": self.lasting}
            arrays |= {f"table{i}.{n}": item[name] for n, item in more.items() if name in item}
        return about, arrays

    @staticmethod
    def from_state(schema: Dataset, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "NestedMixture":
        """The model that ``state`` described. Errors: InputError where its parts do not fit the schema or together."""
        tables, states, later, last, turns, direct, lean, shared = {}, {}, {}, {}, {}, {}, {}, {}
        keep, again, lasting = {}, {}, {}
        for i, (name, released) in enumerate(about["tables"].items()):
            own = {n.removeprefix(f"table{i}."): a for n, a in arrays.items() if n.startswith(f"table{i}.")}
            tables[name] = Product.from_state(released, own)
            if name != schema.root:
                states[name] = np.asarray(own["state"])
            if "lean" in own:
                parts = {n.removeprefix("direct."): a for n, a in own.items() if n.startswith("direct.")}
                direct[name], lean[name] = Product.from_state(released, parts), np.asarray(own["lean"])
            if "shared" in own:
                shared[name] = np.asarray(own["shared"])
            if "later" in own:
                later[name] = np.asarray(own["later"])
            if "last" in own:
                last[name] = np.asarray(own["last"])
            if "keep" in own:
                keep[name], again[name] = np.asarray(own["keep"]), np.asarray(own["again"])
            if "lasting" in own:
                lasting[name] = np.asarray(own["lasting"])
            if name in about["ordered"]:
                turns[name] = np.asarray(own["turn"])
        result = NestedMixture(
            schema=schema,
            tables=tables,
            states=states,
            later=later,
            last=last,
            turns=turns,
            direct=direct,
            lean=lean,
            shared=shared,
            keep=keep,
            again=again,
            lasting=lasting,
        )
        for problem in result._problems():
            raise InputError(f"the model is damaged: {problem}; make it again or use another copy")
        return result

    def _problems(self) -> Iterator[str]:
        if set(self.tables) != set(self.schema.tables):
            yield "its tables are not those of its schema"
            return
        for name, product in self.tables.items():
            facts, asked = (
                {n: c.cells for n, c in of(name).columns.items()}
                for of in (self.schema.as_measured, self.schema.as_asked)
            )
            if {a.column: a.cells for a in product.axes} not in (facts, asked):  # some were made before the latter
                yield f"table {name} does not have the columns of its schema"
            for problem in check_state.problems(product):
                yield f"table {name}, {problem}"
        for name, state in self.states.items():
            key = self.schema.key_above(name)
            above, many = len(self.tables[key.parent].weights) if key else 1, len(self.tables[name].weights)
            shaped = state.ndim == 2 and len(state) == above and _parted(many, state)
            if not shaped or not np.isfinite(state).all() or (state < 0).any():
                yield f"table {name}: its components do not fit its parent's"
            later, turn = self.later.get(name), self.turns.get(name)
            if later is not None and (
                later.shape[1:] != state.shape or not np.isfinite(later).all() or (later < 0).any()
            ):
                yield f"table {name}: its later events do not fit its first ones"
            last = self.last.get(name)
            if last is not None and (last.shape != state.shape or not np.isfinite(last).all() or (last < 0).any()):
                yield f"table {name}: its last events do not fit its first ones"
            if turn is not None and (turn.shape != (*state.shape, state.shape[-1]) or not np.isfinite(turn).all()):
                yield f"table {name}: its steps do not fit its components"
            if name in self.direct:
                yield from self._direct_problems(name, above)

    def _direct_problems(self, name: str, above: int) -> Iterator[str]:
        direct, lean = self.direct[name], self.lean[name]
        if [(a.column, a.cells) for a in direct.axes] != [(a.column, a.cells) for a in self.tables[name].axes]:
            yield f"table {name}: what its columns have from the parent are other columns"
        parts = (lean, *(of.get(name, lean) for of in (self.shared, self.again, self.lasting)))
        keep = self.keep.get(name, np.zeros(above))
        if keep.shape != (above,) or not ((keep >= 0) & (keep < 1)).all():
            yield f"table {name}: the chances that components are kept do not fit its parent's"
        shaped = all(p.shape in ((len(direct.axes),), (above, len(direct.axes))) for p in parts)
        if len(direct.weights) != above or not shaped or not all(((p >= 0) & (p <= 1)).all() for p in parts):
            yield f"table {name}: what its columns have from the parent does not fit its components"
        yield from (f"table {name}, {problem}" for problem in check_state.problems(direct))


def _parted(many: int, state: np.ndarray) -> bool:
    """Whether so many components are of whole mixtures, each with as many of its parents' lines."""
    each = state.shape[1]
    return each > 0 and many > 0 and many % each == 0 and len(state) % (many // each) == 0
