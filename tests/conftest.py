import os

# Two tests at a time: threads of matrix products would only wait for each other. Said before numpy
# is loaded, and heard by every process that a test starts.
os.environ.setdefault("OMP_NUM_THREADS", "1")

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
