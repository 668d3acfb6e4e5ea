"""Your own loop: Hugging Face Trainer
===================================

A small BERT, built from a config and trained from scratch, finds comments to remove. One word is an
insult among speakers of dialect a and harmless among speakers of b, and the model does not know who
speaks. So harmless comments of b would be removed far too often; the promise is at most one in ten.
`compute_loss` returns the scores times the gradient that `rb.Game` gives: a number whose derivative by
the scores is that gradient. Paragraphs that begin with `# Promise:` are all that the promise adds.
"""

import copy
import tempfile

import numpy as np
import transformers as hf

import ratebound as rb


def comments(rng, n=4_000):  # 12 tokens each; 3 is an insult, 4 is one in dialect a
    dialect, tokens = rng.choice(["a", "b"], n), rng.integers(5, 32, (n, 12))
    bad, mixed = rng.random((2, n)) < 0.3
    tokens[bad, 0], tokens[mixed, 1] = 3, 4
    return rb.Population(tokens, bad | mixed & (dialect == "a"), {"dialect": dialect})


class Bert(hf.BertForSequenceClassification):
    def forward(self, X, rows=None):
        return super().forward(X.long()).logits.squeeze(1)


hf.set_seed(0)
train, new = comments(np.random.default_rng(0)), comments(np.random.default_rng(1))
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
model, snapshots = Bert(hf.BertConfig(vocab_size=32, num_labels=1, **sizes)), []

# Promise: what is promised, what is asked of training, and the game of it on the training rows.
promised = rb.Problem(rb.error_rate(), ['false_positive_rate(dialect == "b") <= 0.1'])
asked = rb.Problem(rb.error_rate(), ['false_positive_rate(dialect == "b") <= 0.08'])
compiled = rb.compile(asked, train)
game = rb.Game(compiled, rules=rb.Rules(proxy="sigmoid"))
rounds = game.recorded(game.start(np.zeros(len(train))))


class Trainer(hf.Trainer):
    def compute_loss(self, model, inputs, **options):
        scores = model(**inputs)

        # Promise: a number whose derivative by the scores is the gradient.
        return (scores * rounds(scores, inputs["rows"])).sum()


class Snapshots(hf.TrainerCallback):
    def on_epoch_end(self, args, state, control, model, **options):
        snapshots.append(copy.deepcopy(model))


rows = [{"X": tokens, "rows": row} for row, tokens in enumerate(train.X)]
options = {"num_train_epochs": 4, "per_device_train_batch_size": 64, "learning_rate": 0.003}
place = {"output_dir": tempfile.gettempdir(), "use_cpu": True, "remove_unused_columns": False}
quiet = {"report_to": "none", "disable_tqdm": True, "save_strategy": "no", "logging_strategy": "no"}
args = hf.TrainingArguments(**options, **place, **quiet)
Trainer(model, args, train_dataset=rows, callbacks=[Snapshots()]).train()

# Promise: the best mixture of the snapshots, by exact rates; then both kinds of rows.
mixture = rb.shrink(rb.trace_of(compiled, snapshots))
print(rb.audit(promised, mixture, train))
print(rb.audit(promised, mixture, new))
