"""`anonymize --choose`: a person at a terminal is what a method calls the data's holder."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from stream_anon.errors import Refused, SettingsError
from stream_anon.microdata.policy import Policy
from stream_anon.recoding.recoders.recoder import Choice, Situation

METHOD = "mu-argus"


def check_choosing(policy: Policy, terminal: bool) -> None:
    """Raise SettingsError unless there is something to choose, and somebody who can."""
    method = policy.method
    if method is None or method.name != METHOD:
        raise SettingsError("--choose", f"is for method: {METHOD} only")
    for key in ("choices", "outliers"):
        if method.options.get(key) is not None:
            raise SettingsError("--choose", f"asks what method.{key} decides: leave one of them out")
    if not terminal:
        raise SettingsError("--choose", "asks at a terminal, and there is none: use method.choices")


class TerminalHolder:
    """Shows a table of alternatives and asks for one, again and again; keeps what was chosen.

    Parameters
    ----------
    console
        Where the alternatives are shown: levels, names of attributes and counts.
    ask
        Returns a line that a person typed after a question; EOFError where nobody can.
    """

    def __init__(self, console: Console, ask: Callable[[str], str]) -> None:
        self._console = console
        self._ask = ask
        self.chosen: list[Choice] = []

    def __call__(self, situation: Situation) -> Choice | None:
        """Return what the person chooses.

        Raises
        ------
        Refused
            If nobody answers.
        """
        self._show(situation)
        choices = [own.choice for own in situation.alternatives]
        while True:
            try:
                answer = self._ask("number of what to generalize, or nothing to generalize no more: ").strip()
            except EOFError:
                raise Refused("nobody answered --choose, and nothing was written") from None
            if not answer:
                return None
            if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(choices):
                self.chosen.append(choices[int(answer) - 1])
                return self.chosen[-1]
            self._console.print(f"that is not a number from 1 to {len(choices)}")

    def as_settings(self) -> str:
        """Return what was chosen as a line of the settings file, which chooses it again."""
        told = ", ".join(f"{{attribute: {own.attribute}, level: {own.level}}}" for own in self.chosen)
        return f"choices: [{told}]"

    def _show(self, situation: Situation) -> None:
        self._console.print(
            f"{situation.outliers:,} of {situation.records:,} records are outliers: few people share one of their "
            "combinations of values. Values that you do not generalize now are blanked in single records."
        )
        table = Table(box=None, pad_edge=False)
        for title in ("", "attribute", "from level", "to level", "outliers then"):
            table.add_column(title, justify="left" if title == "attribute" else "right", no_wrap=True)
        for number, own in enumerate(situation.alternatives, start=1):
            name, level = own.choice.attribute, own.choice.level
            table.add_row(str(number), name, str(situation.levels[name]), str(level), f"{own.outliers:,}")
        self._console.print(table)
