"""
The trajectories of ../step.ts made by transformers' generate and trained by PyTorch: SHAPE THREADS PROMPTS. A branch is a
copy of its row after the tool's result, so nothing is generated twice; training sees rows, as the libraries do.
"""
import sys

from models import best, make_model, tell, torch

PROMPT, TURN, RESULT, INITIAL = 64, 32, 32, 4
prompts = int(sys.argv[3])
model = make_model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
vocabulary = model.config.vocab_size


def generate(ids):
    return model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=TURN, min_new_tokens=TURN,
                          do_sample=True, top_k=0, pad_token_id=0)


def sample():
    with torch.no_grad():
        ids = torch.randint(0, vocabulary, (prompts, PROMPT)).repeat_interleave(INITIAL, 0)
        ids = torch.cat([generate(ids), torch.randint(0, vocabulary, (prompts * INITIAL, RESULT))], 1)
        return generate(ids.repeat_interleave(2, 0))


def update(ids):
    weights = torch.zeros(ids.shape)
    weights[:, PROMPT:PROMPT + TURN] = 1
    weights[:, PROMPT + TURN + RESULT:] = 1
    advantages = torch.tensor([1.0, -0.5]).repeat(len(ids) // 2)[:, None]
    logits = model(input_ids=ids[:, :-1]).logits
    log_probs = torch.log_softmax(logits, -1).gather(2, ids[:, 1:, None])[..., 0]
    ratio = torch.exp(log_probs - log_probs.detach())
    (-(ratio * advantages * weights[:, 1:]).sum() / weights.sum()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


runs = 3 if sys.argv[1] == "4M" else 2
step = best(lambda: update(sample()), runs)
sampling = best(sample, 1)
tell(step=step, sampling=sampling)
