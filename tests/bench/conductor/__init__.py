"""What runs the contestants of the bench, one after the other, and keeps the account."""


class Failure(Exception):
    """A run that cannot be counted, in one line."""
