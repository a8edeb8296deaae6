"""iperf 2's output: `text` and `csv` read its lines, `runs` makes figures of them."""
