"""The functions that draw the charts in `charts.CHARTS`. Similar charts share a module."""
