"""A server whose program reads slowly: iperf3's connections go through this relay.

    relay.py BYTES SECONDS iperf3 -s -p PORT ...

It listens on the server's port, starts the server 1,000 ports higher, and forwards what arrives:
it reads at most BYTES of a connection, then sleeps for SECONDS.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

ABOVE = 1000


def forward(source: socket.socket, sink: socket.socket, size: int, pause: float) -> None:
    """Copy from `source` to `sink` until `source` ends."""
    with suppress(OSError):
        while data := source.recv(size):
            sink.sendall(data)
            time.sleep(pause)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def connect(address: tuple[str, int]) -> socket.socket:
    """Connect to the server; retry until it listens."""
    for _ in range(200):
        with suppress(OSError):
            return socket.create_connection(address)
        time.sleep(0.01)
    sys.exit(f"{address}: nothing listens")


def main() -> None:
    """Relay until the server ends, and end with its exit status."""
    size, pause, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    at = command.index("-p") + 1
    host = command[command.index("-B") + 1] if "-B" in command else "0.0.0.0"
    port = int(command[at])
    command[at] = str(port + ABOVE)
    server = subprocess.Popen(command)
    listener = socket.create_server((host, port))

    def accept() -> None:
        while True:
            near, _ = listener.accept()
            far = connect((host, port + ABOVE))
            threading.Thread(target=forward, args=(near, far, size, pause), daemon=True).start()
            threading.Thread(target=forward, args=(far, near, 65536, 0.0), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        code = server.wait()
        time.sleep(0.1)
    finally:
        server.kill()
    sys.exit(code)


if __name__ == "__main__":
    main()
