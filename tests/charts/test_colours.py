from netlimits.charts import _colours


def test_the_same_value_has_the_same_colour_in_every_chart() -> None:
    both = _colours.series_styles(
        [("UDP", 1024), ("UDP", 8192), ("TCP on", 1024), ("TCP off", 1024)]
    )
    looks = _colours.series_styles([("TCP off",)])
    assert both["TCP off", 1024].color == looks["TCP off",].color == _colours.GREEN
    assert both["UDP", 1024].color == both["UDP", 8192].color != both["TCP on", 1024].color
    assert both["UDP", 1024].line != both["UDP", 8192].line
    assert both["UDP", 1024].marker != both["UDP", 8192].marker
    assert _colours.value_colours(["b", "tcp"])["b"] != _colours.value_colours(["tcp"])["tcp"]


def test_series_differ_in_line_and_marker_where_colour_alone_would_tell_them_apart() -> None:
    looks = _colours.series_styles([("UDP",), ("TCP on",), ("TCP off",)])
    assert len({str(look.line) for look in looks.values()}) == 3
    assert len({look.marker for look in looks.values()}) == 3
    sizes = _colours.series_styles([(1024,), (8192,)], ["send_size"])
    assert [look.label for look in sizes.values()] == ["1024 bytes", "8192 bytes"]
    assert len({look.color for look in sizes.values()}) == 2
