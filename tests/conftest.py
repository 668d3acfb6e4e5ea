"""What all tests need."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # no test depends on how busy a machine is
settings.load_profile("untimed")
