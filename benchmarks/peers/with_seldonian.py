"""seldonian-engine: logistic regression that passes a test on held-out rows, or no solution at all."""

import numpy as np
from seldonian.dataset import SupervisedDataSet, SupervisedMetaData
from seldonian.models.models import BinaryLogisticRegressionModel
from seldonian.models.objectives import binary_logistic_loss
from seldonian.parse_tree.parse_tree import make_parse_trees_from_constraints
from seldonian.seldonian_algorithm import SeldonianAlgorithm
from seldonian.spec import SupervisedSpec

RATES = {"positive_rate": "PR", "recall": "TPR", "false_positive_rate": "FPR"}


def said(promise, index):
    """A promise in its language: a value that must be at most 0, with groups as columns of 0 and 1."""
    name = RATES[promise.rate]
    own = f"({name} | [{index[promise.group]}])"
    other = name if promise.against is None else f"({name} | [{index[promise.against]}])"
    if promise.relation == ">=":
        return f"{promise.factor} * {other} - {own} <= {promise.slack}"
    return f"{own} - {promise.factor} * {other} <= {promise.slack}"


def safe(train, test, promises):
    groups = {p.group for p in promises} | {p.against for p in promises if p.against}
    index = {group: f"g{i}" for i, group in enumerate(sorted(groups))}
    members = np.array([train.columns[name] == value for name, value in index]).T.astype(int)
    names = [f"x{j}" for j in range(train.X.shape[1])]
    about = SupervisedMetaData(
        "classification", [*names, *index.values(), "y"], names, ["y"], [*index.values()]
    )
    data = SupervisedDataSet(train.X.astype(float), train.y.astype(int), members, len(train.y), about)
    asked = [said(promise, index) for promise in promises]
    trees = make_parse_trees_from_constraints(
        asked, [0.1 / len(asked)] * len(asked), sub_regime="classification", columns=[*index.values()]
    )
    spec = SupervisedSpec(
        dataset=data, model=BinaryLogisticRegressionModel(), parse_trees=trees,
        sub_regime="classification", frac_data_in_safety=0.5, primary_objective=binary_logistic_loss,
        initial_solution_fn=lambda model, X, y: model.fit(X, y),
    )  # fmt: skip
    passed, solution = SeldonianAlgorithm(spec).run()
    if not passed:
        return None
    chances = [BinaryLogisticRegressionModel().predict(solution, rows.X) for rows in (train, test)]
    return [chance >= 0.5 for chance in chances]
