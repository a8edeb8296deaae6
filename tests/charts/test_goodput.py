import pandas as pd
import pytest

from netlimits import charts
from netlimits.analysis import goodput
from netlimits.errors import DataError


def test_the_curve_of_each_stack_with_the_report_s_two_mtus_marked() -> None:
    curve = goodput.curve(range(576, 9001, 108), link="100G", timestamps=True)
    curve = pd.concat([curve, goodput.curve([1500, 9000], link="100G", timestamps=True)])
    figure = charts.goodput(curve.sort_values("mtu"))
    (axes,) = figure.axes
    assert axes.get_title("left") == "Data/(Data+Headers) vs. MTU"
    assert axes.get_ylim()[1] == 100
    words = [text.get_text() for text in axes.texts]
    assert "94.1 %\nat 1500" in words
    assert "99.0 %\nat 9000" in words


def test_stacks_are_labelled_at_their_ends() -> None:
    figure = charts.goodput(goodput.curve([100, 1500, 9000], [(), ("vxlan",)]))
    words = [text.get_text() for text in figure.axes[0].texts]
    assert {"plain Ethernet 99.1 %", "vxlan 98.6 %"} <= set(words)
    assert figure.axes[0].get_ylim()[0] == 0


def test_another_frame_is_refused() -> None:
    with pytest.raises(DataError, match=r"no column stack.*goodput\.curve"):
        charts.goodput(pd.DataFrame({"mtu": [1500]}))
