"""Exit with 0 if the service in this container is ready, with 1 if not. Needs the standard library only."""

import http.client
import os
import sys


def main() -> int:
    """Ask `/readyz` on the port of health and metrics, which the image says by a variable."""
    port = int(os.environ.get("STREAM_ANON__HTTP__PORT", "9464"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
    try:
        connection.request("GET", "/readyz")
        return 0 if connection.getresponse().status == 200 else 1
    except (OSError, http.client.HTTPException):
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
