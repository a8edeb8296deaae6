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


@pytest.mark.parametrize("form", _style.FORMATS)
def test_the_same_frame_makes_the_same_file(form: str, tmp_path: Path) -> None:
    frame = published.table("udp-send-size")
    for name in ("one", "two"):
        figure = charts.percentiles(frame, of="remote_sd", series="send_size")
        assert charts.save(figure, tmp_path / f"{name}.{form}") == tmp_path / f"{name}.{form}"
    first, second = ((tmp_path / f"{name}.{form}").read_bytes() for name in ("one", "two"))
    assert first == second
    assert len(first) > 5000


@pytest.mark.parametrize("form", _style.FORMATS)
def test_a_chart_that_is_laid_out_alone_is_the_one_that_matplotlib_draws_twice(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written() -> bytes:
        figure = charts.percentiles(frame, of="remote_sd", series="send_size")
        return charts.save(figure, tmp_path / f"chart.{form}").read_bytes()

    frame = published.table("udp-send-size")
    once = written()
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
