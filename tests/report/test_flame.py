"""A flame graph: boxes as wide as their samples, without scripts, with every name escaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from netlimits.evidence.profiles import stacks
from netlimits.report.flame import NARROWEST, WIDTH, flame_graph

TEXT = """\
75 0 a<b;main;tcp_sendmsg_[k];_copy_from_iter_[k]
25 0 a<b;main
900 0 swapper;do_idle_[k];default_idle_[k]
"""


def test_boxes_are_as_wide_as_their_samples_and_idle_time_is_left_out():
    graph = flame_graph(stacks.parse(TEXT))
    root = ET.fromstring(graph)
    widths = {}
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        title, box = group[0].text or "", group[1]
        widths[title.partition(":")[0]] = float(box.attrib["width"])
    assert widths == {
        "all busy samples": WIDTH, "a<b": WIDTH, "main": WIDTH,
        "tcp_sendmsg": 0.75 * WIDTH, "_copy_from_iter": 0.75 * WIDTH,
    }  # fmt: skip


def test_nothing_in_it_is_a_script_or_a_request():
    graph = flame_graph(stacks.parse('5 0 <script>;"onload=x"\n'))
    assert not re.search(r"<script|href|url\(|\son\w+=", graph)


def test_narrow_boxes_are_left_out():
    rare = "\n".join(f"1 0 p;main;f{number}" for number in range(2000))
    assert WIDTH / 2000 < NARROWEST
    assert flame_graph(stacks.parse(rare)).count("<rect") == 3
