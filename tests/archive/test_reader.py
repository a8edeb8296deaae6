"""A campaign's packet traces, out of its raw output."""

import pandas as pd
import pytest
from recorded import TRACES, recorded

import netlimits as nl
from netlimits.analysis import frames
from netlimits.analysis.bursts import bursts, first_of_transactions
from netlimits.analysis.packets.traces import trace
from netlimits.errors import ArchiveError, DataError


def test_a_run_s_trace_is_what_tcpdump_printed(tmp_path):
    campaign = recorded(tmp_path / "out")
    pd.testing.assert_frame_equal(campaign.packets(1), trace(TRACES["sinks-1"]))
    firsts = first_of_transactions(bursts(campaign.packets(1)))
    assert firsts["segments"].tolist() == [3, 7, 8, 9], "the ACK mail's"


def test_what_segmentation_offload_handed_on_whole_is_cut_to_the_run_s_mss(tmp_path):
    packets = recorded(tmp_path / "out", mss=730).packets(1)
    segments = packets[packets["kind"] == "segment"]
    assert segments["length_bytes"].max() == 730
    whole = trace(TRACES["sinks-1"])
    assert segments["length_bytes"].sum() == whole["length_bytes"].sum()


def test_of_several_traces_the_role_chooses(tmp_path):
    campaign = recorded(tmp_path / "out", traced=("sinks-1", "sinks-2"))
    pd.testing.assert_frame_equal(campaign.packets(1, role="sinks-2"), trace(TRACES["sinks-2"]))
    with pytest.raises(ArchiveError, match="run 1 has traces of sinks-1, sinks-2; name one"):
        campaign.packets(1)
    with pytest.raises(ArchiveError, match="no trace of source; there is sinks-1, sinks-2"):
        campaign.packets(1, role="source")


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    campaign = recorded(tmp_path / "out", traced=())
    with pytest.raises(ArchiveError, match="run 1 has no packet trace: the experiment takes none"):
        campaign.packets(1)
    with pytest.raises(ArchiveError, match="has no run 7"):
        campaign.packets(7)
    with pytest.raises(ArchiveError, match="has no attempt 2 at run 1"):
        campaign.packets(1, attempt=2)
    monkeypatch.setitem(TRACES, "sinks-1", "no packet at all\n")
    with pytest.raises(DataError, match="run 1: trace"):
        recorded(tmp_path / "other").packets(1)


def test_traces_of_all_runs_that_are_ok_stand_under_one_another(tmp_path):
    campaign = nl.open(recorded(tmp_path / "out", failed=[2]).path)
    assert campaign.ok_runs() == [1, 3, 4]
    packets = campaign.traces()
    assert packets.groupby("run")["mtu"].first().to_dict() == {1: 1500, 3: 1500, 4: 8896}
    assert len(packets) == 3 * len(trace(TRACES["sinks-1"]))
    assert frames.varied(packets) == frames.varied(campaign.intervals()) == ["mtu"]
    everything = recorded(tmp_path / "none", failed=[1, 2, 3, 4])
    with pytest.raises(ArchiveError, match="no run is ok, so there is no trace"):
        everything.traces()


def test_paths_are_compared_as_their_frames_are(tmp_path):
    for name, rate in (("a", 90), ("b", 95)):
        rows = "".join(f"{n},{rate + n}\n" for n in range(8))
        (tmp_path / f"{name}.csv").write_text(f"run,throughput_mbps\n{rows}")
    a, b = (tmp_path / f"{name}.csv" for name in "ab")
    pd.testing.assert_frame_equal(nl.compare(str(a), b), nl.compare(pd.read_csv(a), pd.read_csv(b)))
    with pytest.raises(ArchiveError, match=r'a.csv: is a file.*netlimits.read_csv\("a.csv"\)'):
        nl.open(a)
