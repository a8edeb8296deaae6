"""`--share PLACE`: runs are left there however a command ends, and its own error stands."""

from __future__ import annotations

import os
import signal
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from folders import EXAMPLE, complete

import netlimits as nl
from netlimits.archive.copies import RunsCopy
from netlimits.campaign.interrupt import Interrupted, Stop
from netlimits.cli.shared.conduct import sharing
from netlimits.errors import InputError, RestoreError

QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.yaml"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another campaign's folder."""
    return complete(tmp_path_factory.mktemp("other") / "results", QUICKSTART, None).path


@pytest.mark.long
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("error", [InputError("no"), SystemExit(1), KeyboardInterrupt(), None])
def test_runs_are_left_there_however_a_command_ends(tmp_path, capsys, error, as_json):
    parts = tmp_path / "parts"
    with pytest.raises(type(error)) if error else nullcontext():  # noqa: SIM117
        with sharing(RunsCopy.at(str(parts)), EXAMPLE, as_json=as_json):
            if error:
                raise error
    assert len(nl.relation(str(parts)).frame())
    printed = capsys.readouterr()
    assert (printed.err if as_json else printed.out) == f"{parts}: 1 file\n"


def words_of(told: str) -> None:
    assert told.count("\n") <= 1
    for words in (
        "another campaign's runs",
        f"all runs are in {EXAMPLE}",
        "--format parquet --out",
    ):
        assert words in told


def test_what_cannot_be_left_there_is_told_with_the_way_to_do_it(tmp_path, other):
    place = RunsCopy.at(str(tmp_path / "parts"))
    place.write(nl.open(other))
    with pytest.raises(InputError) as caught, sharing(place, EXAMPLE, as_json=False):
        pass
    assert caught.value.exit_status == 1
    words_of(str(caught.value))


def test_what_cannot_be_left_there_takes_no_other_error_s_place(tmp_path, other, capsys):
    place = RunsCopy.at(str(tmp_path / "parts"))
    place.write(nl.open(other))
    with pytest.raises(RestoreError, match="not put back"), sharing(place, EXAMPLE, as_json=False):
        raise RestoreError("not put back")
    words_of(capsys.readouterr().err)


@pytest.fixture
def ctrl_c_while_writing(monkeypatch):
    def hang(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(6000):
            time.sleep(0.01)

    monkeypatch.setattr(RunsCopy, "write", hang)


def test_ctrl_c_ends_the_writing_and_tells_the_way_to_do_it(tmp_path, ctrl_c_while_writing):
    place = RunsCopy.at(str(tmp_path / "parts"))
    with pytest.raises(Interrupted) as caught, Stop(), sharing(place, EXAMPLE, as_json=False):
        pass
    assert caught.value.exit_status == 130
    for words in ("SIGINT", f"all runs are in {EXAMPLE}", "--format parquet --out"):
        assert words in str(caught.value)


def test_ctrl_c_takes_no_other_error_s_place(tmp_path, capsys, ctrl_c_while_writing):
    place = RunsCopy.at(str(tmp_path / "parts"))
    with pytest.raises(RestoreError, match="not put back"), Stop():  # noqa: SIM117
        with sharing(place, EXAMPLE, as_json=False):
            raise RestoreError("not put back")
    assert "interrupted by SIGINT; all runs are in" in capsys.readouterr().err


def test_nothing_is_left_there_of_a_campaign_that_was_never_made(tmp_path):
    with (
        pytest.raises(InputError, match="no"),
        sharing(RunsCopy.at(str(tmp_path / "parts")), tmp_path / "results", as_json=False),
    ):
        raise InputError("no")
    assert not (tmp_path / "parts").exists()
