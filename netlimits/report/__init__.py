"""A campaign as a single HTML file that needs no network and no script."""
