"""How fast it is in containers."""

CHECKS = ()
