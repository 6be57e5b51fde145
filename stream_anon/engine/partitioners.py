"""Make the partitioner that a policy names.

Where levels are limited it works within cells: rows that have the same nodes on the highest levels that may be
published. Classes of rows of several cells could not be published. Where families are kept whole it works within
them, and there within cells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stream_anon.clustering.cell_partitioner import CellPartitioner, one_cell
from stream_anon.clustering.family_partitioner import FamilyPartitioner
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.ordering.current_order import Adoption, Background, OrderBook
from stream_anon.clustering.forest.ordering.order_file import order_of
from stream_anon.clustering.k_forest.partitioner import KForest
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.partitioning import Partitioner
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.costs.drawn_costs import DrawnCosts
from stream_anon.privacy.costs.lowest_nodes import LowestNodes
from stream_anon.privacy.costs.objective import objective
from stream_anon.recoding.full_domain import FullDomain

_Engine = Forest | KForest | Mondrian


def partitioners(
    policy: Policy,
    *,
    draws: np.random.Generator,
    background: Background | None = None,
    adopted: Callable[[Adoption], None] | None = None,
) -> Callable[[], Partitioner]:
    """Return what makes an empty partitioner of the policy's engine for each window.

    Cost tables are built once, and costs drawn around them for each window; what an engine learns from one window
    serves those after it.

    Parameters
    ----------
    draws
        For the costs, and the changes of an order that are tried, where the policy's engine has no seed of its own.
    background
        Runs what the forest studies between windows, in any thread; see `OrderBook`.
    adopted
        Hears of each order it adopts, as a window opens.

    Raises
    ------
    SettingsError
        If the policy's order was learned for other attributes, or it names a method for files.
    """
    own = _draws_of_engine(policy, draws)
    make = _partitioners(policy, own, background=background, adopted=adopted)
    return lambda: make(own)


def partitioners_by_draws(
    policy: Policy, draws: np.random.Generator | None = None
) -> Callable[[np.random.Generator], Partitioner]:
    """Return what makes an empty partitioner for a window by draws of the window's own; see `partitioners`.

    An engine with a seed draws everything by it.

    Parameters
    ----------
    draws
        For the changes of an order that are tried, where the policy's engine has no seed; what the forest learns
        from one window serves those after it. None: each window learns an order for itself, unless the policy
        names one, and its classes depend on no other window.
    """
    seed, own = policy.engine.seed, None if draws is None else _draws_of_engine(policy, draws)
    make = _partitioners(policy, own)
    return make if seed is None else lambda _: make(np.random.default_rng(seed) if own is None else own)


def _draws_of_engine(policy: Policy, draws: np.random.Generator) -> np.random.Generator:
    seed = policy.engine.seed
    return draws.spawn(1)[0] if seed is None else np.random.default_rng(seed)


def _partitioners(
    policy: Policy,
    own: np.random.Generator | None,
    *,
    background: Background | None = None,
    adopted: Callable[[Adoption], None] | None = None,
) -> Callable[[np.random.Generator], Partitioner]:
    """Return what makes the partitioner of a window by draws for its costs."""
    policy.check_streamed()
    whole = any(attribute.keeps_whole for attribute in policy.diverse)
    of_cells = FamilyPartitioner if whole else CellPartitioner
    if policy.engine.name == FULL_DOMAIN:
        alike = FullDomain(policy.quasi_identifiers, [a.min_level for a in policy.quasi_identifiers])
        return lambda _: of_cells(alike.groups)
    highest = [attribute.max_level for attribute in policy.quasi_identifiers]
    limited = any(level is not None for level in highest)
    if not limited and not whole:
        return _unlimited(policy, own, background=background, adopted=adopted)
    groups = FullDomain(policy.quasi_identifiers, highest).groups if limited else one_cell
    make = _unlimited(policy, own, background=background, adopted=adopted, prepare=False)
    return lambda draws: of_cells(groups, make(draws))


def _unlimited(
    policy: Policy,
    own: np.random.Generator | None,
    *,
    background: Background | None,
    adopted: Callable[[Adoption], None] | None,
    prepare: bool = True,
) -> Callable[[np.random.Generator], _Engine]:
    """Return what makes the partitioner of an engine that may go up to every root.

    Parameters
    ----------
    own
        For the changes of an order that are tried; None where each window learns an order for itself.
    prepare
        Whether it does some of its work while rows arrive, where it can.
    """
    choice, k = policy.engine, policy.crowd
    tables = objective(policy.quasi_identifiers, choice.loss, choice.labels)
    lowest = LowestNodes(policy.quasi_identifiers)
    model = lowest.charged(tables)
    if choice.name == "mondrian" and not choice.least_loss:
        # Median cuts depend little on costs: draws would raise their loss by 6 % and hide next to nothing.
        return lambda _: Mondrian(model, relaxed=choice.relaxed)
    drawn = DrawnCosts(tables, lowest)
    if choice.name == "mondrian":
        return lambda draws: Mondrian(drawn.draw(draws), relaxed=choice.relaxed, least_loss=True)
    if choice.name == "k-forest":
        return lambda draws: KForest(drawn.draw(draws), k)
    order = order_of(choice.order, policy.quasi_identifiers) if choice.order is not None else None

    def book(draws: np.random.Generator) -> OrderBook:
        seed = int(draws.integers(2**62)) if choice.seed is None else choice.seed
        return OrderBook(policy.quasi_identifiers, model, seed, order, background=background, adopted=adopted)

    if own is None:
        return lambda draws: Forest(drawn.draw(draws), book(draws), choice.rounds)
    lasting = book(own)
    return lambda draws: Forest(drawn.draw(draws), lasting, choice.rounds, k if prepare else 0)
