"""Premises that several classes of limits share."""
