import io
from pathlib import Path

import matplotlib as mpl
import pytest
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


@pytest.mark.long
@pytest.mark.parametrize("form", charts.FORMATS)
def test_the_same_frame_makes_the_same_file_also_where_matplotlib_draws_it_twice(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written() -> bytes:
        figure = charts.percentiles(frame, of="remote_sd", series="send_size")
        path = charts.save(figure, tmp_path / f"chart.{form}")
        assert path == tmp_path / f"chart.{form}"
        return path.read_bytes()

    frame = published.table("udp-send-size")
    once = written()
    assert len(once) > 5000
    assert written() == once
    monkeypatch.delattr(_style.Chart, "draw")
    assert written() == once


def test_what_is_no_chart_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\.png, \.svg, \.pdf"):
        charts.save(Figure(), tmp_path / "a.jpg")
    with pytest.raises(InputError, match="No such file"):
        charts.save(Figure(), tmp_path / "none" / "a.png")


def test_a_notebook_shows_a_chart_without_pyplot() -> None:
    figure = charts.percentiles(published.table("udp-send-size"), of="remote_sd", pool="send_size")
    assert figure._repr_png_().startswith(b"\x89PNG")
    buffer = io.BytesIO()
    figure.savefig(buffer)
    assert buffer.getvalue()
