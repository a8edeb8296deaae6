"""scripts/demo: machines where they can be had, namespaces elsewhere, and one line that says why."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "scripts" / "demo"

SETUP = """\
#!/bin/sh
[ "$1" != --machines ] || [ -z "$NO_PACKAGE" ] || { echo "$NO_PACKAGE" >&2; exit 1; }
"""
NETLIMITS = """\
#!/bin/sh
echo "$*" >>asked
case "$*" in
*--machines*) [ -z "$NO_MACHINE" ] || { echo "$NO_MACHINE" >&2; exit 1; } ;;
esac
[ "$1 $2" != "lab up" ] || echo hosts.yaml
while [ $# -gt 0 ]; do [ "$1" != --out ] || mkdir -p "${2%.csv}"; shift; done
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the demo in it, whose setup and netlimits only write down what they are asked."""
    for name, text in (("scripts/setup", SETUP), (".venv/bin/netlimits", NETLIMITS)):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    shutil.copy(DEMO, tmp_path / "scripts")
    if os.geteuid():
        (tmp_path / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (tmp_path / "sudo").chmod(0o755)
    return tmp_path


BUFFER = "settings.1.sysctl={net.core.rmem_default: 16777216}"


def ran(checkout: Path, **why: str) -> tuple[list[str], list[str]]:
    """The lines about machines that the demo says, and the labs that it asks for.

    Where they are machines, UDP's buffer is one that their memory has room for.
    """
    path = f"{checkout}:{os.environ['PATH']}"
    done = subprocess.run(
        [checkout / "scripts" / "demo"],
        env={**os.environ, "PATH": path, **why},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    complaints = [line for line in (done.stderr + done.stdout).splitlines() if "machines" in line]
    calls = (checkout / "asked").read_text().splitlines()
    words = [" ".join(line.split()[:2]) for line in calls]
    assert words[words.index("lab status") :][2:4] == ["diagnose --hosts", "lab down"]
    labs = [line for line in calls if line.startswith("lab up")]
    (campaign,) = (line for line in calls if line.startswith("run "))
    assert (BUFFER in campaign) == ("--machines" in labs[-1])
    return complaints, labs


def test_it_has_machines(checkout: Path):
    assert ran(checkout) == ([], ["lab up --name demo --machines"])


def test_without_the_packages_of_machines_it_says_so_and_has_namespaces(checkout: Path):
    complaints, labs = ran(checkout, NO_PACKAGE="packages: there is no qemu-system-x86 here")
    assert complaints == ["no machines (there is no qemu-system-x86 here): namespaces instead"]
    assert labs == ["lab up --name demo"]


def test_where_no_machine_can_be_built_it_says_so_and_has_namespaces(checkout: Path):
    complaints, labs = ran(checkout, NO_MACHINE="netlimits: machines need /dev/net/tun")
    assert complaints == ["no machines (machines need /dev/net/tun): namespaces instead"]
    assert labs == ["lab up --name demo --machines", "lab up --name demo"]
