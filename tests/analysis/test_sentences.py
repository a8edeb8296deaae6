"""Half a sentence on what the busiest CPU did."""

from __future__ import annotations

import pandas as pd

from netlimits.analysis.profile import sentences


def test_the_category_that_most_runs_name_counts():
    frame = pd.DataFrame(
        {
            "run": [1, 2, 3, 4],
            "attempt": 1,
            "status": "ok",
            "profiled": [False, True, True, True],
            "remote_profile_cpu": [None, 3, 3, 2],
            "remote_profile_cpu_category": [None, "copy", "copy", "tcpip"],
            "remote_profile_cpu_pct": [None, 52.0, 56.0, 40.0],
        }
    )
    rows = sentences.runs(frame)
    assert [*sentences.clauses(rows, "send")] == ["receiver CPU 3: 54 % of it copying data"]
    assert sentences.runs(frame.drop(columns="profiled")).empty
