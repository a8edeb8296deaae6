"""Another kernel for a test: Debian's user-mode-linux, which boots on this machine's own files.

It has what this machine's kernel may lack (fq, netem, tbf). Its mounts, networks and processes
are its own; files are not, but for those below folders that it is told to keep to itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

_INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
exec >{out} 2>&1
mount -t proc proc /proc; mount -t sysfs sys /sys
mkdir -p /dev/pts; mount -t devpts devpts /dev/pts
for folder in {private}; do mount -t tmpfs -o mode=755 tmpfs $folder; done
cd /usr/lib/uml/modules/$(uname -r)/kernel
for module in {modules}; do insmod $module.ko; done
ip link set lo up
cd {root}
{commands}
exec >/dev/null 2>&1
halt -f
"""


def run(
    folder: Path,
    commands: str,
    modules: Iterable[str],
    private: Iterable[str | Path] = (),
    mb: int = 256,
) -> str:
    """Boot, run shell `commands` as root in the checkout, and return all that was printed.

    `modules` are named as below the kernel's folder, those that others need first. `private`
    are folders that are empty in there at first, and whose files nobody else sees.
    """
    if os.geteuid() != 0:
        pytest.skip("hostfs as the root file system needs root")
    missing = [name for name in ("linux.uml", "insmod", "script") if not shutil.which(name)]
    assert not missing, f"no {', '.join(missing)}: scripts/setup --tests installs them"
    out, init = folder / "printed", folder / "init"
    init.write_text(
        _INIT.format(
            out=out,
            private=" ".join(map(str, private)),
            modules=" ".join(modules),
            root=Path(__file__).parents[1],
            commands=commands,
        )
    )
    init.chmod(0o755)
    boot = (
        f"linux.uml mem={mb}M rootfstype=hostfs rootflags=/ rw init={init} "
        "con0=fd:0,fd:1 con=null con1=null quiet"
    )
    subprocess.run(
        ["script", "-qec", boot, "/dev/null"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    return out.read_text()
