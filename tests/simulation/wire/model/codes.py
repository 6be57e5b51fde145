"""The error codes that the model answers, and Kafka's names for them."""

from __future__ import annotations

NONE = 0
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER = 6
NOT_COORDINATOR = 16
NOT_ENOUGH_REPLICAS = 19
ILLEGAL_GENERATION = 22
UNKNOWN_MEMBER_ID = 25
UNSUPPORTED_VERSION = 35
OUT_OF_ORDER_SEQUENCE = 45
INVALID_PRODUCER_EPOCH = 47
INVALID_TXN_STATE = 48
INVALID_PRODUCER_ID_MAPPING = 49
CONCURRENT_TRANSACTIONS = 51
OPERATION_NOT_ATTEMPTED = 55
UNSTABLE_OFFSET_COMMIT = 88
PRODUCER_FENCED = 90
TRANSACTIONAL_ID_NOT_FOUND = 105


class Refused(Exception):  # noqa: N818 - a broker refuses, nothing has failed
    """A request is refused with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
