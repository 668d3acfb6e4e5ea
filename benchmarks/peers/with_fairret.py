"""fairret: a penalty on the distance of the groups' rates from everyone's. It takes no bound."""

import numpy as np
import torch
from _loop import KEEP, RATES, STEPS, best, parameters
from fairret.loss import NormLoss
from fairret.statistic import FalsePositiveRate, PositiveRate, TruePositiveRate

STATISTICS = {
    "positive_rate": PositiveRate,
    "recall": TruePositiveRate,
    "false_positive_rate": FalsePositiveRate,
}


def penalty(train, test, promises):
    torch.manual_seed(0)
    X, y = torch.tensor(train.X), torch.tensor(train.y).float()[:, None]
    groups = [train.columns[name] == value for name, value in (p.group for p in promises)]
    members = torch.tensor(np.array(groups)).T.float()
    unfair = NormLoss(STATISTICS[promises[0].rate]())
    labels = () if promises[0].rate == "positive_rate" else (y,)
    models = []
    for strength in RATES:
        model = torch.nn.Linear(train.X.shape[1], 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for step in range(STEPS):
            optimizer.zero_grad()
            scores = model(X)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y)
            (loss + strength * unfair(scores, members, *labels)).backward()
            optimizer.step()
            if step % KEEP == KEEP - 1:
                models.append(parameters(model))
    return best(models, promises, train, test)
