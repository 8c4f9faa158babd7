"""Tokens per second of transformers' generate, as ../decode.ts: SHAPE THREADS ROWS."""
import sys

from models import best, make_model, tell, torch

PROMPT, TOKENS = 150, 24
rows = int(sys.argv[3])
model = make_model()
model.eval()


def generate(new_tokens):
    ids = torch.randint(0, model.config.vocab_size, (rows, PROMPT))
    with torch.no_grad():
        model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens,
                       min_new_tokens=new_tokens, do_sample=True, top_k=0, pad_token_id=0)


filled, whole = best(lambda: generate(1), 2), best(lambda: generate(TOKENS + 1), 2)
tell(decode=rows * TOKENS / (whole["cpu"] - filled["cpu"]), decodeWall=rows * TOKENS / (whole["wall"] - filled["wall"]),
     prefill=rows * PROMPT / filled["cpu"])
