from __future__ import annotations

import pytest

from netlimits.errors import ConnectionLost, HostError
from netlimits.hosts.base import Host, Server
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed

READ = Command(("ethtool", "-k", "eth0"))


def test_a_table_answers_by_command_line_and_keeps_what_was_asked():
    host: Host = (scripted := ScriptedHost({"ethtool -k eth0": "gro: on\n"}, "sender"))
    completed = host.run(READ)
    assert completed == Completed("sender", READ, 0, "gro: on\n", "", 0.001)
    assert scripted.ran == [READ]
    assert scripted.lines == ["ethtool -k eth0"]


def test_a_function_may_keep_a_state():
    state = {"gro": "on"}

    def script(command: Command) -> str | Completed:
        if command.argv[1] == "-K":
            state[command.argv[3]] = command.argv[4]
            return ""
        return f"gro: {state['gro']}\n"

    host = ScriptedHost(script)
    host.run(Command(("ethtool", "-K", "eth0", "gro", "off")))
    assert host.run(READ).stdout == "gro: off\n"


def test_a_list_answers_in_turn_and_then_no_more():
    failed = answer(READ, stderr="no such device", status=1)
    host = ScriptedHost({"ethtool -k eth0": ["one", failed]})
    assert host.run(READ).stdout == "one"
    assert host.run(READ) is failed
    with pytest.raises(AssertionError, match="no answer to `ethtool -k eth0`"):
        host.run(READ)


def test_what_is_not_scripted_is_an_error():
    with pytest.raises(AssertionError, match="no answer to `ethtool -k eth0`"):
        ScriptedHost({}).run(READ)
    with pytest.raises(AssertionError):
        ScriptedHost(lambda _: None).serve(READ)


def test_an_exception_in_the_script_is_raised():
    with pytest.raises(HostError, match="gone"):
        ScriptedHost({"ethtool -k eth0": HostError("gone")}).run(READ)


def test_a_server_lives_until_it_is_stopped_or_the_host_closed():
    host = ScriptedHost({"netserver -D": "bye"})
    server: Server = host.serve(Command(("netserver", "-D")))
    two = host.serve(Command(("netserver", "-D")))
    assert server.alive()
    assert server.stop().stdout == "bye"
    assert not server.alive()
    host.close()
    assert not two.alive()
    with pytest.raises(ConnectionLost):
        host.run(READ)
