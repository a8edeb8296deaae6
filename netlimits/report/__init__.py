"""A campaign as a single HTML file that needs no network and no script.

`page` has the page's data and template, `contents` what a folder contains, `answers` the sentences,
`figures` the charts with their tables, and `compared` the page of a comparison.
"""
