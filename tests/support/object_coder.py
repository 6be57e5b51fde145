"""Code records that are objects already, without a format."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.microdata.coding import CodedRecord, Misfit, RecordCoder, find
from stream_anon.microdata.policy import Policy


class ObjectCoder(RecordCoder):
    """A coder of decoded records."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._paths = tuple(attribute.path for attribute in policy.attributes)

    def code_object(self, record: Mapping[str, object]) -> CodedRecord | Misfit:
        """Code a decoded record, nested as its attributes' paths say."""
        return self.code([find(record, path) for path in self._paths])
