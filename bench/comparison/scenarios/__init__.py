"""The scenarios, in the order of the report."""

from scenarios import horizon, indexed, mixed, oltp, scans, tprocc, updates, ycsb

ALL = [scenario() for module in (updates, indexed, horizon, scans, mixed, oltp, tprocc, ycsb) for scenario in module.SCENARIOS]
