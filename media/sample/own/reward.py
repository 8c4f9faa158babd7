"""A reward of one's own: reads one trajectory per line as JSON, writes its reward as one line.

Use it with  "reward": { "custom": { "command": ["python3", "own/reward.py"] } }.
What it prints anywhere else than to standard error is taken for an answer.
"""

import json
import re
import sys


def reward(trajectory):
    """Right answers earn 1, less a tenth for every tool call beyond the first."""
    answers = re.findall(r"\\boxed\{([^{}]*)\}", trajectory["response"])
    if not answers:
        return {"total": -1, "parts": {"format": -1}, "correct": False, "reason": "No boxed answer."}
    answer = answers[-1].strip()
    correct = answer.lower() in (reference.lower() for reference in trajectory["references"])
    extra = max(0, len(trajectory["calls"]) - 1)
    parts = {"accuracy": float(correct), "calls": -0.1 * extra if correct else 0.0}
    return {
        "total": sum(parts.values()),
        "parts": parts,
        "correct": correct,
        "answer": answer,
        "reason": ("Right" if correct else "Wrong") + f", with {extra} more calls than one.",
    }


for line in sys.stdin:
    trajectory = json.loads(line)
    print(json.dumps({"id": trajectory["id"], **reward(trajectory)}), flush=True)
