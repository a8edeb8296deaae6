"""This machine's streams: what one thread closes while another waits for it."""

from __future__ import annotations

import threading

from netlimits.hosts.local import LocalStream


def test_a_stream_may_be_closed_while_it_is_read_and_written():
    errors: list[Exception] = []

    def talk(stream: LocalStream) -> None:
        try:
            while not stream.exchange(memoryview(b"x" * 100_000), 0.01).ended:
                pass
        except Exception as error:
            errors.append(error)

    for _ in range(50):
        stream = LocalStream("cat")
        thread = threading.Thread(target=talk, args=(stream,))
        thread.start()
        stream.close()
        thread.join()
    assert not errors
