"""Forward and backward of the same rows as ../train.ts in PyTorch, eager: SHAPE THREADS ROWS LENGTH RUNS."""
import sys

from models import best, make_model, tell, torch

rows, length, runs = (int(arg) for arg in sys.argv[3:6])
model = make_model()
model.train()
ids = torch.randint(0, model.config.vocab_size, (rows, length))


def run():
    model.zero_grad(set_to_none=True)
    model(input_ids=ids, labels=ids).loss.backward()


tell(tokens=rows * length, **best(run, runs))
