"""Parameters by name, in the form that scikit-learn needs to search over them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self


class Adjustable:
    """For frozen dataclasses: `get_params` and `set_params`, by which scikit-learn clones and searches.

    `GridSearchCV` reaches them as ``model__learning_rate``. It sets parameters on clones it has just
    made; in code of your own, `dataclasses.replace` gives a changed copy and leaves the original alone.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the parameters of its parts too, as in ``estimator__C``, as searches need.

        Returns
        -------
        dict
            The values by name.
        """
        own: Any = self
        parameters = {each.name: getattr(self, each.name) for each in fields(own) if each.init}
        if deep:
            for name, value in list(parameters.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    parameters |= {
                        f"{name}__{inner}": part for inner, part in value.get_params().items()
                    }
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Change these parameters in place; invalid values raise an error.

        Parameters
        ----------
        **parameters : object
            Values by name; for a part's parameter, as in ``estimator__C``.

        Returns
        -------
        object
            Itself.

        Raises
        ------
        ValueError
            If there is no such parameter, or its value is invalid. Then nothing is changed.
        """
        known = self.get_params(deep=False)
        plain: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            own, _, inner = name.partition("__")
            if own not in known or (inner and not hasattr(known[own], "set_params")):
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}, only {', '.join(known)}"
                )
            if inner:
                nested.setdefault(own, {})[inner] = value
            else:
                plain[own] = value
        changed = type(self)(**(known | plain))  # invalid values are refused before anything changes
        for own, inside in nested.items():
            getattr(self, own).set_params(**inside)
        vars(self).clear()  # including what was derived from the old values
        vars(self).update(vars(changed))
        return self
