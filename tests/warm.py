"""Run `netlimits` in a new process without the second that loading pandas and similar takes.

Each test worker has one server process, which has loaded all libraries and all of netlimits. It
forks for each command. The fork behaves as `python -m netlimits` in the given folder, with the given
environment and files, and can be stopped and killed. It differs in its parent and its command line.
`tests/cli` and others start Python itself, which also proves what a command imports.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

AS_MODULE = ["-m", "netlimits"]
_HEAVY = (
    *("click", "jinja2", "jsonschema", "msgspec", "paramiko", "psutil", "yamlcore"),
    *("numpy", "pandas", "pyarrow.parquet", "scipy.stats", "scipy.optimize"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
)
_MAIN = "__main__"
_STATUS = struct.Struct("!q")


class Popen(subprocess.Popen[Any]):
    """A `subprocess.Popen` of `[sys.executable, "-m", "netlimits", …]`, started by a fork."""

    def _execute_child(self, args: Sequence[object], *rest: Any) -> None:  # type: ignore[override]
        _, preexec, _, passed, cwd, env, _, _, shell, *ends = rest[:15]
        assert not any((preexec, passed, shell)), "these options are not supported"
        program, *argv = map(str, args)
        assert (program, argv[:2]) == (sys.executable, AS_MODULE)
        order = {
            "argv": argv[2:],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "umask": _umask(),
        }
        stdin, _, _, stdout, _, stderr = ends
        files = [end if end != -1 else number for number, end in enumerate((stdin, stdout, stderr))]
        self._ended, writes = os.pipe()
        try:
            control = _server()
            socket.send_fds(control, [json.dumps(order).encode()], [*files, writes])
        finally:
            os.close(writes)
        self.pid = self._received()
        self._child_created = True
        self._close_pipe_fds(*ends)

    def _received(self) -> int:
        message = os.read(self._ended, _STATUS.size)
        assert message, "the server process has died"
        return int(_STATUS.unpack(message)[0])

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self._ended], [], [], 0)[0]:
            return (0, 0)
        status = self._received()
        os.close(self._ended)
        return (self.pid, status)

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)
        return self.returncode


def run(
    argv: Sequence[object],
    *,
    timeout: float | None = None,
    check: bool = False,
    **how: Any,
) -> subprocess.CompletedProcess[Any]:
    """Do as `subprocess.run` of `[sys.executable, "-m", "netlimits", …]`."""
    if how.pop("capture_output", False):
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    text = how.pop("input", None)
    if text is not None:
        how["stdin"] = subprocess.PIPE
    with Popen(argv, **how) as process:
        try:
            printed = process.communicate(text, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    ran = subprocess.CompletedProcess(argv, process.returncode, *printed)
    if check:
        ran.check_returncode()
    return ran


def _umask() -> int:
    """Return the umask of this process."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_servers: dict[int, tuple[socket.socket, subprocess.Popen[bytes]]] = {}


def _server() -> socket.socket:
    """Return the socket of the server process, which ends when it is closed."""
    if os.getpid() not in _servers:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        _servers[os.getpid()] = ours, process
    return _servers[os.getpid()][0]


def end() -> None:
    """End the server process, if there is one."""
    for control, process in _servers.values():
        control.close()
        process.wait()
    _servers.clear()


def _modules() -> list[str]:
    """Return the names of netlimits' modules, except the one that runs it."""
    package = importlib.import_module("netlimits")
    walked = pkgutil.walk_packages(package.__path__, "netlimits.")
    return [module.name for module in walked if module.name != f"netlimits.{_MAIN}"]


def serve(control: socket.socket) -> list[str] | None:
    """Fork for each order; return the arguments of the command in the fork."""
    for name in (*_HEAVY, *_modules()):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the monitoring processes need no wait
    while True:
        data, files, _, _ = socket.recv_fds(control, 2**20, 4)
        if not data:
            return None
        if not os.fork():
            control.close()
            order = json.loads(data)
            return order["argv"] if _begun(order, *files) else None
        for file in files:
            os.close(file)


def _begun(order: dict[str, Any], stdin: int, stdout: int, stderr: int, status: int) -> bool:
    """Return True in the process of the command; the other process reports its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for file in (stdin, stdout, stderr):
            os.close(file)
        os.write(status, _STATUS.pack(pid))
        os.write(status, _STATUS.pack(os.waitpid(pid, 0)[1]))
        os._exit(0)
    os.close(status)
    for number, file in enumerate((stdin, stdout, stderr)):
        os.dup2(file, number)
        os.close(file)
    os.chdir(order["cwd"])
    os.umask(order["umask"])
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    sys.path[0] = order["cwd"]
    return True


if __name__ == "__main__":
    words = serve(socket.socket(fileno=int(sys.argv[1])))
    if words is not None:
        sys.argv[1:] = words
        runpy.run_module("netlimits", run_name=_MAIN, alter_sys=True)
