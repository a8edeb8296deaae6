"""`netlimits export --format parquet`: a copy of a campaign's runs, where it is told."""

from __future__ import annotations

from click.testing import CliRunner
from folders import EXAMPLE

import netlimits as nl
from netlimits.cli.export import export


def test_the_command_leaves_them_where_it_is_told(tmp_path):
    command = [str(EXAMPLE), "--format", "parquet"]
    outcome = CliRunner().invoke(export, [*command, "--out", str(tmp_path / "parts")])
    assert outcome.output == f"{tmp_path / 'parts'}: 1 file\n"
    assert len(nl.relation(str(tmp_path / "parts")).frame()) == len(nl.open(EXAMPLE).frame())
    assert "--out" in str(CliRunner().invoke(export, command).exception)
