"""iperf 2's output: `iperf2_text` and `iperf2_csv` read its lines, `runs` computes figures."""
