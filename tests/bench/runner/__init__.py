"""Runs the contestants of the bench in turn, and records what they used."""


class Failure(Exception):
    """A run that cannot be counted, in one line."""
