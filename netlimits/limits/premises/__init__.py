"""Premises of several classes of limits: what else has to hold for their evidence to count."""
