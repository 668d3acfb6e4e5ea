"""Cooper: a Lagrangian whose multipliers follow the true rates, while the model descends sigmoids."""

import cooper
import torch
from _loop import KEEP, RATES, STEPS, best, parameters, weights


class Promised(cooper.ConstrainedMinimizationProblem):
    def __init__(self, model, data, matrix, constants):
        super().__init__()
        self.model, self.data, self.matrix, self.constants = model, data, matrix, constants
        self.promises = cooper.Constraint(
            constraint_type=cooper.ConstraintType.INEQUALITY,
            formulation_type=cooper.formulations.Lagrangian,
            multiplier=cooper.multipliers.DenseMultiplier(num_constraints=len(matrix)),
        )

    def compute_cmp_state(self):
        X, y = self.data
        scores = self.model(X)[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y)
        soft = self.matrix @ torch.sigmoid(scores) + self.constants
        hard = self.matrix @ (scores.detach() >= 0).float() + self.constants
        state = cooper.ConstraintState(violation=soft, strict_violation=hard)
        return cooper.CMPState(loss=loss, observed_constraints={self.promises: state})


def lagrangian(train, test, promises):
    torch.manual_seed(0)
    data = torch.tensor(train.X), torch.tensor(train.y).float()
    matrix, constants = weights(promises, train)
    models = []
    for rate in RATES:
        model = torch.nn.Linear(train.X.shape[1], 1)
        problem = Promised(model, data, matrix, constants)
        optimizer = cooper.optim.SimultaneousOptimizer(
            cmp=problem,
            primal_optimizers=torch.optim.Adam(model.parameters(), lr=0.02),
            dual_optimizers=torch.optim.SGD(problem.dual_parameters(), lr=rate, maximize=True),
        )
        for step in range(STEPS):
            optimizer.roll()
            if step % KEEP == KEEP - 1:
                models.append(parameters(model))
    return best(models, promises, train, test)
