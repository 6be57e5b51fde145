"""Give an order to a running service over its admin port, and wait for its end."""

from __future__ import annotations

import http.client

from stream_anon.adapters.http.answers import ORDER_HEADER
from stream_anon.adapters.http.server import LOOPBACK
from stream_anon.errors import BrokerError, Refused, SettingsError

_WITHIN = 10.0


def give(host: str, port: int, order: str, seconds: float | None = None) -> str:
    """Give an order to the service at an address; return its answer.

    Parameters
    ----------
    seconds
        After how long the order ends by itself.

    Raises
    ------
    SettingsError
        If the address is not loopback, or if its port is not known.
    Refused
        If the service takes no orders.
    BrokerError
        If no service answers.
    """
    if host not in LOOPBACK:
        raise SettingsError("http.admin_host", f"is {host}: orders are accepted on loopback only")
    if not port:
        raise SettingsError("http.admin_port", "is 0, any free port: set the one that the log line `serving` names")
    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=_WITHIN)
    try:
        path = f"/{order}" if seconds is None else f"/{order}?for={seconds}"
        connection.request("POST", path, headers={ORDER_HEADER: order})
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException):
        raise BrokerError(f"no service answers at {host}:{port}: is it running, and on this machine?") from None
    finally:
        connection.close()
    if response.status != 200:
        raise Refused(f"the service at {host}:{port} does not accept this order ({response.status})")
    return text


def has_ended(host: str, port: int) -> bool:
    """Return whether nothing listens at an address any more."""
    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=_WITHIN)
    try:
        connection.connect()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    finally:
        connection.close()
    return False
