"""Constraints of your own
=======================

A promise need not be about a rate. Here a linear model of the census table is to keep three: a rate, a
calibration gap (scores are to mean what they say) and an L1 budget (few features are to matter). The
two functions are ordinary PyTorch. The multipliers see `value`, which is exact; the model descends
`proxy`, which has a gradient.
"""

import torch

import ratebound as rb

adult = rb.datasets.load_adult()
EDGES = torch.linspace(0, 1, 11)[1:-1]  # of ten bins


def calibration_gap(model, rows):
    """The expected calibration error: how far labels are from the predicted probabilities, bin by
    bin."""
    said = torch.sigmoid(model.scores)
    off = torch.zeros(10).index_add(0, torch.bucketize(said, EDGES), said - rows.y)
    return off.abs().sum() / len(rows)


def smooth_gap(model, rows):
    """The same with soft bins: a row belongs to all bins near it, so that edges have a slope too."""
    said = torch.sigmoid(model.scores)
    near = torch.softmax(-((said[:, None] - torch.linspace(0.05, 0.95, 10)) ** 2) / 0.005, dim=1)
    return (near * (said - rows.y)[:, None]).sum(0).abs().sum() / len(rows)


def l1_norm(model, rows):
    """The sum of all weights' sizes; it has a gradient, so it needs no proxy."""
    return model.module.weight.abs().sum()


problem = rb.Problem(
    minimize=rb.error_rate(),
    subject_to=[
        rb.recall(sex="Female") >= 0.95 * rb.recall(),
        rb.constraint(calibration_gap, smooth_gap, name="calibration gap", at_most=0.04, exact=True),
        rb.constraint(l1_norm, name="L1 norm", at_most=10.0, scale=10.0),
    ],
)

# %%
# `rb.play` trains any PyTorch module for it. All else is as for rates: the trace holds the exact value
# of every constraint at every iterate kept, and `rb.shrink` mixes the iterates by them.

compiled = rb.compile(problem, adult.train)
learner = rb.Torch(lambda width: torch.nn.Linear(width, 1), learning_rate=0.3, optimizer="sgd")
how = {"player": rb.ExternalRegret(0.003), "epochs": 20, "seed": 0}
trace = rb.play(compiled, learner, **how)
mixture = rb.shrink(trace)
print(mixture)

# %%
# An audit asks the same functions about other rows. There is no interval around a custom function.

print(rb.audit(problem, mixture, adult.test))

# %%
# Beside it, a model that promises the rate alone: it makes fewer errors, and leans on far more features.

rate_alone = rb.compile(rb.Problem(problem.objective, [problem.constraints[0]]), adult.train)
plain = rb.shrink(rb.play(rate_alone, learner, **how))
for words, model in {"all three": mixture, "the rate alone": plain}.items():
    report = rb.audit(problem, model, adult.test)
    values = "  ".join(f"{promise.value:.4f}" for promise in report.promises)
    print(f"{words:15} error {report.objective.value:.4f}, promised: {values}")
