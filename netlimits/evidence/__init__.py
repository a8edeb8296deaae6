"""Readings from the hosts beside the tools: what a run cost, and what limited it.

There is a module or package for each time of reading: `facts` and `clocks` once a campaign;
`counted` right before and after each run, as differences; `cpu` likewise, on its own since service
demand needs the tool's rate; `sample` during the run; `watch` for changes by others; `network`
before and after the campaign; `trace` during the run if the experiment asks for it.
"""
