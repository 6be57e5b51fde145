from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.bounds import ReturnBound, Shield
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.output.statement import Statement
from stream_anon.microdata.population.presence_bound import PresenceBound
from stream_anon.service.status.criteria_in_words import in_words
from stream_anon.settings.policy_file import load_policy

POLICY = """
privacy: {k: 7, individual: every-record}
attributes:
  age: {role: quasi-identifier, numeric: {min: 0, max: 99}}
  diagnosis: {role: sensitive}
"""


def test_every_criterion_that_is_asked_is_named(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    policy = load_policy(file)
    assert in_words(policy) == ("k 7", "max_share 0.5")

    diversity = Diversity(3, 2.5, Recursion(2.0, 3), Closeness(0.2, Distance.EQUAL), None, 0.5, 1.5, 2)
    assert in_words(replace(policy, diversity={"diagnosis": diversity}))[2:] == (
        "diagnosis: distinct_l 3",
        "diagnosis: entropy_l 2.5",
        "diagnosis: alpha 0.5",
        "diagnosis: recursive_cl c = 2, l = 3",
        "diagnosis: t_closeness 0.2 (equal)",
        "diagnosis: delta_disclosure 1.5",
        "diagnosis: beta_likeness 2",
    )
    assert in_words(replace(policy, shields=(Shield(("age",), 40),)))[2:] == ("shield age: k 40",)
    families = replace(policy.attribute("diagnosis"), families=(("a", "b", None), ("c", "d")))
    declared = replace(policy, attributes=(policy.attribute("age"), families))
    assert in_words(declared)[2:] == ("diagnosis: families of 2 values or more",)
    rested = replace(policy, attributes=(policy.attribute("age"), replace(families, rest="other")))
    assert in_words(rested)[2:] == ("diagnosis: families of 2 values or more, any other value as other",)
    whole = replace(policy, attributes=(policy.attribute("age"), replace(families, shown_as=ShownAs.VALUE)))
    assert in_words(whole)[2:] == (
        "diagnosis: distinct_l 2",
        "diagnosis: families of 2 values or more, each whole in a class",
    )
    bounded = replace(policy, individual="person", attributes=(Identifier("person"), *policy.attributes))
    known = PresenceBound(0.3, "sha256:" + "1" * 64, 20_000)
    words = "of 20,000 people at most 0.3 of those who fit a class are in it"
    assert in_words(replace(policy, presence=known))[2:] == (words,)
    bound = ReturnBound(10, 30 * 86_400.0)
    assert in_words(bounded)[0] == "k 7, a risk of 1/7 at most"
    stated = replace(policy, release=Statement(owner="nobody", valid_until=dt.date(2027, 3, 31)))
    assert in_words(stated)[2:] == ("released until 2027-03-31",)
    assert in_words(replace(bounded, returning=bound))[2:] == ("one person at most 10 times in 30 days",)
