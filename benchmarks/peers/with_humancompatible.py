"""humancompatible-train: its augmented Lagrangian, on sigmoids."""

import torch
from _loop import KEEP, RATES, STEPS, best, parameters, weights
from humancompatible.train.dual_optim import ALM


def augmented_lagrangian(train, test, promises):
    torch.manual_seed(0)
    X, y = torch.tensor(train.X), torch.tensor(train.y).float()
    matrix, constants = weights(promises, train)
    models = []
    for rate in RATES:
        model = torch.nn.Linear(train.X.shape[1], 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        multipliers = ALM(m=len(matrix), lr=rate, penalty=1.0, is_ineq=True)
        for step in range(STEPS):
            optimizer.zero_grad()
            scores = model(X)[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y)
            broken = matrix @ torch.sigmoid(scores) + constants
            multipliers.forward_update(loss, broken).backward()
            optimizer.step()
            if step % KEEP == KEEP - 1:
                models.append(parameters(model))
    return best(models, promises, train, test)
