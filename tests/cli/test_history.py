"""`netlimits history`: campaigns in order of time, and an exit status for a gate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from folders import complete
from recorded import rewritten

from netlimits.cli import main

QUICK = Path(__file__).parents[2] / "experiments" / "quickstart.yaml"


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["history", *map(str, words)])
    return int(ended.value.code or 0), *capsys.readouterr()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table of 20 nights, the last ten of which are 10 % slower for small sends."""
    chance = np.random.default_rng(1)
    rows = [
        {
            "campaign": f"night-{night:02d}",
            "started": f"2026-01-{night + 1:02d}T00:00:00Z",
            "size": size,
            "throughput_mbps": size * (0.9 if size == 64 and night >= 10 else 1) * noise,
        }
        for night in range(20)
        for size in (64, 8192)
        for noise in 1 + 0.01 * chance.standard_normal(3)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "nights.csv", index=False)
    return tmp_path / "nights.csv"


def test_a_change_for_the_worse_is_printed_drawn_and_ends_with_4(path: Path, capsys, tmp_path):
    code, out, _ = call(capsys, path, "--of", "throughput", "--out", tmp_path / "charts")
    assert code == 4
    first, _, _, _, row, *charts = [*out.splitlines()]
    assert first == (
        "Throughput (Mbit/s) of 2 configurations over 20 campaigns, 2026-01-01 to 2026-01-20: "
        "1 change"
    )
    assert row.split()[:2] == ["64", "night-10"]
    assert row.split()[-1] == "worse"
    assert [Path(chart).name for chart in charts] == [
        "history-throughput.png",
        "history-throughput.svg",
    ]
    code, out, _ = call(capsys, path, "--json")
    rows = json.loads(out)
    assert len(rows) == 40
    assert [row["campaign"] for row in rows if row["verdict"]] == ["night-10"]


def test_without_a_change_or_for_the_better_it_ends_with_0(path: Path, capsys):
    frame = pd.read_csv(path)
    frame[frame["size"] == 8192].to_csv(path, index=False)
    code, out, _ = call(capsys, path)
    assert code == 0
    assert out.endswith("no change\n")
    frame["throughput_mbps"] = 1e6 / frame["throughput_mbps"]
    frame.to_csv(path, index=False)
    code, out, _ = call(capsys, path)
    assert code == 0
    assert "better" in out


@pytest.mark.long
def test_folders_are_put_in_order_of_time(tmp_path: Path, capsys):
    file = tmp_path / "quickstart.yaml"
    file.write_text(QUICK.read_text())
    folders = []
    for day in (3, 1, 2):
        folders.append(complete(tmp_path / f"day-{day}", file, 1).path)
        began = f'"started": {1e9 + 86400 * day}'.encode()
        rewritten(
            folders[-1], lambda body, began=began: body.replace(b'"started": 1000000000.0', began)
        )
    code, out, _ = call(capsys, *folders, "--of", "throughput", "--json")
    assert code == 0
    names = [row["campaign"] for row in json.loads(out)]
    assert list(dict.fromkeys(names)) == ["day-1", "day-2", "day-3"]
    assert "too few to find a change" in call(capsys, *folders)[1]


def test_one_campaign_is_no_history(tmp_path: Path, capsys):
    folder = complete(tmp_path / "day", QUICK, 1).path
    code, _, err = call(capsys, folder)
    assert code == 2
    assert "is one campaign; a history needs several" in err


def test_a_foreign_table_keeps_its_campaigns_whatever_else_is_named(capsys, tmp_path: Path):
    rows = [f"night-{night:02d},64,{900 if night < 10 else 800}.{night}" for night in range(20)]
    table = tmp_path / "theirs.csv"
    table.write_text("\n".join(["campaign,size,down", *rows]))  # one run each: nothing repeats
    for factors in ([], ["--factor", "size"]):
        code, out, _ = call(capsys, table, "--metric", "down=throughput", *factors)
        assert (code, out.splitlines()[4].split()[0]) == (4, "night-10")
    table.write_text("night,down\n1,900\n2,901\n")
    code, _, err = call(capsys, table, "--metric", "down=throughput")
    assert code == 2
    assert "give the table a column 'campaign' with the name of each run's campaign" in err
