"""The scenarios, in the order of the report."""

from scenarios import indexed, mixed, scans, updates

ALL = [scenario() for module in (updates, indexed, scans, mixed) for scenario in module.SCENARIOS]
