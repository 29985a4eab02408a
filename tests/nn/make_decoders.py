# SPDX-License-Identifier: Apache-2.0
"""Writes tests/nn/decoders: small random decoders as transformers saves them, each with its logits.

    python3 tests/nn/make_decoders.py        needs torch and transformers 5; a few seconds

NAME/ has config.json, model.safetensors and cases.safetensors: for CASE in one, seven, long and padded,
CASE.input_ids [B, T], CASE.attention_mask [B, T] (padded only) and CASE.logits [B, T, vocabulary] in float32.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent / "decoders"
SIZES = dict(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=160, initializer_range=0.2)  # fmt: skip
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)  # fmt: skip
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=40)
LINEAR = dict(rope_type="linear", rope_theta=1000.0, factor=2.5)
PART = dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.34)
LONG = dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.1], long_factor=[2.0, 3.0],
            partial_rotary_factor=0.75)  # fmt: skip

# name: (class of the configuration, what it changes)
MODELS = {
    "llama": ("Llama", dict(rope_parameters=LLAMA3)),
    "llama-tied": ("Llama", dict(tie_word_embeddings=True, head_dim=10, attention_bias=True, mlp_bias=True,
                                 rope_parameters=YARN)),
    "mistral": ("Mistral", dict(sliding_window=9, rope_parameters=LINEAR)),
    "qwen2": ("Qwen2", dict(use_sliding_window=True, sliding_window=5, max_window_layers=1)),
    "qwen3": ("Qwen3", dict(head_dim=8)),
    "mixtral": ("Mixtral", dict(num_local_experts=4, sliding_window=9)),
    "qwen2_moe": ("Qwen2Moe", dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=16, num_hidden_layers=3,
                                   shared_expert_intermediate_size=20, mlp_only_layers=[1])),
    "qwen3_moe": ("Qwen3Moe", dict(num_experts=4, num_experts_per_tok=3, moe_intermediate_size=16, head_dim=8,
                                   norm_topk_prob=True, decoder_sparse_step=2)),
    "qwen3_moe-stacked": ("Qwen3Moe", dict(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=16)),
    "gemma2": ("Gemma2", dict(head_dim=8, sliding_window=6, query_pre_attn_scalar=12, attn_logit_softcapping=3.0,
                              final_logit_softcapping=2.0)),
    "gemma3": ("Gemma3Text", dict(head_dim=8, sliding_window=6, query_pre_attn_scalar=9, num_hidden_layers=3,
                                  layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    "phi3": ("Phi3", dict(pad_token_id=0, sliding_window=70,
                          original_max_position_embeddings=136, rope_parameters=LONG)),
    "olmo2": ("Olmo2", {}),
    "gpt_neox": ("GPTNeoX", dict(rope_parameters=PART)),
    "gpt_neox-serial": ("GPTNeoX", dict(rope_parameters=PART, use_parallel_residual=False)),
    "opt": ("OPT", dict(ffn_dim=40)),
    "opt-350m": ("OPT", dict(ffn_dim=40, do_layer_norm_before=False, word_embed_proj_dim=12)),
}  # fmt: skip


def write(name):
    kind, changes = MODELS[name]
    config = getattr(transformers, kind + "Config")(**{**SIZES, **changes, "attn_implementation": "eager"})
    torch.manual_seed(len(name) + ord(name[0]))
    classes = dict(Gemma3Text="Gemma3ForCausalLM")
    model = getattr(transformers, classes.get(kind, kind + "ForCausalLM"))(config).eval().float()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:  # norms and biases, which begin at 0 or 1
                parameter.add_(0.3 * torch.randn_like(parameter))
    folder = HERE / name
    model.save_pretrained(folder)
    if name.endswith("-stacked"):  # as in memory, where a tensor has the weights of all experts
        save_file(model.state_dict(), folder / "model.safetensors")
    (folder / "generation_config.json").unlink(missing_ok=True)
    cases = {}
    with torch.no_grad():
        for case, shape in dict(one=(1, 1), seven=(1, 7), long=(1, 130), padded=(2, 9)).items():
            ids = torch.randint(3, SIZES["vocab_size"], shape)
            cases[case + ".input_ids"] = ids
            mask = torch.ones_like(ids)
            if case == "padded":
                mask[0, 6:] = 0
                cases[case + ".attention_mask"] = mask
            cases[case + ".logits"] = model(input_ids=ids, attention_mask=mask).logits.contiguous()
    save_file(cases, folder / "cases.safetensors")


for name in sys.argv[1:] or MODELS:
    write(name)
