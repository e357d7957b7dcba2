"""How hard the property tests look: enough to find what is wrong, and quick enough to be run every time."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "telafi",
    deadline=None,
    max_examples=150,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("telafi")
