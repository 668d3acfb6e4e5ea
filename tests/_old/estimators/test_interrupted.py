"""Ctrl-C in `fit`: a warning tells a script that continues, and the status says so."""

import pytest
from tests._old.small_tables import people

import ratebound._old as rb
from ratebound._old.learners.linear import LinearFit


def test_a_game_that_is_interrupted_is_said_to_be(monkeypatch):
    table, steps, own = people(300), [], LinearFit.descend

    def descend(self, *given):
        steps.append(1)
        if len(steps) == 600:
            raise KeyboardInterrupt
        return own(self, *given)

    monkeypatch.setattr(LinearFit, "descend", descend)
    model = rb.RateConstrainedClassifier(
        'positive_rate(group == "a") <= 0.6', confidence=None, method="game", random_state=0
    )
    with pytest.warns(RuntimeWarning, match="interrupted: this is the best so far"):
        model.fit(table.X, table.y, columns=table.columns)
    assert "Training was interrupted" in str(model.status_)
    assert "Training was interrupted" in str(model.solution_.status)
    assert len(model.predict(table.X)) == 300


def test_the_plug_in_has_nothing_to_go_on_with(monkeypatch):
    from sklearn.linear_model import LogisticRegression

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(LogisticRegression, "fit", stop)
    table = people(300)
    with pytest.raises(KeyboardInterrupt):
        rb.RateConstrainedClassifier('positive_rate(group == "a") <= 0.6').fit(
            table.X, table.y, columns=table.columns
        )
