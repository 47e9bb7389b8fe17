#!/usr/bin/env python3
"""Writes a tiny Qwen3 checkpoint whose replies are known in advance.

    build_model.py TOKENIZER_DIR OUT_DIR [--hidden 256] [--layers 2] [--context 40960] [--think]

TOKENIZER_DIR holds tokenizer.json and tokenizer_config.json of Qwen3. Attention
and MLP compute as in a real model, so prefill time and caching are real, but
their outputs are zero: the next token depends on the last one alone. After any
generation prompt the model says REPLY and stops, at any temperature. With
--think it says THOUGHT in a <think> block first.
"""
import argparse
import json
import pathlib
import shutil

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

REPLY = "Goal: keep the build green. Parser read, lexer fixed; next run all tests"
THOUGHT = "I should look at what happened so far"
VOCABULARY = 151936
HEAD_DIM = 64

parser = argparse.ArgumentParser()
parser.add_argument("tokenizer", type=pathlib.Path)
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--hidden", type=int, default=256)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--context", type=int, default=40960)
parser.add_argument("--think", action="store_true")
options = parser.parse_args()
hidden = options.hidden
heads = hidden // HEAD_DIM

tokenizer = Tokenizer.from_file(str(options.tokenizer / "tokenizer.json"))
special = tokenizer.token_to_id


def ids(text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def random(*shape):
    return rng.standard_normal(shape, dtype=np.float32) * 0.02


reply = ids(REPLY)
thought = ids(THOUGHT)
newline, = ids("\n")
blank, = ids("\n\n")
chains = [[blank, *reply, special("<|im_end|>")]]  # after "</think>\n\n", whoever wrote it
if options.think:
    chains.append([newline, special("<think>"), *thought, special("</think>"), blank])
else:
    chains.append([newline, reply[0]])
spoken = reply + thought
assert len(set(spoken)) == len(spoken), "a token that occurs twice has two successors"

rng = np.random.default_rng(0)
embedding = rng.standard_normal((VOCABULARY, hidden), dtype=np.float32)
embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
successor_of = np.zeros((VOCABULARY, hidden), dtype=np.float32)
for chain in chains:
    for token, successor in zip(chain, chain[1:]):
        successor_of[successor] += 8.0 * embedding[token]

tensors = {
    "model.embed_tokens.weight": embedding,
    "model.norm.weight": np.ones(hidden, np.float32),
    "lm_head.weight": successor_of,
}
for i in range(options.layers):
    layer = f"model.layers.{i}."
    tensors[layer + "input_layernorm.weight"] = np.ones(hidden, np.float32)
    tensors[layer + "post_attention_layernorm.weight"] = np.ones(hidden, np.float32)
    for name in "qkv":
        tensors[layer + f"self_attn.{name}_proj.weight"] = random(heads * HEAD_DIM, hidden)
    tensors[layer + "self_attn.q_norm.weight"] = np.ones(HEAD_DIM, np.float32)
    tensors[layer + "self_attn.k_norm.weight"] = np.ones(HEAD_DIM, np.float32)
    tensors[layer + "self_attn.o_proj.weight"] = np.zeros((hidden, heads * HEAD_DIM), np.float32)
    tensors[layer + "mlp.gate_proj.weight"] = random(4 * hidden, hidden)
    tensors[layer + "mlp.up_proj.weight"] = random(4 * hidden, hidden)
    tensors[layer + "mlp.down_proj.weight"] = np.zeros((hidden, 4 * hidden), np.float32)

config = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": VOCABULARY,
    "hidden_size": hidden,
    "intermediate_size": 4 * hidden,
    "num_hidden_layers": options.layers,
    "num_attention_heads": heads,
    "num_key_value_heads": heads,
    "head_dim": HEAD_DIM,
    "max_position_embeddings": options.context,
    "rope_theta": 1000000,
    "rms_norm_eps": 1e-6,
    "hidden_act": "silu",
    "attention_bias": False,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "bos_token_id": special("<|endoftext|>"),
    "eos_token_id": special("<|im_end|>"),
}
generation = {"eos_token_id": [special("<|im_end|>"), special("<|endoftext|>")], "do_sample": False}

options.out.mkdir(parents=True, exist_ok=True)
save_file(tensors, str(options.out / "model.safetensors"), metadata={"format": "pt"})
(options.out / "config.json").write_text(json.dumps(config, indent=1))
(options.out / "generation_config.json").write_text(json.dumps(generation))
for name in ("tokenizer.json", "tokenizer_config.json"):
    shutil.copy(options.tokenizer / name, options.out / name)
