# SPDX-License-Identifier: Apache-2.0
"""Writes jinja_cases.json: templates, variables, and the texts that transformers makes of them.

    python3 tests/data/jinja_reference.py        needs transformers
"""

import json
import pathlib

from transformers.utils.chat_template_utils import _compile_jinja_template

MESSAGES = [
    {"role": "system", "content": " Sys\ntem "},
    {"role": "user", "content": "Hi 'you'"},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nÄh, ja"},
    {"role": "user", "content": "né?\n"},
]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"a": [1, 2.5, None, True], "ü": {}}}}
VARIABLES = dict(messages=MESSAGES, tools=[TOOL], n=7, empty="", none=None, word="grüßen", yes=True,
                 items={"b": 1, "a": [2, "x"]})  # fmt: skip

EXPRESSIONS = """
1 + 2 * 3 - 4 // 3 | 7 % 3 | -7 // 2 | -7 % 3 | 2 ** 3 | 7 / 2 | 4 / 2 | 1.5 + 1 | "a" + 'b' | "a" ~ 1 ~ none ~ true
n > 3 and n < 9 | n >= 7 or undefined_name | not n | n == 7.0 | n != 8 | "r" in word | "z" not in word | 2 in [1, 2]
"b" in items | [1, 2] + [3] | (1, 2)[1] | {"k": [1, 'x'], "l": none} | [1.0, true, "it's"] | messages[-1].role
messages[0]['content'] | messages[1:][0].role | messages[::-1][0].content | word[1] | word[-2:] | word[:3] | word[::-1]
messages | length | word | length | "aZ" | upper | "ab cD" | title | "ab" | capitalize | " x " | trim | "xxaxx" | trim("x")
items | tojson | tools | tojson | tools[0] | tojson(indent=2) | word | tojson | messages | map(attribute='role') | list
messages | map(attribute='role') | join(', ') | messages | selectattr('role', 'equalto', 'user') | list | length
items | dictsort | length | messages | rejectattr("role", "==", "user") | list | length | [0, 1, 2] | select('odd') | list | [3, 1] | last | [] | first
undefined_name | default('d') | empty | default('e', true) | none | default('f') | undefined_name is defined | n is number
none is none | word is string | items is mapping | messages is iterable | n is not none | yes is true | yes is boolean
undefined_name is undefined | n is odd | "5" | int + 1 | "2.5" | float | 3 | string + "x"
items.get('a') | items.get('z', 5) | items.keys() | list | items.values() | list | " a b ".strip() | "xay".lstrip('x')
"a\\n".rstrip() | "a,b,c".split(',') | " a  b ".split() | "a,b,c".split(',', 1) | word.startswith('gr') | word.endswith('x')
"a-b".replace('-', '+') | "abab" | replace("a", "c") | 'aZ'.lower() | '-'.join(['a', 'b']) | range(3) | list | range(1, 6, 2) | list
messages[2].content.split('</think>')[-1].lstrip('\\n') | 'x' if n == 7 else 'y' | 'x' if n == 8 | ('x' if false) is defined
items.a[1] | items['b'] | items.missing is defined | "a\\tb" | "line\\nline" | indent(2) | none ~ "" | [none, "a"] | 1 == 1 and 'w' or 'v'
"%s" is string | 10 | abs_missing is defined | dict(a=1) | namespace(a=2).a | not (n == 7) | - n | (n) | "\\u00e9" | "q" "r"
undefined_name != "x" | undefined_name == other_name | undefined_name != none | 1 == true | strftime_now is defined
range is defined | raise_exception is undefined | undefined_name is eq(none) | true in [1] | n is ne(other_name)
"\\u00a0\\u3000 x\\u2003\\u001f" | trim | "äüxüä".strip('ü') | "äüxüä".strip('äü') | "\\u00c3\\u00a4".lstrip('ä')
2 * 3 ** 2 | 2 ** 3 ** 2 | -2 ** 2 | 2 ** -1 | -n | string | 1e3 | 1E-2 | 2.5e+1 | 1_000 | 1.0e3 | "\\x41\\xe9"
"\\u3000a\\u00a0b\\u001fc\\u2003".split() | " a  b c ".split(none, 1) | "  ".split() | "a b".split(none, 0)
"they're o-k (ab) [c {d x.y a3b" | title | "they're o-k".title()
"a\\n\\nb\\n" | indent(2) | "a\\n\\nb\\n" | indent(2, true, true) | "" | indent | "a\\n" | indent("x", blank=true)
"""

TEMPLATES = [
    "{% set x %}\r\na\rb\r\n{% endset %}[{{ x }}]\r\n",
    "{% for m in messages %}{{ loop.index }}/{{ loop.length }} {{ m.role }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{%- for m in messages if m.role != 'system' -%}\n  {{ m['role'] }}{{ loop.first }}\n{% else %}none{% endfor %}!\n\n",
    "{% for x in [] %}x{% else %}none{% endfor %}",
    "  {% if n == 7 %}\n    a\n  {% elif n == 8 %}\n b\n  {% else %}\n c\n  {% endif %}\nend\n",
    "a  {%- if yes %}  b  {% endif -%}  c {# comment #}\n d\n{#- and -#}\n e",
    "{% set ns = namespace(found=false, i=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}"
    "{% set ns.i = ns.i + loop.index0 %}{% endif %}{% endfor %}{{ ns.found }} {{ ns.i }}",
    "{% set x = 1 %}{% for i in range(3) %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% macro f(a, b='B') %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}{{ f(2, 'C') }}{{ f(b=3, a=4) }}",
    "{% macro walk(x) -%}{% if x is mapping %}{% for k, v in x.items() %}{{ k }}:{{ walk(v) }};{% endfor %}"
    "{% else %}{{ x }}{% endif %}{%- endmacro %}{{ walk(items) }}",
    "{% for k, v in items | dictsort %}{{ k }}={{ v }} {% endfor %}",
    "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% set text %}  {{ word }}\n{% endset %}{{ text | trim }}",
    "{% set a, b = 1, 'two' %}{{ b }}{{ a }}",
    "{{ '{%' }} {{ \"}}\" }} {{ {'a': {'b': 1}} }}",
    "{% for m in messages %}{% generation %}{{ m.content | trim }}{% endgeneration %}\n{% endfor %}",
    "{%+ if yes %} kept{% endif +%}\nx{% if yes -%}   y   {%- endif %}",
    "{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else '-' }}{{ loop.revindex }} {% endfor %}",
    "\n\n{{ word }}\n\n",
    "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}"
    "{% for m in rest %}{{ m.role[0] }}{% endfor %}",
    "{{- 'a' -}}   {{- 'b' }}\n{{ 'c' }}\nd",
    "{% macro f(a, b=a) %}[{{ a }}{{ b }}{{ i }}{{ loop }}{{ x }}{{ n }}]{% endmacro %}"
    "{% set x = 1 %}{% for i in [1, 2] %}{% set n = 5 %}{{ f(i) }}{{ i }}{% endfor %}",
    "{% macro f(a) %}{% set n = a %}{{ g() }}{{ n }}{% endmacro %}{% macro g() %}{{ n }}{{ a }}{% endmacro %}{{ f(1) }}{{ n }}",
    "{% for i in [1, 2] %}{% macro f() %}{{ i }}{% endmacro %}{{ f() }}{% endfor %}",
    "{% macro f() %}{% macro f() %}b{% endmacro %}a{% endmacro %}{{ f() }}",
    "{% set ns = namespace(x='') %}{% set ns.x %}abc{% endset %}{{ ns.x }}",
]


def expressions():
    # Pipes with blanks around them separate expressions, unless a filter follows.
    for line in EXPRESSIONS.strip().splitlines():
        parts, filters = line.split(" | "), set()
        joined = []
        for part in parts:
            name = part.split("(")[0].split(" ")[0]
            if name in ("length upper title capitalize trim tojson map list join selectattr rejectattr select last first "
                        "default int float string dictsort replace indent").split():  # fmt: skip
                joined[-1] += " | " + part
            else:
                joined.append(part)
        yield from joined


cases = []
for template in ["{{ " + e + " }}" for e in expressions()] + TEMPLATES:
    cases.append({"template": template, "text": _compile_jinja_template(template).render(**VARIABLES)})
with open(pathlib.Path(__file__).parent / "jinja_cases.json", "w") as f:
    json.dump({"variables": VARIABLES, "cases": cases}, f, indent=1, ensure_ascii=False)
    f.write("\n")
