"""Fixtures of the labs (namespaces and machines) for tests marked `lab`, and the order of tests."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narrow_path
import pytest
import warm
from drivers import Drivers
from guests import Guests
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from netlimits.lab import labs

# no deadline for examples, since the machine may be busy
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

_OURS = re.compile(r"[tdmsinuo]([0-9]+)")

_LONGEST = (
    "settings/test_on_machines.py",
    "faults/test_machines.py",
    "lab/test_guests.py",
    "faults/test_late.py",
    "faults/test_attacks_on_hosts.py",
    "campaign/test_cluster_lab.py",
    "campaign/test_mesh_schedule_lab.py",
    "restore/test_guard_lab.py",
    "campaign/test_campaign_lab.py",
    "test_experiments_lab.py",
    "checks/test_checks_lab.py",
    "campaign/test_physics_lab.py",
    "fuzz/test_fuzz.py",
    "faults/test_logins.py",
    "campaign/test_duet_lab.py",
    "test_experiments_lab_pacing.py",
    "report/test_browser.py",
    "settings/test_undo_both_ways.py",
    "test_experiments_lab_streams.py",
    "cli/test_compare_lab.py",
    "restore/test_guard.py",
    "lab/test_link.py",
    "limits/test_sequel_lab.py",
    "faults/test_disks.py",
    "reproduce/test_reproduce.py",
    "faults/test_connection.py",
    "test_recipes.py",
    "hosts/test_hostile.py",
    "test_security_lab.py",
    "faults/test_hanging.py",
    "test_security.py",
    "test_verdicts.py",
    "test_notebooks.py",
    "hosts/test_perl.py",
    "hosts/test_in_turn.py",
    "faults/test_notes.py",
    "test_disturbance.py",
    "archive/test_foreign_folder_lab.py",
    "cli/test_published.py",
    "lab/test_lab.py",
    "faults/test_attacks.py",
    "restore/test_races.py",
    "faults/test_clocks.py",
    "campaign/test_schedule.py",
    "faults/test_settings.py",
    "docs/test_pages_lab.py",
    "checks/test_family.py",
    "lab/test_guests_faults.py",
    "test_layers.py",
    "test_coverage.py",
    "evidence/test_command.py",
    "experiment/test_plan.py",
    "test_gallery_archives.py",
    "report/test_report.py",
    "hosts/test_ssh.py",
    "cli/test_compare.py",
    "reproduce/test_published.py",
    "settings/test_in_namespaces.py",
    "tools/test_nttcp_lab.py",
    "settings/test_qdisc.py",
    "tools/test_commands.py",
    "campaign/test_under_load_lab.py",
    "settings/test_load.py",
    "hosts/test_run.py",
    "analysis/test_comparison.py",
    "archive/test_store.py",
    "report/test_compared.py",
    "campaign/test_under_load.py",
    "evidence/test_clocks.py",
    "cli/test_plan.py",
)
"""The slowest files, slowest first: started last, they would keep one worker busy alone."""


_OF_MACHINES = (
    (
        "settings/test_on_machines.py",
        "faults/test_machines.py",
        "lab/test_guests.py",
        "lab/test_link.py",
    ),
    ("faults/test_late.py", "faults/test_attacks_on_hosts.py"),
    ("campaign/test_cluster_lab.py", "campaign/test_mesh_schedule_lab.py"),
)
"""Groups of files that share a worker, since building their labs takes longer than the tests."""


class _ByMachines(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Assign a file's tests to one worker, and those of several files that share machines."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((group[0] for group in _OF_MACHINES if file.endswith(group)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return _ByMachines(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Exclude `long` tests from `-m "not lab"`, and order the slowest files first."""
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker("lab")
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


def pytest_collection_finish() -> None:
    """Exempt modules and tests, which live to the end, from garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    warm.end()


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a state folder of this test run, in which campaigns are registered."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


def _lab(letter: str, **options: Any) -> Iterator[labs.Lab]:
    """Build a lab named by a letter and the process id, after removing those of killed test runs."""
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    for name in labs.names():
        match = _OURS.fullmatch(name)
        if match and not Path("/proc", match[1]).exists():
            labs.down(name)
    name = f"{letter}{os.getpid()}"
    try:
        yield labs.up(name, **options)
    finally:
        labs.down(name)


@pytest.fixture(scope="session")
def lab() -> Iterator[labs.Lab]:
    """Two namespaces with a bottleneck between them."""
    for pair in _lab("t"):
        narrow_path.build(pair)
        yield pair


@pytest.fixture(scope="session")
def direct() -> Iterator[labs.Lab]:
    """Two namespaces joined by a veth pair, as `lab up` builds them."""
    yield from _lab("d")


@pytest.fixture(scope="session")
def switched() -> Iterator[labs.Lab]:
    """Three namespaces at a switch, with an MTU of 1500."""
    yield from _lab("s", hosts=3, mtu=1500)


@pytest.fixture(scope="session")
def many() -> Iterator[labs.Lab]:
    """Eight namespaces at a switch with bottlenecks, for meshes."""
    for eight in _lab("n", hosts=8):
        narrow_path.narrow(eight)
        yield eight


@pytest.fixture(scope="session")
def machines() -> Iterator[labs.Lab]:
    """Two machines with two CPUs and two queues each, and kernels with every qdisc.

    A test restores them: one that broke a machine reboots it (`guests.reboot`).
    """
    yield from _lab("m", guest=labs.Guest(cpus=2))


@pytest.fixture(scope="session")
def small_machines() -> Iterator[labs.Lab]:
    """Two machines of one CPU, on which a campaign takes some 30 % less of this machine's CPU."""
    yield from _lab("o", guest=labs.Guest())


@pytest.fixture(scope="module")
def intel() -> Iterator[labs.Lab]:
    """Two machines with e1000e NICs."""
    yield from _lab("i", guest=labs.Guest(nic="e1000e"))


def _guests(machines: labs.Lab) -> Iterator[Guests]:
    connections = Guests(machines)
    try:
        yield connections
    finally:
        connections.close()


@pytest.fixture(scope="session")
def guests(machines: labs.Lab) -> Iterator[Guests]:
    """Connections to `machines`."""
    yield from _guests(machines)


@pytest.fixture
def on(machines: labs.Lab, guests: Guests, tmp_path: Path) -> Iterator[Drivers]:
    """Campaigns on `machines`, which are restored afterwards."""
    with Drivers(machines, guests, tmp_path) as drivers:
        yield drivers


@pytest.fixture(scope="session")
def small_guests(small_machines: labs.Lab) -> Iterator[Guests]:
    """Connections to `small_machines`."""
    yield from _guests(small_machines)
