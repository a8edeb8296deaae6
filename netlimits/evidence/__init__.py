"""What is read beside runs: state of the hosts that tells what a run cost and what limited it."""
