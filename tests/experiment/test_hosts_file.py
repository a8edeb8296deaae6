from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.errors import DocumentError
from netlimits.experiment.hosts_file import machines
from netlimits.model import Machine

ROLES = ("sender", "receiver")


def read(folder: Path, text: str, roles: tuple[str, ...] = ROLES) -> dict[str, Machine]:
    file = folder / "hosts.yaml"
    file.write_text(text)
    return machines(file, roles)


def test_each_role_gets_its_machine_in_the_roles_order(tmp_path):
    hosts = read(
        tmp_path,
        """
        receiver: {ssh: vm2, interface: ens4, address: 192.0.2.2}
        sender: {local: true, interface: ens5}
        spare: {ssh: vm3, address: "2001:DB8::1"}
        """,
    )
    assert list(hosts) == ["sender", "receiver"]
    assert hosts["sender"] == Machine("sender", None, "ens5")
    assert hosts["receiver"] == Machine("receiver", "vm2", "ens4", "192.0.2.2")
    assert read(tmp_path, "s: {ssh: a, address: '2001:DB8::1'}", ("s",))["s"].address == (
        "2001:db8::1"
    )


def test_the_ssh_configuration_is_found_beside_the_file(tmp_path):
    (tmp_path / "lab").mkdir()
    config = tmp_path / "lab" / "ssh_config"
    config.write_text("")
    hosts = read(
        tmp_path, "ssh_config: lab/ssh_config\nsender: {ssh: a}\nreceiver: {local: true}\n"
    )
    assert hosts["sender"].ssh_config == config
    assert hosts["receiver"].ssh_config is None
    assert read(tmp_path, f"ssh_config: {config}\ns: {{ssh: a}}", ("s",))["s"].ssh_config == config


def test_two_roles_may_share_a_machine(tmp_path):
    hosts = read(tmp_path, "sender: {ssh: a}\nreceiver: {ssh: a}\n")
    assert [machine.ssh for machine in hosts.values()] == ["a", "a"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a", "hosts.yaml:1: is not a hosts file"),
        ("sender: {ssh: a}", "receiver: no machine plays receiver"),
        (
            "sender: {ssh: a}\nreciever: {ssh: b}",
            "hosts.yaml:2: reciever: no role is called reciever; did you mean receiver?",
        ),
        ("sender: {ssh: a}\nreceiver: vm2", "hosts.yaml:2: receiver: must be"),
        ("sender: {ssh: a}\nreceiver:\n  shh: b", "hosts.yaml:3: receiver.shh: unknown key; did"),
        ("sender: {ssh: a}\nreceiver: {}", "hosts.yaml:2: receiver: needs"),
        ("sender: {ssh: a}\nreceiver: {local: false}", "hosts.yaml:2: receiver: needs"),
        (
            "sender: {ssh: a}\nreceiver: {ssh: b, local: true}",
            ":2: receiver: use either `ssh` or `local`",
        ),
        ("sender: {ssh: a}\nreceiver:\n  local: maybe", ":3: receiver.local: must be true or"),
        ("sender: {ssh: a}\nreceiver:\n  ssh: 7", ":3: receiver.ssh: must be a name"),
        ("sender: {ssh: a}\nreceiver:\n  ssh: a b", ":3: receiver.ssh: must be a name"),
        ("sender: {ssh: a}\nreceiver:\n  ssh: -oProxyCommand=x", ":3: receiver.ssh: -oProxy"),
        ("sender: {ssh: a}\nreceiver:\n  ssh: ''", ":3: receiver.ssh: must be a name"),
        (
            "sender: {ssh: a}\nreceiver:\n  ssh: b\n  address: vm2",
            ":4: receiver.address: vm2 is not an IP address",
        ),
        (
            "sender: {ssh: a}\nreceiver:\n  ssh: b\n  interface: -K",
            ":4: receiver.interface: -K would be read as an option",
        ),
        (
            "ssh_config: nowhere\nsender: {ssh: a}\nreceiver: {ssh: b}",
            ":1: ssh_config: there is no file",
        ),
        (
            "ssh_config: [a]\nsender: {ssh: a}\nreceiver: {ssh: b}",
            ":1: ssh_config: must be a file's name",
        ),
        (
            "sender: {ssh: a}\nsender: {ssh: b}\nreceiver: {ssh: c}",
            ":2: sender: is there twice",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(tmp_path, text, says):
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text)
    assert says in str(caught.value)
    assert str(tmp_path / "hosts.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(DocumentError, match="no such file"):
        machines(tmp_path / "hosts.yaml", ROLES)


def test_a_role_of_several_machines_is_a_list(tmp_path):
    text = "source: {ssh: a}\nsinks: [{ssh: b, interface: ens4}, {ssh: c}]\n"
    hosts = read(tmp_path, text, ("source", "sinks-1", "sinks-2"))
    assert [(m.role, m.ssh, m.interface) for m in hosts.values()] == [
        ("source", "a", None),
        ("sinks-1", "b", "ens4"),
        ("sinks-2", "c", None),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "snks: [{ssh: b}, {ssh: c}]\nsource: {ssh: a}",
            "snks: no role is called snks; did you mean sinks?",
        ),
        ("sinks: [{ssh: b}]\nsource: {ssh: a}", "add machine 2 to the list under sinks"),
        ("source: {ssh: a}\nsinks: [{ssh: b}, {shh: c}]", "hosts.yaml:2: sinks.1.shh"),
        ("source: {ssh: a}\nsinks: [{ssh: b}, c]", "sinks.1: must be"),
        ("source: {ssh: a}\nsinks: [{ssh: b}]\nsinks-1: {ssh: c}", "sinks-1 is number 1 of sinks"),
    ],
)
def test_what_is_wrong_in_a_list_is_named(tmp_path, text, says):
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text, ("source", "sinks-1", "sinks-2"))
    assert says in str(caught.value)


LAB = "sender: {ssh: a}\nreceiver: {ssh: b}\nhost3: {ssh: c}\n"


def test_where_no_name_fits_roles_are_bound_by_position_with_a_note(tmp_path):
    file = tmp_path / "hosts.yaml"
    file.write_text(LAB)
    notes: list[str] = []
    bound = machines(file, ("source", "sinks-1", "sinks-2"), notes.append)
    assert {role: (m.role, m.ssh) for role, m in bound.items()} == {
        "source": ("source", "a"),
        "sinks-1": ("sinks-1", "b"),
        "sinks-2": ("sinks-2", "c"),
    }
    assert notes == [
        f"{file}: names none of the roles; its machines play them in order: source: sender, "
        "sinks-1: receiver, sinks-2: host3"
    ]


@pytest.mark.parametrize(
    "roles",
    [("sender", "other"), ("w", "x", "y", "z"), ("host3", "sendr")],
    ids=["one is named", "too few machines", "one is misspelt"],
)
def test_a_role_that_the_file_lacks_is_an_error_where_position_would_guess(tmp_path, roles):
    with pytest.raises(DocumentError, match=r"no machine plays|no role is called"):
        read(tmp_path, LAB, roles)
