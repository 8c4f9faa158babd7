"""The shapes of ../models.ts as transformers models, and how their runs are timed."""
import json
import os
import resource
import sys
import time

threads = int(sys.argv[2])
os.environ.setdefault("OMP_NUM_THREADS", str(threads))

import torch  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

torch.set_num_threads(threads)
torch.manual_seed(0)

SHAPES = {
    "4M": dict(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
               intermediate_size=704, vocab_size=4096),
    "135M": dict(hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
                 intermediate_size=1536, vocab_size=49152),
}


def make_model():
    """The model named by the first argument, in float32 with random weights."""
    config = LlamaConfig(**SHAPES[sys.argv[1]], tie_word_embeddings=True, max_position_embeddings=2048,
                         attn_implementation="sdpa")
    return LlamaForCausalLM(config)


def best(run, runs):
    """Fewest CPU-seconds and seconds of several runs after one that does not count."""
    run()
    found = []
    for _ in range(runs):
        cpu, wall = time.process_time(), time.perf_counter()
        run()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return dict(cpu=min(cpu for cpu, _ in found), wall=min(wall for _, wall in found))


def tell(**result):
    """One line of JSON, with what the numbers depend on."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(dict(result, torch=torch.__version__, capability=torch.backends.cpu.get_cpu_capability(),
                          peakBytes=peak)))
