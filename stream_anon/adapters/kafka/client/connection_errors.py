"""Say in words why brokers refuse a client."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InconsistentGroupProtocolError,
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    NodeNotReadyError,
    RecordListTooLargeError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
)

from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.client.tokens import TokenError
from stream_anon.errors import Cause

LET_IN_BUT_NO_ANSWER = (
    "no answer in time, although a broker accepts the login. The worker tries again. If this lasts, check that all "
    "partitions of __transaction_state and __consumer_offsets have a leader and enough replicas in sync"
)
_OTHER_MEMBER = (
    "kafka.group has a member that is not a worker of this service, and the two cannot share partitions. Stop that "
    "consumer, or give it another group (`kafka-consumer-groups.sh --describe --members` names it)"
)
# In this order: that a connection could not be made says less than why.
_CAUSES: dict[Cause, tuple[type[BaseException], ...]] = {
    Cause.PERMISSION: (
        ClusterAuthorizationFailedError,
        GroupAuthorizationFailedError,
        TopicAuthorizationFailedError,
        TransactionalIdAuthorizationFailed,
    ),
    Cause.CREDENTIALS: (
        SaslAuthenticationFailed,
        AuthenticationFailedError,
        UnsupportedSaslMechanismError,
        ssl.SSLCertVerificationError,
        TokenError,
    ),
    Cause.TOPIC: (UnknownTopicOrPartitionError,),
    Cause.TOO_LARGE: (MessageSizeTooLargeError, RecordListTooLargeError),
    Cause.UNREACHABLE: (KafkaConnectionError, NodeNotReadyError, OSError),  # a TimeoutError is an OSError
}
_OTHER_HOST = "is for another host than the one in kafka.bootstrap_servers or in the broker's advertised address"
# By the code with which OpenSSL refuses it.
_OF_CERTIFICATES = {
    9: "is not valid yet",
    10: "has expired",
    **dict.fromkeys((2, 7, 18, 19, 20, 21), "is not signed by an authority in kafka.security.ca_file"),
    **dict.fromkeys((62, 64), _OTHER_HOST),
}


def in_words(error: BaseException, security: Security) -> str:
    """Return what an error of connecting means, in our own words; empty if it does not say that we were refused.

    A broker that is absent refuses nobody.
    """
    for each in chain(error):
        match each:
            case TokenError():
                return str(each)
            case ssl.SSLCertVerificationError():
                unknown = f"cannot be trusted (OpenSSL's code {each.verify_code})"
                return f"the broker's certificate {_OF_CERTIFICATES.get(each.verify_code, unknown)}"
            case ssl.SSLError():
                return _of_tls(_reason(each), security)
            case UnsupportedSaslMechanismError():
                return f"the broker does not offer kafka.security.sasl_mechanism {security.mechanism}"
            case SaslAuthenticationFailed() | AuthenticationFailedError():
                what = "token" if security.by_token else "user name or password"
                return f"the broker refuses our {what} ({security.mechanism})"
            case ValueError():  # of SCRAM: the broker's last answer proves that it knows the password
                return f"the broker's answer does not fit our password ({security.mechanism})"
            case ConnectionRefusedError() | TimeoutError():
                return ""
            case _:
                continue
    if isinstance(error, KafkaConnectionError | ConnectionError | EOFError):
        return (
            "the broker closes connections before the first answer: it is stopping or takes no more of them, or "
            f"its listener is not one for kafka.security.protocol {security.protocol}"
        )
    return ""


def what_failed(error: BaseException) -> str:
    """Return what an error of a request means, or else only its kind: the library's message may quote records."""
    if isinstance(error, InconsistentGroupProtocolError):
        return _OTHER_MEMBER
    if isinstance(error, TimeoutError):
        return "no answer in time"
    retriable = isinstance(error, KafkaError) and bool(error.retriable)
    return type(error).__name__ + (" (temporary)" if retriable else "")


def cause_of(error: BaseException) -> Cause:
    """Return what an error of the client or the brokers means, also if aiokafka has wrapped it."""
    errors = list(chain(error))
    if any(isinstance(each, ssl.SSLError) and _is_of_our_certificate(_reason(each)) for each in errors):
        return Cause.CREDENTIALS
    for cause, kinds in _CAUSES.items():
        if any(isinstance(each, kinds) for each in errors):
            return cause
    return Cause.BROKER


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, what caused it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__


def _reason(error: ssl.SSLError) -> str:
    return str(getattr(error, "reason", None) or "").upper()


def _is_of_our_certificate(reason: str) -> bool:
    return "ALERT" in reason and ("CERT" in reason or "UNKNOWN_CA" in reason or "HANDSHAKE_FAILURE" in reason)


def _of_tls(reason: str, security: Security) -> str:
    if _is_of_our_certificate(reason):
        if security.certificate_file is None:
            return "the broker asks for a certificate of ours: set kafka.security.certificate_file and key_file"
        return (
            "the broker refuses our certificate (kafka.security.certificate_file): it has expired, or is not "
            "signed by an authority that the broker trusts"
        )
    if reason in ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "RECORD_LAYER_FAILURE"):
        return f"the broker does not speak TLS there: kafka.security.protocol is {security.protocol}"
    return f"the TLS connection fails ({reason or 'OpenSSL gives no reason'})"
