"""Rows in memory that come in pieces, as rows on disk do."""

import numpy as np

import ratebound._old as rb


class InPieces(rb.Population):
    """A population that says its rows are stored, and gives them some at a time."""

    @classmethod
    def of(cls, rows, size):
        found = cls(rows.X, columns=rows.columns)
        found.y, found.weights, found.labels = rows.y, rows.weights, rows.labels
        found.piece = size
        return found

    @property
    def stored(self):
        return True

    def pieces(self, columns=(), *, inputs=False):
        spoken_of = {name: self.column(name) for name in columns}
        for start in range(0, len(self), self.piece):
            rows = np.arange(start, min(start + self.piece, len(self)))
            X = self.X[rows] if inputs else np.empty((len(rows), 0))
            part = rb.Population(X, columns={name: values[rows] for name, values in spoken_of.items()})
            part.y = None if self.y is None else self.y[rows]
            part.weights = None if self.weights is None else self.weights[rows]
            part.labels = self.labels
            yield part
