from __future__ import annotations

import os
import time
from pathlib import Path

import paramiko
import pytest
from waiting import LONG

from netlimits.errors import ConnectError
from netlimits.hosts.ssh.hostkeys import load_known
from netlimits.hosts.ssh.keys import OurKeys
from netlimits.hosts.ssh.sshconfig import Endpoint, SshConfig, _criteria, split


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def endpoint(home: Path, text: str, name: str = "vm1") -> Endpoint:
    file = home / "config"
    file.write_text(text)
    return SshConfig(file).endpoint(name)


def test_a_name_that_the_configuration_does_not_know_is_a_host_name(home):
    login = endpoint(home, "", "vm1.example")
    assert (login.hostname, login.port, login.timeout) == ("vm1.example", 22, None)
    assert (login.jump, login.proxy, login.key_name) == ("", "", "vm1.example")
    assert home / ".ssh/id_ed25519" in login.identities
    assert home / ".ssh/known_hosts" in login.known_hosts
    assert Path("/etc/ssh/ssh_known_hosts") in login.known_hosts


def test_every_option_that_leads_to_a_login(home):
    login = endpoint(
        home,
        """
        Host vm?
            HostName %h.example
            User engineer
            Port 2222
            IdentityFile ~/one
            IdentityFile ~/two
            IdentitiesOnly yes
            ConnectTimeout 3
            UserKnownHostsFile ~/mine "~/the other"
            GlobalKnownHostsFile none
        """,
    )
    assert (login.hostname, login.port, login.user) == ("vm1.example", 2222, "engineer")
    assert login.identities == (home / "one", home / "two")
    assert login.identities_only
    assert login.timeout == 3
    assert login.known_hosts == (home / "mine", home / "the other")
    assert login.key_name == "[vm1.example]:2222"


def test_an_alias_of_the_host_key_stands_without_a_port(home):
    assert endpoint(home, "Port 2222\nHostKeyAlias lab").key_name == "lab"


@pytest.mark.parametrize(
    ("text", "jump", "proxy"),
    [
        ("ProxyJump a,b", "a,b", ""),
        ("ProxyJump a, b", "a,b", ""),
        ("ProxyCommand nc %h %p", "", "nc vm1 22"),
        ("ProxyJump a\nProxyCommand nc %h %p", "a", ""),
        ("ProxyCommand nc %h %p\nProxyJump a", "", "nc vm1 22"),
        ("Host vm1\nProxyJump none\nHost *\nProxyJump a", "", ""),
        ("Host vm1\nProxyCommand none\nHost *\nProxyJump a", "", ""),
    ],
)
def test_of_jump_and_proxy_the_first_one_counts(home, text, jump, proxy):
    login = endpoint(home, text)
    assert (login.jump, login.proxy) == (jump, proxy)


def test_the_command_that_adds_a_key_uses_the_same_configuration(home):
    assert endpoint(home, "", "me@vm1:23").add_key == (
        f"ssh -F {home}/config -o StrictHostKeyChecking=ask -p 23 me@vm1 true"
    )
    assert SshConfig().endpoint("vm1").add_key == "ssh -o StrictHostKeyChecking=ask vm1 true"


def test_included_files_stand_where_they_are_included(home):
    (home / ".ssh" / "config.d").mkdir()
    (home / ".ssh" / "config.d" / "a").write_text("Host vm1\n Port 1\nHost other\n Port 9\n")
    (home / ".ssh" / "config.d" / "b").write_text("Host vm1\n Port 2\n User b\n")
    text = "Include config.d/* ~/nothing\nConnectTimeout 7\nHost vm2\n Port 3\n"
    login = endpoint(home, text)
    assert (login.port, login.user, login.timeout) == (1, "b", 7)
    assert endpoint(home, text, "vm2").port == 3


def test_files_that_include_each_other_are_told(home):
    (home / ".ssh" / "loop").write_text("Include loop\n")
    with pytest.raises(ConnectError, match="include each other"):
        endpoint(home, "Include loop\n")


@pytest.mark.parametrize(
    "text",
    ["Port many", "ConnectTimeout soon", "=x", "Match what\n Port 1", 'Match host "vm1', 'Include "x',
     "Match tagged lab\n User x", "Match localnetwork 10.0.0.0/8\n User x",
     "Match host vm1 !tagged lab\n User x", "IdentityFile ${NO_SUCH_NAME}/key"],
)  # fmt: skip
def test_what_cannot_be_understood_is_told_with_the_file(home, text):
    with pytest.raises(ConnectError, match=r"config: "):
        endpoint(home, text)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("vm1", ("", "vm1", 0)),
        ("me@vm1", ("me", "vm1", 0)),
        ("me@vm1:23", ("me", "vm1", 23)),
        ("a@b@vm1", ("a@b", "vm1", 0)),
        ("2001:db8::1", ("", "2001:db8::1", 0)),
        ("me@[2001:db8::1]:23", ("me", "2001:db8::1", 23)),
        ("[2001:db8::1]", ("", "2001:db8::1", 0)),
        ("ssh://me@vm1:23/", ("me", "vm1", 23)),
    ],
)
def test_a_hop_is_user_host_and_port(name, parts):
    assert split(name) == parts


@pytest.mark.parametrize(
    "name",
    ["a;touch x", "a;touch${IFS}x", "$(id)", "`id`", "vm|x", "vm&", "a>b", "-oProxyCommand=x", "a b",
     "x\ny", "x\x1b[2J", "x\x00", "x\x9b", "a'b", 'a"b', "a\\", "a\\b", "(a)", "bob`id`@vm", "-l@vm",
     "b;c@vm", "me\\@vm", "ssh://a;b:22", "[a;b]:22", "me@[-o]:22"],
)  # fmt: skip
def test_a_name_that_a_shell_or_ssh_would_act_on_is_refused_before_anything_runs(home, name):
    trap = home / "trap"
    text = f'Match exec "touch {trap}; echo %n %h %r"\n User x\nHost *\n ProxyCommand nc %h %p %r\n'
    with pytest.raises(ConnectError, match="is not a host or user name") as caught:
        endpoint(home, text, name)
    assert not trap.exists()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "name",
    ["vm-1_x.example.", "2001:db8::1", "fe80::1%data0", "me@vm", "köln", "a@b@vm", "DOM\\me@vm"],
)
def test_names_that_are_names_are_taken(home, name):
    assert endpoint(home, "", name).name == split(name)[1]


def test_comments_stand_behind_values_and_not_in_commands_or_quotes(home):
    login = endpoint(
        home,
        """
        Host vm1 # mine
            User bob # the user
            IdentityFile "~/a # b" # a key
            IdentityFile ~/c#d
            ProxyCommand nc %h %p # no comment
        """,
    )
    assert login.user == "bob"
    assert login.identities == (home / "a # b", home / "c#d")
    assert login.proxy == "nc vm1 22 # no comment"


def test_a_bracket_is_a_letter_of_a_pattern(home):
    assert endpoint(home, "Host vm[12]\n Port 9").port == 22
    assert endpoint(home, "Match host vm[12]\n Port 9").port == 22
    assert endpoint(home, "Match originalhost vm?\n Port 9").port == 9


@pytest.mark.parametrize(
    ("criteria", "holds"),
    [
        ("Host vm2", False), ("HOST vm2", False), ("!Host vm1", False), ("!host vm2", True),
        ("OriginalHost vm1 Host vm2", False), ('host "vm1,x"', True), ("All", True), ("user root,x", True),
        ('host vm2 exec "touch {trap}"', False), ('Host vm2 Exec "touch {trap}"', False),
    ],
)  # fmt: skip
def test_a_match_holds_as_in_ssh_however_its_criteria_are_written(home, criteria, holds):
    trap = home / "trap"
    login = endpoint(home, f"User root\nMatch {criteria.format(trap=trap)}\n Port 9")
    assert login.port == (9 if holds else 22)
    assert not trap.exists()


def test_a_bracket_is_none_of_a_pattern_in_a_command():
    words = ["Host", "a[1]", "!EXEC", "test [ = ["]
    assert [*_criteria(words, "x")] == ["host", "a[[]1]", "!exec", "test [ = ["]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5), ("5m", 300), ("1M30s", 90), ("2h", 7200), ("none", None), ("0", None)],
)
def test_a_time_is_ssh_configs(home, text, seconds):
    assert endpoint(home, f"ConnectTimeout {text}").timeout == seconds


def test_paths_have_the_environment_and_tokens(home, monkeypatch):
    monkeypatch.setenv("WHERE", "/keys")
    text = "HostName h\nUser bob\nIdentityFile ${WHERE}/one\nUserKnownHostsFile %d/%h.%n.%p.%r%% ${WHERE}/k"
    login = endpoint(home, text)
    assert login.identities == (Path("/keys/one"),)
    assert login.known_hosts[:2] == (home / "h.vm1.22.bob%", Path("/keys/k"))


@pytest.mark.parametrize("what", ["pipe", "/dev/zero", "/proc/kmsg", "sparse"])
@pytest.mark.parametrize("where", ["itself", "Include", "UserKnownHostsFile", "IdentityFile"])
def test_no_file_that_ssh_names_is_waited_for(tmp_path, what, where):
    strange = Path(what) if what.startswith("/") else tmp_path / what
    if what == "pipe":
        os.mkfifo(strange)
    elif what == "sparse":
        with strange.open("wb") as file:
            file.truncate(2**35)
    config = strange
    if where != "itself":
        config = tmp_path / "config"
        config.write_text(
            f"Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  {where} {strange}\n"
        )
    begin = time.monotonic()
    if where == "IdentityFile":
        assert [*OurKeys(SshConfig(config).endpoint("vm1"), 1).get_sources()] == []
    elif (what, where) == ("/proc/kmsg", "UserKnownHostsFile"):
        load_known(paramiko.SSHClient(), SshConfig(config).endpoint("vm1"))  # it has no bytes
    elif what == "/proc/kmsg":
        SshConfig(config)
    else:
        with pytest.raises(ConnectError, match=r"regular file|larger than") as caught:
            load_known(paramiko.SSHClient(), SshConfig(config).endpoint("vm1"))
        assert "\n" not in str(caught.value)
    assert time.monotonic() - begin < LONG


def test_dev_null_is_a_list_of_no_known_hosts(tmp_path):
    config = tmp_path / "config"
    config.write_text("UserKnownHostsFile /dev/null\nGlobalKnownHostsFile /dev/null\n")
    endpoint = SshConfig(config).endpoint("vm1")
    load_known(paramiko.SSHClient(), endpoint)
