#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the texts of errors and warnings: prints FILE:LINE: TEXT (REASON) for each that breaks the
form; exit 1 if any does.
  scripts/checks/messages.py [--list] [ROOT]
--list prints all texts instead. Texts are the string literals of the calls of fail(), fail_usage(),
fail_check(), fail_unsupported(), warn(), warn_once(), Error() and Unsupported().
"""
import pathlib
import re
import sys

TOKEN = re.compile(
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<mark>\w*)\((?P<inner>.*?)\)(?P=mark)")'
    r'|(?P<text>"(?:\\.|[^"\\\n])*")'
    r"|(?P<word>'(?:\\.|[^'\\\n])+'|\d[\w']*|\w+)|(?P<sign>.)", re.S)
CALLS = {'fail', 'fail_usage', 'fail_check', 'fail_unsupported', 'warn', 'warn_once', 'Error',
         'Unsupported'}
PRONOUN = re.compile(r'(it|its|that|this|those|these|one|what|there) ')
VERB = re.compile(r'(is|are|was|were|has|have|had|does|do|holds|takes|needs|cannot|must|begins|'
                  r'belongs|contains|gives|repeats|stands) ')


def tokens_of(source):
    """(kind, text, line) of each word, sign and literal; adjacent literals are one."""
    tokens, line = [], 1
    for m in TOKEN.finditer(source):
        kind, text = m.lastgroup, m.group()
        if kind in ('raw', 'text'):
            text = m['inner'] if kind == 'raw' else text[1:-1]
            if tokens and tokens[-1][0] == 'text':
                tokens[-1] = ('text', tokens[-1][1] + text, tokens[-1][2])
            else:
                tokens.append(('text', text, line))
        elif kind != 'skip':
            tokens.append((kind, text, line))
        line += m.group().count('\n')
    return tokens


def calls_of(tokens):
    """(is a member function, line, literals) of each call."""
    for i, (kind, name, line) in enumerate(tokens[:-1]):
        if kind != 'word' or name not in CALLS or tokens[i + 1][1] not in '({':
            continue
        depth, literals = 0, []
        for kind, text, _ in tokens[i + 1:]:
            if kind == 'text':
                literals.append(text)
            elif kind == 'sign':
                depth += (text in '({[') - (text in ')}]')
            if depth == 0:
                break
        if any(re.search('[a-z]', text) for text in literals):
            yield i > 0 and tokens[i - 1][1] in '.>', line, literals


def fault_of(is_member, literals):
    """Why the texts of a call have another form, or None."""
    for text in literals:
        plain = re.sub(r'''\\".*?\\"|(?<!\w)'.*?'(?!\w)''', '""', text)
        if re.search(r'\b(is|are) no\b', plain):
            return '"is no"'
        if re.search(r'\bit\b', plain, re.I):
            return '"it"'
    if PRONOUN.match(literals[0]):
        return 'begins with a pronoun'
    # A member function of a reader puts the name of a field before the text.
    if not is_member and VERB.match(literals[0]):
        return 'begins with a verb'
    return None


def sources_of(root):
    for part in ('apps', 'libsten', 'kernels'):
        for path in sorted((root / part).rglob('*')):
            if path.suffix in ('.cpp', '.h', '.cu', '.cuh'):
                yield path


def main(arguments):
    lists = '--list' in arguments
    roots = [a for a in arguments if a != '--list']
    root = pathlib.Path(roots[0]) if roots else pathlib.Path(__file__).resolve().parents[2]
    faults = 0
    for path in sources_of(root):
        for is_member, line, literals in calls_of(tokens_of(path.read_text())):
            fault = fault_of(is_member, literals)
            place = f'{path.relative_to(root)}:{line}: {" | ".join(literals)}'
            if lists:
                print(place)
            elif fault:
                print(f'{place} ({fault})')
                faults += 1
    if faults:
        print('messages: docs/contributing.md has the form of an error')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
