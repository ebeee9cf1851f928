from hypothesis import HealthCheck, settings

# The same examples on every machine, and no deadline: two cores may be shared with others.
settings.register_profile(
    "house",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("house")
