"""The charts: a file for each, or for a few that are drawn alike; `charts.CHARTS` lists them."""
