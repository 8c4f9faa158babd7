"""
Trains a run's first steps again with transformers and PyTorch, from what its folder holds, and says how far its numbers are from
the recorded ones: RUN [STEPS [POLICY]], the policy's folder where it was moved since. Every trajectory is a row of its own, every
loss is differentiated by PyTorch and all formulas are written out here, so that nothing of the program under test is used. Ends
with 1 where a number is further away than rounding explains; Adam enlarges rounding, so that few steps say most.
"""
import collections
import copy
import json
import math
import os
import sys

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

torch.set_num_threads(1)
run, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
config = json.load(open(f"{run}/run.json"))["config"]
rollout, algorithm, optimizer = config["rollout"], config["algorithm"], config["optimizer"]
kl_weight, bonus = algorithm["klWeight"], algorithm["entropyBonus"]
trains_forced = rollout["limitAction"] == "append-end-trained"
temperature = rollout["temperature"]
folder = sys.argv[3] if len(sys.argv) > 3 else os.path.join(run, config["policy"]["path"])
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
reference = copy.deepcopy(model) if kl_weight else None


def read(step):
    """The step's trees that were learned from, each as its trajectories."""
    trees = {}
    for line in open(f"{run}/trees.jsonl"):
        tree = json.loads(line)
        if tree["step"] == step:
            trees.pop(tree["id"], None)
            trees[tree["id"]] = tree
    return [[trajectory(tree, path) for path in tree["paths"]] for tree in trees.values() if not tree.get("isDropped")]


def column(tree, place, kind):
    offset, count = tree["tokens"]["offset"], tree["tokens"]["count"]
    return np.fromfile(f"{run}/tokens.bin", kind, count, offset=offset + 4 * count * place)


def trajectory(tree, path):
    segments, walk, at = tree["segments"], [], path["leaf"]
    while at >= 0:
        walk.insert(0, at)
        at = segments[at]["parent"]
    tokens, trained, turns, states = [], [], [], []
    for before, at in zip([None, *walk], walk):
        segment = segments[at]
        if segment["kind"] == "model":
            said = segments[before]
            states.append((said["call"]["tool"], said["text"]) if said["kind"] == "tool" else "prompt")
        for token in range(segment["start"], segment["start"] + segment["count"]):
            tokens.append(token)
            trained.append(segment["kind"] == "model" or (segment["kind"] == "forced" and trains_forced))
            turns.append(len(states) - 1)
    return dict(
        ids=torch.tensor(column(tree, 0, np.int32)[tokens]).long(), trained=torch.tensor(trained)[1:], tokens=tokens,
        turns=torch.tensor(turns)[1:], states=states, reward=path["reward"]["total"],
        sampled=torch.tensor(column(tree, 1, np.float32)[tokens])[1:])


def forward(row, of=model):
    """Log-probabilities of the row's tokens but the first, and the entropies that they were drawn from."""
    logs = torch.log_softmax(of(row["ids"][None]).logits[0, :-1] / temperature, -1)
    return logs.gather(1, row["ids"][1:, None])[:, 0], -(logs.exp() * logs).sum(-1)


def deviation(values):
    return values.std().item() + 1e-6


def credit(groups):
    """Gives every trained token of every row its advantage."""
    rewards = [torch.tensor([row["reward"] for row in group]).double() for group in groups]
    for group, own in zip(groups, rewards):
        others = (own.sum() - own) / max(1, len(own) - 1)
        base = {"group-mean": own.mean(), "leave-one-out": others, "batch-mean": torch.cat(rewards).mean(), "none": 0}
        scaled = (own - base[algorithm["baseline"]]) / (deviation(own) if algorithm["scale"] == "group-std" else 1)
        for row, advantage in zip(group, scaled):
            row["advantages"] = torch.full_like(row["old"], advantage.item())
        if algorithm["credit"] == "step":
            compare_turns(group)
        if algorithm["credit"] == "hard":
            share(group)
    if algorithm["scale"] == "batch-std":
        all_of = torch.cat([row["advantages"] for group in groups for row in group]).double()
        for group in groups:
            for row in group:
                row["advantages"] = (row["advantages"] - all_of.mean().item()) / math.sqrt(all_of.var().item() + 1e-8)


def compare_turns(group):
    visits = collections.defaultdict(list)
    for row in group:
        for turn, state in enumerate(row["states"]):
            left = len(row["states"]) - 1 - turn
            visits[state].append((row, turn, row["reward"] * algorithm["stepDiscount"] ** left))
    for seen in visits.values():
        returns = torch.tensor([value for *_, value in seen]).double()
        if len(seen) < 2 or returns.max() == returns.min():
            continue
        scale = deviation(returns) if algorithm["scale"] == "group-std" else 1
        for row, turn, value in seen:
            own = row["turns"][row["trained"]] == turn
            row["advantages"] += own * (algorithm["stepWeight"] * (value - returns.mean().item()) / scale)


def share(group):
    through = collections.defaultdict(list)
    names = [[token for token, trained in zip(row["tokens"][1:], row["trained"]) if trained] for row in group]
    for row, tokens in zip(group, names):
        for token, advantage in zip(tokens, row["advantages"].tolist()):
            through[token].append(advantage)
    for row, tokens in zip(group, names):
        row["advantages"] = torch.tensor([sum(through[token]) / len(through[token]) for token in tokens])


def weigh_by_entropy(groups):
    form, weight = algorithm["entropyAdvantage"], algorithm["entropyAdvantageWeight"]
    for part in {"none": [], "upstream": [groups], "paper": [[group] for group in groups]}[form]:
        entropies = torch.cat([row["entropies"] for group in part for row in group])
        for group in part:
            for row in group:
                row["advantages"] *= 1 + weight * (row["entropies"] - entropies.mean()) / entropies.std()


def loss_of(row, log_probs):
    """Losses of the row's trained tokens, and which of them are clipped."""
    advantages, logs = row["advantages"], log_probs - row["old"]
    ratio = torch.exp(logs.mean().expand_as(logs) if algorithm["ratio"] == "sequence" else logs)
    low, high = 1 - algorithm["clipLow"], 1 + algorithm["clipHigh"]
    if algorithm["clip"] == "cispo":
        return -ratio.clamp(low, high).detach() * advantages * log_probs, (ratio > high) | (ratio < low)
    going_on = ratio / ratio.detach()
    keeps_high, keeps_low = algorithm["clip"] != "ppo", algorithm["clip"] == "gradient-preserving"
    bounded = torch.where(ratio > high, high * (going_on if keeps_high else 1), ratio)
    bounded = torch.where(ratio < low, low * (going_on if keeps_low else 1), bounded)
    is_clipped = -advantages * bounded > -advantages * ratio
    losses = torch.where(is_clipped, -advantages * bounded, -advantages * ratio)
    if algorithm["dualClip"] > 0:
        limit = -advantages * algorithm["dualClip"]
        is_dual = (advantages < 0) & (losses > limit)
        losses, is_clipped = torch.where(is_dual, limit, losses), is_clipped | is_dual
    return losses, is_clipped


def update(groups, adam):
    """One optimiser step; None where the groups teach nothing."""
    rows = [row for group in groups for row in group]
    is_regularised = kl_weight != 0 or bonus != 0
    if all((row["advantages"] == 0).all() for row in rows) and not is_regularised:
        return None
    tokens, trajectories = sum(len(row["advantages"]) for row in rows), len(rows)
    weigh_by_entropy(groups)
    loss, clipped, moved, away, weights = 0, 0, 0, 0, 0
    for group in groups:
        teaches = is_regularised or any((row["advantages"] != 0).any() for row in group)
        for row in group:
            log_probs, entropies = (each[row["trained"]] for each in forward(row))
            losses, is_clipped = loss_of(row, log_probs)
            weight = {
                "token-mean": 1 / tokens, "seq-mean-token-sum": 1 / trajectories,
                "seq-mean-token-mean": 1 / (trajectories * max(1, len(losses))),
                "seq-mean-token-sum-norm": 1 / (trajectories * rollout["maxResponseTokens"])}[algorithm["aggregation"]]
            if kl_weight:
                further = row["reference"] - log_probs
                kl = (further.exp() - further - 1).clamp(max=10)
                losses, away = losses + kl_weight * kl, away + weight * kl.sum().item()
            loss = loss + weight * (losses - bonus * entropies).sum()
            if teaches:
                clipped += weight * is_clipped.sum().item()
                moved += weight * (row["old"] - log_probs).sum().item()
                weights += weight * len(losses)
    adam.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), optimizer["maxGradientNorm"]).item()
    adam.step()
    found = dict(loss=loss.item(), gradientNorm=norm, clipFraction=clipped / weights, approximateKl=moved / weights)
    return found | (dict(kl=away / weights) if kl_weight else {})


def matrices_and_others():
    """As the program: what has one dimension does not decay."""
    parameters = list(model.parameters())
    return [dict(params=[p for p in parameters if p.dim() > 1], weight_decay=optimizer["weightDecay"]),
            dict(params=[p for p in parameters if p.dim() <= 1], weight_decay=0)]


betas = (optimizer["beta1"], optimizer["beta2"])
adam = torch.optim.AdamW(matrices_and_others(), lr=1, betas=betas, eps=optimizer["epsilon"])
recorded = {}
for line in open(f"{run}/events.jsonl"):
    event = json.loads(line)
    if event["type"] == "step-finished":
        recorded[event["step"]] = event["summary"]
is_far = False
for step in range(1, steps + 1):
    groups, apart = read(step), 0
    if not groups:
        sys.exit(f"step {step}: the run keeps no trees of it")
    for part in adam.param_groups:
        part["lr"] = optimizer["learningRate"] * min(1, step / max(1, optimizer["warmupSteps"]))
    for row in [row for group in groups for row in group]:
        with torch.no_grad():
            log_probs, entropies = forward(row)
            row["reference"] = forward(row, reference)[0][row["trained"]] if kl_weight else None
        apart = max(apart, torch.nan_to_num((log_probs - row["sampled"]).abs()).max().item())
        row["old"], row["entropies"] = log_probs[row["trained"]], entropies[row["trained"]]
    credit(groups)
    updates = min(algorithm["updatesPerStep"], len(groups))
    parts = [groups[i * len(groups) // updates:(i + 1) * len(groups) // updates] for i in range(updates)]
    done = [found for part in parts if (found := update(part, adam))]
    print(f"step {step}: {len(groups)} groups, {len(done)} updates; |Δ log p| of the sampler at most {apart:.1e}")
    for name in done[0] if done else []:
        own, theirs = sum(found[name] for found in done) / len(done), recorded[step][name]
        differs = abs(own - theirs) > 2e-4 + 1e-3 * abs(own)
        is_far = is_far or differs
        print(f"  {name:14} {own:+.6f}  recorded {theirs:+.6f}{'  ✗' if differs else ''}")
sys.exit(1 if is_far else 0)
