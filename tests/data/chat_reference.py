#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes chat_templates.json: chat templates in the documented formats of common models, and the
prompts that transformers' apply_chat_template makes of messages with them.

    python3 tests/data/chat_reference.py          takes transformers
"""
import json
import os

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

CHATML = """{% for m in messages %}{% if loop.first and m['role'] != 'system' %}\
{{ '<|im_start|>system\\nYou help, briefly.<|im_end|>\\n' }}{% endif %}\
{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n'}}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
CHATML_PLAIN = """{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}\
{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}\
{% set system_message = false %}{% endif %}{% for m in loop_messages %}\
{% if loop.index0 == 0 and system_message != false %}\
{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + m['content'] %}{% else %}\
{% set content = m['content'] %}{% endif %}{% if m['role'] == 'user' %}\
{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% else %}\
{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""
LLAMA3 = """{% for m in messages %}{% set content = '<|start_header_id|>' + m['role'] + \
'<|end_header_id|>\\n\\n'+ m['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}\
{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""
LLAMA31 = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for m in messages %}
    {{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n'+ m['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
GEMMA2 = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}\
{% for m in messages %}{% if (m['role'] == 'assistant') %}{% set role = 'model' %}{% else %}\
{% set role = m['role'] %}{% endif %}\
{{ '<start_of_turn>' + role + '\\n' + m['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""
GEMMA3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}{%- set loop_messages = messages -%}
{%- endif -%}
{%- for m in loop_messages -%}
    {%- if (m['role'] == 'assistant') -%}{%- set role = "model" -%}
    {%- else -%}{%- set role = m['role'] -%}{%- endif -%}
    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}
    {{- m['content'] | trim }}
    {{- '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\\n'}}
{%- endif -%}
"""
MISTRAL1 = """{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}\
{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}\
{{ message['content'] + eos_token + ' ' }}{% endif %}{% endfor %}"""
MISTRAL3 = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- else %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
"""
PHI3 = """{% for m in messages %}{% if m['role'] == 'system' %}{{'<|system|>\\n' + m['content'] + '<|end|>\\n'}}\
{% elif m['role'] == 'user' %}{{'<|user|>\\n' + m['content'] + '<|end|>\\n'}}{% elif m['role'] == 'assistant' %}\
{{'<|assistant|>\\n' + m['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}\
{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"""
ZEPHYR = """{% for m in messages %}
{% if m['role'] == 'user' %}
{{ '<|user|>\\n' + m['content'] + eos_token }}
{% elif m['role'] == 'system' %}
{{ '<|system|>\\n' + m['content'] + eos_token }}
{% elif m['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + m['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

TEMPLATES = [
    ("ChatML", CHATML, "", "<|im_end|>", True),
    ("ChatML", CHATML_PLAIN, "", "<|im_end|>", True),
    ("Llama 2", LLAMA2, "<s>", "</s>", True),
    ("Llama 3", LLAMA3, "<|begin_of_text|>", "<|eot_id|>", True),
    ("Llama 3", LLAMA31, "<|begin_of_text|>", "<|eot_id|>", True),
    ("Gemma", GEMMA2, "<bos>", "<eos>", False),
    ("Gemma", GEMMA3, "<bos>", "<eos>", True),
    ("Mistral", MISTRAL1, "<s>", "</s>", False),
    ("Mistral", MISTRAL3, "<s>", "</s>", True),
    ("Phi-3", PHI3, "<s>", "<|endoftext|>", True),
    ("Zephyr", ZEPHYR, "<s>", "</s>", True),
]


def message(role, content):
    return {"role": role, "content": content}


SYSTEM = [message("system", " Answer in\nverse. ")]
ONE = [message("user", " Who is Romeo? ")]
MORE = ONE + [message("assistant", " A Montague.\n"), message("user", "And 'Juliet'?")]


def main():
    cases = []
    for name, jinja, bos, eos, has_system in TEMPLATES:
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(models.WordLevel({"a": 0})), eos_token=eos, bos_token=bos or None,
            chat_template=jinja)
        for messages in [ONE, MORE] + ([SYSTEM + ONE, SYSTEM + MORE] if has_system else []):
            prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            cases.append({"format": name, "jinja": jinja, "bos": bos, "eos": eos, "messages": messages,
                          "prompt": prompt})
    with open(os.path.join(os.path.dirname(__file__), "chat_templates.json"), "w") as f:
        json.dump(cases, f, indent=1)
        f.write("\n")


main()
