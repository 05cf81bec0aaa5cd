"""What all tests share: how the fuzzers run."""

from hypothesis import HealthCheck, settings

# Derandomized: every run tries the same inputs, and no time limit, so that no result depends on the machine.
FUZZING = {
    "derandomize": True,
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
settings.register_profile("ci", max_examples=300, **FUZZING)
settings.register_profile("long", max_examples=20_000, **FUZZING)
settings.load_profile("ci")
