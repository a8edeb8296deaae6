"""Statistics of runs: intervals, contrasts, and whether runs are independent."""
