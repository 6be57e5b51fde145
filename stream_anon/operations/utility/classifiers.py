"""Classifiers of scikit-learn, and a search for the best by FLAML, each within the same time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.ports import Clock

Classifier = Any  # scikit-learn has no types
SEARCH = "search"
_STAGES = (64, 16, 4, 1)  # parts of the training rows that are tried in turn, the last one all of them
_MORE = 1.5  # times the growth so far: the time of some classifiers grows faster than the rows
_FOLDS = 3
_SEARCHING = 2 / 3  # of the time


CLASSIFIERS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = MappingProxyType(
    {
        "logistic regression": ("linear_model", "LogisticRegression", {"max_iter": 300}),
        "decision tree": ("tree", "DecisionTreeClassifier", {"min_samples_leaf": 10}),
        "random forest": ("ensemble", "RandomForestClassifier", {"n_estimators": 50, "min_samples_leaf": 3}),
        "gradient boosting": (
            "ensemble",
            "HistGradientBoostingClassifier",
            {"learning_rate": 0.2, "max_iter": 30, "max_leaf_nodes": 15, "early_stopping": False},
        ),
        "nearest neighbours": ("neighbors", "KNeighborsClassifier", {}),
    }
)
"""By name, the module and the class of scikit-learn, and its options."""


def _untrained(name: str, seed: int, rows: int) -> Classifier:
    """Return a classifier that is to be trained on so many rows."""
    module, kind, options = CLASSIFIERS[name]
    own = {"n_neighbors": min(15, rows)} if kind == "KNeighborsClassifier" else {"random_state": seed}
    return getattr(import_module(f"sklearn.{module}"), kind)(**options, **own)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A trained classifier.

    Parameters
    ----------
    model
        Of scikit-learn, or of FLAML.
    rows
        How many rows it was trained on.
    """

    model: Classifier
    rows: int

    def says(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the label that it says of each row, int64[n]."""
        with _one_thread(), _unwarned():
            return np.asarray(self.model.predict(rows), np.int64)


@dataclass(frozen=True, slots=True)
class Effort:
    """What every classifier may take.

    Parameters
    ----------
    seconds
        For the training of one. A stage that would probably exceed them is not begun.
    seed
        Of all draws.
    clock
        What measures.
    """

    seconds: float
    seed: int
    clock: Clock


def fit(name: str, rows: NDArray[np.float32], labels: NDArray[np.int64], effort: Effort) -> Fitted:
    """Return a classifier that was trained within the time: on all rows, or on as many as the time suffices for.

    Parameters
    ----------
    name
        One of `CLASSIFIERS`, or `SEARCH`.
    rows, labels
        float32[n, features] and int64[n], with two labels at least.
    """
    with _one_thread():
        return _searched(rows, labels, effort) if name == SEARCH else _staged(name, rows, labels, effort)


def _one_thread() -> AbstractContextManager[object]:
    """Keep scikit-learn on one thread: there a classifier takes as long beside others as alone."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


@contextmanager
def _unwarned() -> Iterator[None]:
    """Silence what libraries say of each other's versions, and of columns without names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _staged(name: str, rows: NDArray[np.float32], labels: NDArray[np.int64], effort: Effort) -> Fitted:
    order = np.random.default_rng(effort.seed).permutation(len(rows))
    found: Fitted | None = None
    tried: list[tuple[int, float]] = []
    _untrained(name, effort.seed, len(rows))  # the first one imports its module, which takes its time once only
    begun = effort.clock.monotonic()
    for part in _STAGES:
        chosen = order[: max(1, len(rows) // part)]
        if len(np.unique(labels[chosen])) < 2:
            continue
        left = effort.seconds - (effort.clock.monotonic() - begun)
        if tried and _expected(tried, len(chosen)) > left:
            break
        model = _untrained(name, effort.seed, len(chosen))
        start = effort.clock.monotonic()
        found = Fitted(model.fit(rows[chosen], labels[chosen]), len(chosen))
        tried.append((len(chosen), effort.clock.monotonic() - start))
    if found is None:
        raise ValueError("a classifier needs two labels")
    return found


def _expected(tried: list[tuple[int, float]], rows: int) -> float:
    """Return the seconds that training on so many rows will probably take, by what fewer rows took.

    After one stage they grow with the rows; after two they are a constant and something that grows.
    """
    last_rows, last = tried[-1]
    if len(tried) == 1:
        return last * rows / last_rows
    before_rows, before = tried[-2]
    growth = max(0.0, last - before) / max(1, last_rows - before_rows)
    return last + _MORE * growth * (rows - last_rows)


def _searched(rows: NDArray[np.float32], labels: NDArray[np.int64], effort: Effort) -> Fitted:
    """Return the best that FLAML finds by cross-validation, trained on all rows.

    It searches for a part of the time, because training the best on all rows takes time too.

    References
    ----------
    Wang, Wu, Weimer, Zhu: FLAML, a fast and lightweight AutoML library. MLSys 2021.
    """
    with _unwarned():
        model: Classifier = import_module("flaml").AutoML()  # by name: what it says of its types is not whole
        model.fit(
            rows,
            labels,
            task="classification",
            metric="accuracy",
            time_budget=effort.seconds * _SEARCHING,
            eval_method="cv",
            n_splits=_FOLDS,
            sample=False,
            n_jobs=1,
            seed=effort.seed,
            verbose=0,
        )
    return Fitted(model, len(rows))
