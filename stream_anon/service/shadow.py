"""Run beside the service without publishing: with a group of its own, and certificates in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stream_anon.errors import SettingsError
from stream_anon.settings.sections.kafka_settings import KafkaSettings

SUFFIX = ".shadow"


@dataclass(frozen=True, slots=True)
class Beside:
    """What a shadow run has of its own.

    Parameters
    ----------
    group
        Its consumer group.
    keep
        Takes the lines of a window's certificate.
    """

    group: str
    keep: Callable[[Sequence[bytes]], None]


@dataclass(frozen=True, slots=True)
class Shadow:
    """How a shadow run differs from a service.

    Parameters
    ----------
    certificates
        File to which certificates are appended, one part a line, or a signature.
    group
        Its consumer group; if empty, the service's with `.shadow` appended.
    """

    certificates: Path
    group: str = ""

    @contextmanager
    def beside(self, kafka: KafkaSettings) -> Iterator[Beside]:
        """Open the file as long as the context lasts; readers of the file see each addition at once.

        Raises
        ------
        SettingsError
            If it cannot be written, or if the group is the service's.
        """
        group = self.group or kafka.group + SUFFIX
        if group == kafka.group:
            text = f"must not be kafka.group ({group}): the shadow would take partitions from the service"
            raise SettingsError("--shadow-group", text)
        try:
            file = self.certificates.open("ab")
        except OSError as error:
            raise SettingsError("--shadow", f"{self.certificates} cannot be written ({error.strerror})") from None

        def keep(parts: Sequence[bytes]) -> None:
            file.writelines(part + b"\n" for part in parts)
            file.flush()

        with file:
            yield Beside(group, keep)
