"""What the engines minimise: NCP, level loss, discernibility or classification loss, as cost tables.

What is reported (the GCP) is the unweighted NCP whatever the engine minimises; `loss` has the others as functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.choices.engine_choice import Loss
from stream_anon.microdata.choices.label_counts import LabelCounts
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, level_model
from stream_anon.privacy.costs.model import CostModel

_PRIOR = 10  # records of the whole sample's mixture that stand beside those of a value: few records prove little
_NCP_PART = 0.1  # of the classification loss: what tells nothing of the target shall not be thrown away for nothing
_NOISE = 1e-9  # bits


def objective(attributes: Sequence[QuasiIdentifier], loss: Loss, labels: LabelCounts | None = None) -> CostModel:
    """Return the cost tables by which classes are formed.

    Parameters
    ----------
    attributes
        The quasi-identifiers.
    loss
        `ncp`: see `cost_model`. `prec`: level / height, see `level_model`. `discernibility`: a record pays the size
        of its class, so that a release costs the sum of the squared sizes (Bayardo, Agrawal, ICDE 2005), and its
        mean NCP, which lies below 1 and decides between classes of equal sizes. `classification`: see
        `classification_model`.
    labels
        For `classification` only.
    """
    if loss is Loss.PREC:
        return level_model(attributes)
    if loss is Loss.DISCERNIBILITY:
        total = sum(attribute.weight for attribute in attributes)
        shares = [replace(attribute, weight=attribute.weight / total) for attribute in attributes]
        return cost_model(shares)._replace(crowd=1.0)
    if loss is Loss.CLASSIFICATION:
        if labels is None:
            raise ValueError("classification loss needs the labels of a sample")
        return classification_model(attributes, labels)
    return cost_model(attributes)


def classification_model(attributes: Sequence[QuasiIdentifier], labels: LabelCounts) -> CostModel:
    """Return tables of what is lost for telling a target: in bits, over the largest such loss of any attribute.

    Publishing a node instead of its values loses the entropy of the target under the node minus the mean entropy
    under each of its values (the information gain by which LeFevre et al., KDD 2006, split for a workload), as
    frequent as a sample has them; a value's distribution is drawn towards the whole sample's by ten records. A
    wider node never costs less than one inside. Nine tenths of the cost are this, one tenth is the NCP, both times
    the attribute's weight. Attributes that tell nothing of the target are so generalized first.

    The tables hold the sample's dependence of target and attribute only; Iyengar's loss (KDD 2002), which counts
    the records of a class that have not its most frequent label, is `loss.classification_loss` of a release. It
    cannot be a table of one attribute: it asks for the labels of the class itself, and an engine that minimised it
    would make classes of one label each, which l-diversity is there to forbid.

    Parameters
    ----------
    attributes
        Quasi-identifiers of at most 1,024 values each. A set is taken for all values between its ends.
    labels
        Counts of a sample.
    """
    model = cost_model(attributes)
    told = [_lost_bits(attribute, counts) for attribute, counts in zip(attributes, labels.counts, strict=True)]
    most = max(float(own.max()) for own in told)
    if most < _NOISE:  # no attribute tells anything: what rounding left must not become the loss
        most = 1.0
    bits = np.concatenate(
        [own.ravel() * (attribute.weight / most) for own, attribute in zip(told, attributes, strict=True)]
    )
    table = (1 - _NCP_PART) * bits + _NCP_PART * model.table
    return model._replace(table=table.astype(np.float32), share=np.zeros(len(attributes)))


def _lost_bits(attribute: QuasiIdentifier, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return bits[low, high] lost by publishing codes `low`..`high`, mirrored; O(n^2 labels)."""
    n = attribute.domain.size
    known = counts[:n].astype(np.float64)
    whole = (known.sum(axis=0) + 1) / (known.sum() + known.shape[1])
    weight = known.sum(axis=1) + 1  # a value that the sample lacks counts as one record
    mixture = (known + _PRIOR * whole) / (known.sum(axis=1, keepdims=True) + _PRIOR)
    sums = np.concatenate([np.zeros((1, len(whole))), np.cumsum(mixture * weight[:, None], axis=0)])
    weights = np.concatenate([[0.0], np.cumsum(weight)])
    entropies = np.concatenate([[0.0], np.cumsum(_entropy(mixture) * weight)])

    def lost(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.float64]:
        total = weights[last + 1] - weights[first]
        within = (entropies[last + 1] - entropies[first]) / total
        gain: NDArray[np.float64] = _entropy((sums[last + 1] - sums[first]) / total[:, None]) - within
        return gain.clip(0.0)

    bits = np.zeros((n + 2, n + 2))
    codes = np.arange(n)
    if _publishes_any_interval(attribute):
        for low in range(n - 2, -1, -1):
            own = lost(np.full(n - low - 1, low), codes[low + 1 :])
            bits[low, low + 1 : n] = np.maximum.accumulate(np.maximum(own, bits[low + 1, low + 1 : n]))
    elif n > 1:
        # Every node with two children is the least one over the last code of one and the first of the next.
        nodes = np.array([attribute.node(code, code + 1) for code in range(n - 1)], np.int64)
        first, last = nodes[:, 0], np.minimum(nodes[:, 1], n - 1)
        own = lost(first, last)
        rising = np.array([own[a:b].max() for a, b in zip(first, last, strict=True)])
        for low in range(n - 1):
            bits[low, low + 1 : n] = np.maximum.accumulate(rising[low:])
    bits[:, n:] = bits[0, n - 1]  # what is not known is published with everything, a missing value alone as itself
    bits[n, n] = 0.0
    return np.maximum(bits, bits.T)


def _publishes_any_interval(attribute: QuasiIdentifier) -> bool:
    return attribute.domain.tight or attribute.publication is PublishedForm.VALUES


def _entropy(mixture: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each row of shares, in bits."""
    bits: NDArray[np.float64] = -(mixture * np.log2(np.maximum(mixture, 1e-300))).sum(axis=1)
    return bits
