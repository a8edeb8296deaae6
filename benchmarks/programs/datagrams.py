"""Send datagrams of 1,400 bytes to port 9 of an address, at a rate in Mbit/s, until it is ended.

datagrams.py ADDRESS MBPS
"""

from __future__ import annotations

import socket
import sys
import time

SIZE = 1400


def main() -> None:
    """Send what is due, and sleep."""
    address, rate = sys.argv[1], float(sys.argv[2]) * 1e6 / 8
    sink = socket.socket(type=socket.SOCK_DGRAM)
    start, sent = time.monotonic(), 0
    while True:
        while sent < (time.monotonic() - start) * rate:
            sink.sendto(bytes(SIZE), (address, 9))
            sent += SIZE
        time.sleep(0.002)


if __name__ == "__main__":
    main()
