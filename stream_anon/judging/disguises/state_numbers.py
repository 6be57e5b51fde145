"""Numbers that states give to people, recognised by their check digits; python-stdnum knows each of them.

A number alone says little: of random digits one in ten has a right check digit. So a field is asked whether all of
its values but a few are numbers of one and the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import cast

# They have a date of birth, two check digits or letters at their places. Of random digits fewer than one in ten
# pass, and of moments one in six. Those without a check digit, such as the Danish CPR and Czech numbers of before
# 1954, are left out: dates and times, and numbers that count on from a date, would pass for them.
OF_PEOPLE = (
    "at.vnr", "be.ssn", "bg.egn", "br.cpf", "ch.ssn", "cn.ric", "cz.rc", "de.idnr", "ee.ik", "es.dni", "es.nie",
    "fi.hetu", "fr.nir", "gr.amka", "ie.pps", "is_.kennitala", "it.codicefiscale", "kr.rrn", "mu.nid", "mx.curp",
    "no.fodselsnummer", "pl.pesel", "ro.cnp", "se.personnummer", "si.emso", "tr.tckimlik", "za.idnr",
)  # fmt: skip
# One check digit, and nothing else: companies, books or accounts elsewhere have numbers that pass as well.
ALSO_OF_OTHERS = (
    "au.tfn", "ca.sin", "cl.rut", "do.cedula", "ec.ci", "gb.nhs", "hr.oib", "il.idnr", "in_.aadhaar", "jp.in_",
    "nl.bsn", "th.pin", "ua.rntrc",
)  # fmt: skip

_LEAST_DIGITS, _MOST_LENGTH = 6, 20
_CZECH_DIGITS = 10  # with a check digit


def most_of_one_state(texts: Sequence[str], states: Iterable[str], least: float) -> int:
    """Return how many texts are numbers of the state whose numbers most of them are; 0 below a share of `least`.

    O(n) for each of the states whose number they are; for all others it ends with the few that need not be.
    """
    may_be = [text for text in texts if len(text) <= _MOST_LENGTH and sum(map(str.isdigit, text)) >= _LEAST_DIGITS]
    spare = int((1 - least) * len(texts)) - (len(texts) - len(may_be))
    return max((_valid(may_be, state, spare) for state in states), default=0) if spare >= 0 and may_be else 0


def _valid(texts: Sequence[str], state: str, spare: int) -> int:
    """Return how many texts are numbers of a state; 0 if more than `spare` are none."""
    is_valid = cast("Callable[[str], bool]", import_module(f"stdnum.{state}").is_valid)
    if state == "it.codicefiscale":  # of digits alone it is a company's
        texts = [text if any(map(str.isalpha, text)) else "" for text in texts]
    if state == "cz.rc":
        texts = [text if sum(map(str.isdigit, text)) == _CZECH_DIGITS else "" for text in texts]
    valid = 0
    for text in texts:
        if is_valid(text):
            valid += 1
        else:
            spare -= 1
            if spare < 0:
                return 0
    return valid
