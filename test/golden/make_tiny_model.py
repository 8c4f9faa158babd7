"""Writes engine.json: log-probabilities, entropies and gradients of tiny random models by PyTorch, and AdamW steps.

Run once with torch and transformers installed: python make_tiny_model.py > engine.json
"""

import base64
import json
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

TEMPERATURE = 0.8
ENTROPY_WEIGHT = 0.05
COMMON = dict(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=6,
    intermediate_size=20,
    max_position_embeddings=64,
    rms_norm_eps=1e-5,
    attn_implementation="eager",
)


def pack(tensor):
    return base64.b64encode(tensor.detach().to(torch.float32).contiguous().numpy().tobytes()).decode()


def rounded(tensor):
    return [float(f"{value:.8g}") for value in tensor.detach().flatten().tolist()]


def randomise(model):
    """Weights large enough that every nonlinearity matters, biases and norms away from their defaults."""
    for parameter in model.parameters():
        with torch.no_grad():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
            else:
                parameter.copy_(torch.randn_like(parameter) * 1.2 / parameter.shape[1] ** 0.5)


def case(architecture, config, model):
    randomise(model)
    model.eval()
    rows = [torch.randint(0, 40, (length,)) for length in (9, 14)]
    results, loss = [], 0
    for row in rows:
        advantages, weights = torch.randn(len(row)), torch.rand(len(row)) / 20
        scores = model(row[None]).logits[0] / TEMPERATURE
        log_probs = torch.log_softmax(scores, -1)
        chosen = log_probs[:-1].gather(1, row[1:, None])[:, 0]
        entropy = -(log_probs.exp() * log_probs).sum(-1)[:-1]
        # On-policy: the ratio is 1 and its derivative by the log-probability is the advantage.
        loss = loss - (weights[1:] * advantages[1:] * (chosen - chosen.detach()).exp()).sum()
        loss = loss - ENTROPY_WEIGHT * (weights[1:] * entropy).sum()
        results.append(
            dict(
                ids=row.tolist(),
                advantages=rounded(advantages),
                weights=rounded(weights),
                logProbs=rounded(chosen),
                entropies=rounded(entropy),
                lastLogits=rounded(scores[-1] * TEMPERATURE),
            )
        )
    loss.backward()
    names = [name for name, _ in model.named_parameters()]
    parameters = dict(model.named_parameters())
    return dict(
        config={"architectures": [architecture], "tie_word_embeddings": config.tie_word_embeddings, "rope_theta": 10000.0}
        | {key: value for key, value in COMMON.items() if key != "attn_implementation"},
        loss=loss.item(),
        rows=results,
        weights={name: pack(parameters[name]) for name in names},
        gradients={name: pack(parameters[name].grad) for name in names},
    )


def adamw():
    """Three steps of a matrix that decays and a vector that does not, with clipping by global norm."""
    settings = dict(learningRate=0.01, beta1=0.9, beta2=0.98, epsilon=1e-8, weightDecay=0.1, maxGradientNorm=1.0)
    matrix, vector = torch.nn.Parameter(torch.randn(3, 4)), torch.nn.Parameter(torch.randn(5))
    options = dict(lr=0.01, betas=(0.9, 0.98), eps=1e-8)
    optimizer = torch.optim.AdamW(
        [dict(params=[matrix], weight_decay=0.1), dict(params=[vector], weight_decay=0.0)], **options
    )
    start = dict(matrix=rounded(matrix), vector=rounded(vector))
    steps = []
    for size in (0.1, 1.0, 3.0):
        matrix.grad, vector.grad = size * torch.randn(3, 4), size * torch.randn(5)
        gradients = dict(matrix=rounded(matrix.grad), vector=rounded(vector.grad))
        norm = torch.nn.utils.clip_grad_norm_([matrix, vector], 1.0).item()
        optimizer.step()
        steps.append(dict(gradients=gradients, norm=norm, matrix=rounded(matrix), vector=rounded(vector)))
    return dict(settings=settings, start=start, steps=steps)


def main():
    torch.manual_seed(7)
    llama = LlamaConfig(**COMMON, tie_word_embeddings=False)
    qwen2 = Qwen2Config(**COMMON, tie_word_embeddings=True)
    qwen3 = Qwen3Config(**COMMON, tie_word_embeddings=True)
    json.dump(
        dict(
            temperature=TEMPERATURE,
            entropyWeight=ENTROPY_WEIGHT,
            models=[
                case("LlamaForCausalLM", llama, LlamaForCausalLM(llama)),
                case("Qwen2ForCausalLM", qwen2, Qwen2ForCausalLM(qwen2)),
                case("Qwen3ForCausalLM", qwen3, Qwen3ForCausalLM(qwen3)),
            ],
            adamw=adamw(),
        ),
        sys.stdout,
    )


main()
