"""Pictures of the gallery: small enough for a page, with marks that can be seen on a thumbnail."""

from typing import Any

import matplotlib as mpl


def larger(gallery_conf: dict[str, Any], name: str) -> None:
    """Called before and after each example, which leaves no setting behind."""
    mpl.rcParams.update(
        {"figure.figsize": (6.4, 3.6), "figure.dpi": 110, "font.size": 11, "lines.markersize": 9}
    )
