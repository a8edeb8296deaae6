"""The functions that draw the charts. Similar charts share a module; `charts.CHARTS` lists all."""
