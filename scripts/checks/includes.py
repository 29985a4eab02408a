#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: checks the includes against the rooms that libsten/CMakeLists.txt declares.

    scripts/checks/includes.py [ROOT]          prints every violation; exit 1 if there is one
    scripts/checks/includes.py --map [ROOT]    prints the rooms that each room uses

A file includes its own room, or rooms that its room USES; a room uses rooms declared above it, and
the name of a district stands for all of its rooms above. apps include all, kernels only kernels.
No units include each other in a circle; a unit is a header with its source.
"""

import os
import re
import sys

SOURCES = (".h", ".cpp", ".cu", ".cuh", ".inc")
OPTIONS = {"EARLY", "THREADS", "COLD"}
VALUES = {"FORMERLY", "LIBRARIES", "USES"}
# Folders without a declaration: other libraries, and the stubs of the early program.
OTHERS = {"programs/bench": ["."], "programs/absent": ["."], "training/comm/mpi": ["core", "training"]}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]*)[">]')


def declared_rooms(path):
    """The rooms in order: name -> names that it uses, districts included."""
    rooms = {}
    for line in open(path, encoding="utf-8"):
        match = re.match(r"sten_room\((.*)\)", line)
        if not match:
            continue
        name, *words = match[1].split()
        key, uses = None, []
        for word in words:
            if word in OPTIONS or word in VALUES:
                key = word
            elif key == "USES":
                uses.append(word)
        rooms[name] = uses
    return rooms


def files_below(root):
    for top in ("apps", "libsten", "kernels"):
        if not os.path.isdir(os.path.join(root, top)):
            sys.exit(f"includes: {root} has no {top}/")
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SOURCES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes_of(root, path):
    """(line number, path from the root) of each header of ours that a file includes."""
    for number, line in enumerate(open(os.path.join(root, path), encoding="utf-8"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match[2]
        if not re.match(r"(apps|libsten|kernels|tests)/", target):
            if match[1] == "<":
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), target))
        yield number, target


def room_of(path):
    """"core/layout" for "libsten/core/layout/nmg.h"; apps, kernels and libsten are one room each."""
    top, *rest = path.split("/")
    if top != "libsten" or len(rest) < 2:
        return top
    if len(rest) > 2 and rest[-2] == "absent" and rest[0] != "programs":
        rest.pop(-2)
    return "/".join(rest[:-1])


def covers(name, room):
    return name == "." or room == name or room.startswith(name + "/")


def violations(root, rooms):
    order = {name: at for at, name in enumerate(rooms)}
    for name, uses in rooms.items():
        for used in uses:
            if not any(covers(used, other) and order[other] < order[name] for other in order):
                yield f"libsten/CMakeLists.txt: {name} may only use rooms above it, but uses {used}"
    for path in sorted(files_below(root)):
        room = room_of(path)
        if room not in rooms and room not in OTHERS and room not in ("apps", "libsten", "kernels"):
            yield f"{path}:1: libsten/CMakeLists.txt declares no room {room}"
            continue
        for number, target in includes_of(root, path):
            to = room_of(target)
            if to == room or room == "apps":
                continue
            if to == "kernels" and room != "kernels":
                continue
            if room == "libsten" and to in rooms:
                continue
            uses = OTHERS.get(room) or rooms.get(room, [])
            below = room not in order or to not in order or order[to] < order[room]
            if to in rooms and below and any(covers(name, to) for name in uses):
                continue
            yield f"{path}:{number}: {room} may not include {to}"


def circles(root):
    """Groups of units that include each other: Tarjan's strongly connected components."""
    edges = {}
    for path in files_below(root):
        unit = os.path.splitext(path)[0]
        targets = {os.path.splitext(target)[0] for _, target in includes_of(root, path)}
        edges.setdefault(unit, set()).update(targets - {unit})
    index, low, stack, found = {}, {}, [], []
    for start in sorted(edges):
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            unit, targets = work[-1]
            for target in targets:
                if target not in edges:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    work.append((target, iter(sorted(edges[target]))))
                    break
                if target in stack:
                    low[unit] = min(low[unit], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[unit])
                if low[unit] == index[unit]:
                    at = stack.index(unit)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    del stack[at:]
    return found


def undocumented(root, rooms):
    """The rooms that docs/adding.md does not list, if there is such a page."""
    page = os.path.join(root, "docs", "adding.md")
    if not os.path.exists(page):
        return []
    text = open(page, encoding="utf-8").read()
    return [name for name in rooms if f"| `libsten/{name}/` |" not in text]


def main():
    words = [word for word in sys.argv[1:] if word != "--map"]
    root = words[0] if words else os.path.join(os.path.dirname(__file__), "..", "..")
    rooms = declared_rooms(os.path.join(root, "libsten", "CMakeLists.txt"))
    if "--map" in sys.argv:
        for name, uses in rooms.items():
            print(f"{name}: {' '.join(uses)}".rstrip(": "))
        return 0
    found = list(violations(root, rooms))
    found += [f"units include each other: {' '.join(circle)}" for circle in circles(root)]
    found += [f"docs/adding.md: the table has no row for libsten/{name}/" for name in undocumented(root, rooms)]
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
