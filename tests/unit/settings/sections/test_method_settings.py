from __future__ import annotations

from typing import get_args

from stream_anon.microdata.choices.method_choice import METHODS
from stream_anon.settings.sections.method_settings import MethodSettings


def test_the_settings_know_every_method_and_every_option_of_one() -> None:
    fields = MethodSettings.model_fields
    assert set(get_args(fields["name"].annotation)) == METHODS.keys()
    assert fields.keys() - {"name"} == set().union(*METHODS.values())


def test_options_that_were_not_given_are_left_to_the_method() -> None:
    chosen = MethodSettings(name="iab", requirements=[{"attributes": ["zip"], "k": 20}]).choice()  # type: ignore[list-item]
    assert chosen.options == {"requirements": [{"attributes": ["zip"], "k": 20}]}
    assert MethodSettings(name="ola", max_suppressed="0.5%").choice().max_suppressed.of(1000) == 5
    assert MethodSettings(name="ola", max_suppressed=40).choice().max_suppressed.of(1000) == 40
