"""Every recoder that the conformance suite tests; a new one adds a line here and writes no tests of these laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

from stream_anon.microdata.bounds import Shield
from stream_anon.recoding.recoders.datafly import DataFly
from stream_anon.recoding.recoders.fixed_levels import FixedLevels
from stream_anon.recoding.recoders.iab import Iab
from stream_anon.recoding.recoders.incognito import Incognito
from stream_anon.recoding.recoders.min_gen import KMinimal, MinGen
from stream_anon.recoding.recoders.mu_argus import MuArgus
from stream_anon.recoding.recoders.optimal import Ola
from stream_anon.recoding.recoders.recoder import Choice, Recoder
from stream_anon.recoding.recoders.samarati import Samarati
from stream_anon.recoding.recoders.tds import Tds

Names = Sequence[str]
"""The quasi-identifiers of a table, at least one."""

SPECIMENS: Mapping[str, Sequence[Callable[[Names], Recoder]]] = {
    "k-minimal": [lambda names: KMinimal(tuple(reversed(names)))],
    "mingen": [lambda names: MinGen((names[-1],)), lambda names: MinGen(collapse_levels=True)],
    "samarati": [lambda names: Samarati()],
    "incognito": [lambda names: Incognito(), lambda names: Incognito(collapse_levels=True)],
    "ola": [
        lambda names: Ola("ncp"),
        lambda names: Ola("prec"),
        lambda names: Ola("prec", collapse_levels=True),
        lambda names: Ola("discernibility"),
        lambda names: Ola("entropy"),
    ],
    "datafly": [lambda names: DataFly(), lambda names: DataFly(keep_suppressed=True)],
    "mu-argus": [
        lambda names: MuArgus((names[0],), tuple(names[1:2]), tuple(names[2:3]), outliers=0.2),
        lambda names: MuArgus((names[0],), tuple(names[1:2]), tuple(names[2:3]), complete=True),
        lambda names: MuArgus(
            (names[0],), tuple(names[1:2]), tuple(names[2:3]), choices=(Choice(names[0], 1),), complete=True
        ),
    ],
    "tds": [lambda names: Tds("class")],
    "iab": [
        lambda names: Iab(),
        lambda names: Iab((Shield(tuple(names[:1]), 3),), most_expanded=2),
    ],
    "full-domain": [lambda names: FixedLevels(dict.fromkeys(names[:1], 1))],
}
"""Recoders by the name of their method, in several settings where these make other answers."""


def recoders() -> st.SearchStrategy[Callable[[Names], Recoder]]:
    """Return a recoder, once it hears which attributes there are."""
    return st.sampled_from([each for own in SPECIMENS.values() for each in own])
