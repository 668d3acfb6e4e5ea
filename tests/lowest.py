"""Print the lowest versions that pyproject.toml declares, as constraints for pip.

`make lowest` installs them and runs the tests, so that every lower bound is a version known to work.
"""

import re
import tomllib
from itertools import chain
from pathlib import Path

DECLARED = Path(__file__).parents[1] / "pyproject.toml"


def lowest(project):
    """A constraint for each requirement of a project, from its lower bound."""
    asked = chain(project["dependencies"], *project["optional-dependencies"].values())
    found = [re.match(r"([\w-]+)>=([\w.]+)", requirement) for requirement in asked]
    return sorted(
        {f"{name}=={version}" for name, version in (one.groups() for one in found if one)}
    )


if __name__ == "__main__":
    print("\n".join(lowest(tomllib.loads(DECLARED.read_text("utf-8"))["project"])))
