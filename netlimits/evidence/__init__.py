"""What is read beside runs: state of the hosts that tells what a run cost and what limited it.

A module for each time of reading: `facts` and `clocks` once a campaign; `counted` right before and
right after each run, differenced; `cpu` the same but apart, since service demand needs the tool's
rate; `sample` in mid-run, `trace` through the run where the experiment asks for one.
"""
