"""One page to hand on: a campaign as a single HTML file that needs no network and no script.

`page` has the nouns and the template's door, `contents` what a folder says, `answers` sentences,
`alternatives` a table for each chart, `svg` a figure within a page.
"""
