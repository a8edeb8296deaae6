"""The tutorial on two hosts, and the way into containers, as the pages have them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docs_pages
import pytest
import warm
import yaml

import netlimits as nl

pytestmark = pytest.mark.lab

SHORT = {"run": ("--set", "measure.netperf.seconds=1", "--set", "repeat.replicates=2")}


@pytest.fixture
def run_sshd() -> Iterator[None]:
    """sshd's own folder, which the page's command makes: gone again where it was not before."""
    place = Path("/run/sshd")
    before = place.exists()
    yield
    if place.exists() and not before:
        place.rmdir()


def ran(words: tuple[str, ...], folder: Path) -> str:
    done = warm.run(
        (sys.executable, "-m", *words), cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_who_follows_the_tutorial_gets_its_answer(lab, tmp_path: Path) -> None:
    for file, text in docs_pages.files("tutorial.md").items():
        (tmp_path / file).write_text(text)
    (tmp_path / "hosts.yaml").write_text(lab.hosts_file.read_text())
    for command in docs_pages.commands("tutorial.md"):
        if "hosts" in command.needs:
            ran((*command.words, *SHORT.get(command.words[1], ())), tmp_path)
    frame = nl.open(tmp_path / "results" / "first").frame()
    assert frame["status"].tolist() == ["ok"] * 4
    assert (tmp_path / "results" / "first" / "report.html").stat().st_size > 10_000


@pytest.mark.usefixtures("run_sshd")
def test_sshd_on_standard_input_is_a_way_into_a_namespace_as_into_a_container(
    lab, tmp_path: Path
) -> None:
    """As the page has it, but that `ip netns exec` stands where `docker exec -i` does."""
    text = docs_pages.files("how-to/containers.md")["ssh_config"]
    (line,) = [line for line in text.splitlines() if "ProxyCommand" in line]
    hosts = {"ssh_config": "ssh_config"}
    lines = []
    for role, machine in yaml.safe_load(lab.hosts_file.read_text()).items():
        if role == "ssh_config":
            continue
        sshd = f"/usr/sbin/sshd -i -f {lab.folder / role / 'sshd_config'}"
        own = line.replace("docker exec -i %h", f"ip netns exec {lab.namespace(role)}")
        lines += [f"Host {role}-c", own.replace("/usr/sbin/sshd -i", sshd)]
        shown = subprocess.run(
            ["ssh", "-G", "-F", lab.folder / "ssh_config", machine["ssh"]],
            capture_output=True,
            text=True,
            check=True,
        )
        (alias,) = [w for w in shown.stdout.splitlines() if w.startswith("hostkeyalias ")]
        lines += [f"  {alias}"]
        hosts[role] = {**machine, "ssh": f"{role}-c"}
    lines += ["Host *", "  User root", f"  IdentityFile {lab.folder / 'key'}"]
    lines += [f"  UserKnownHostsFile {lab.folder / 'known_hosts'}", "  IdentitiesOnly yes"]
    (tmp_path / "ssh_config").write_text("\n".join(lines) + "\n")
    (tmp_path / "containers.yaml").write_text(yaml.safe_dump(hosts))
    experiment = docs_pages.TOP / "experiments" / "latency-under-load.yaml"
    words = ("netlimits", "check", str(experiment), "--hosts", "containers.yaml")
    printed = ran(words, tmp_path)
    assert "netperf over TCP reaches" in printed
    assert "shares a kernel with" in printed
