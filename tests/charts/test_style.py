import io
import itertools
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from netlimits import charts
from netlimits.charts import _style
from netlimits.errors import DataError, InputError
from netlimits.reproduce import published


def test_the_reader_s_own_settings_are_put_back_even_after_an_error() -> None:
    before = dict(mpl.rcParams)
    with _style.style():
        assert mpl.rcParams["axes.spines.top"] is False
    with pytest.raises(ZeroDivisionError), _style.style():
        _ = 1 / 0
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("form", _style.FORMATS)
def test_the_same_frame_makes_the_same_file(form: str, tmp_path: Path) -> None:
    frame = published.table("udp-send-size")
    for name in ("one", "two"):
        figure = charts.percentiles(frame, of="remote_sd", series="send_size")
        assert charts.save(figure, tmp_path / f"{name}.{form}") == tmp_path / f"{name}.{form}"
    first, second = ((tmp_path / f"{name}.{form}").read_bytes() for name in ("one", "two"))
    assert first == second
    assert len(first) > 5000


def test_what_is_no_chart_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="png, svg, pdf"):
        charts.save(Figure(), tmp_path / "a.jpg")
    with pytest.raises(InputError, match="No such file"):
        charts.save(Figure(), tmp_path / "none" / "a.png")


def test_the_same_value_has_the_same_colour_in_every_chart() -> None:
    both = _style.looks([("UDP", 1024), ("UDP", 8192), ("TCP on", 1024), ("TCP off", 1024)])
    looks = _style.looks([("TCP off",)])
    assert both["TCP off", 1024].color == looks["TCP off",].color == _style.GREEN
    assert both["UDP", 1024].color == both["UDP", 8192].color != both["TCP on", 1024].color
    assert both["UDP", 1024].line != both["UDP", 8192].line
    assert both["UDP", 1024].marker != both["UDP", 8192].marker
    assert _style.colours_of(["b", "tcp"])["b"] != _style.colours_of(["tcp"])["tcp"]


def test_series_differ_in_line_and_marker_where_colour_alone_would_tell_them_apart() -> None:
    looks = _style.looks([("UDP",), ("TCP on",), ("TCP off",)])
    assert len({str(look.line) for look in looks.values()}) == 3
    assert len({look.marker for look in looks.values()}) == 3
    sizes = _style.looks([(1024,), (8192,)], ["send_size"])
    assert [look.label for look in sizes.values()] == ["1024 bytes", "8192 bytes"]
    assert len({look.color for look in sizes.values()}) == 2


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_labels_keep_their_distance_their_order_and_stay_inside(positions: list[float]) -> None:
    places = _style.apart(positions, 0.05)
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    gaps = [places[b] - places[a] for a, b in itertools.pairwise(order)]
    assert all(gap >= 0.05 - 1e-9 for gap in gaps)
    assert min(places) >= -1e-9
    assert max(places) <= 1 + 1e-9


def test_a_notebook_shows_a_chart_without_pyplot() -> None:
    figure = charts.percentiles(published.table("udp-send-size"), of="remote_sd", pool="send_size")
    assert figure._repr_png_().startswith(b"\x89PNG")
    buffer = io.BytesIO()
    figure.savefig(buffer)
    assert buffer.getvalue()
