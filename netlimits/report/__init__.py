"""Render a campaign as a single HTML file that needs no network access and no script."""
