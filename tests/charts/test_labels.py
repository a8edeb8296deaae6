import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.charts import _labels


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_labels_keep_their_distance_their_order_and_stay_inside(positions: list[float]) -> None:
    places = _labels.apart(positions, 0.05)
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    gaps = [places[b] - places[a] for a, b in itertools.pairwise(order)]
    assert all(gap >= 0.05 - 1e-9 for gap in gaps)
    assert min(places) >= -1e-9
    assert max(places) <= 1 + 1e-9
