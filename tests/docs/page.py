#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that a Markdown page shows with what they print, and compares it.

    page.py PAGE BIN        BIN is the folder of the programs

Commands are lines that begin with "$ " in a block that is fenced, continued by a backslash. All of a page run in
one shell, one after the other, in a folder of their own, where MODEL is the shipped checkpoint. What a command
writes to is removed before it. A page shows all of standard output, or "..." for any lines of it, and of standard
error what it likes; or nothing. A command that fails is one whose error the page shows. Times and memory vary; so do,
where something is trained, losses and what follows from them; and where something is measured, all numbers, so that
less is measured. Exit code 77: numpy, which some commands need, is not there, and the others were right.
"""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NOT_RUN = re.compile(r"(\./)?scripts/|cmake|ctest|sudo")  # which build, install or take minutes
# What makes measurements and trainings short; what the page shows has the same rows.
LESS = {
    "sten-bench gemm": "--shape 16x64x32",
    "sten-bench convert": "--shape 64x256",
    "sten-bench dispatch": "",
    "sten-bench step --activations": "--shape 16x64x16 --batch 32",
    "sten-bench step": "--shape 1x64x50 --shape 1x32x50 --batch 1 --window 8",
    "sten-bench model": "--config recipes/models/shakespeare-bert/config.json --batch 1 --window 8",
}


def commands_of(page):
    """(command, lines that it prints, line of the page), in order."""
    found, fenced, command = [], False, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            fenced, command = not fenced, None
        elif fenced and line.startswith("$ "):
            command = [line[2:], [], number]
            found.append(command)
        elif command and command[0].endswith("\\"):
            command[0] = command[0][:-1] + line.strip()
        elif command:
            command[1].append(line)
    return [c for c in found if not NOT_RUN.match(c[0])]


def shorter(command):
    for name, more in LESS.items():
        if command.startswith(name):
            command = re.sub(r" --repeats \d+", "", command) + f" {more} --repeats 1"
            break
    return command.replace("$TRAIN tune {in} {out}", "$TRAIN tune {in} {out} --epochs 5")


def outputs_of(command):
    """Names in the folder that it writes to."""
    return [n for n in re.findall(r" (?:-o|--out|--state|--mask-out|--report) ([\w.-]+)", command) if n.strip(".-")]


def run(commands, folder, programs):
    """What each printed on standard output and standard error, in order, and its exit code."""
    script = []
    for i, (command, _, _) in enumerate(commands):
        if names := outputs_of(command):
            script.append(f"rm -rf -- {' '.join(names)}")
        script.append(f"{{ {shorter(command)}\n}} >../{i}.out 2>../{i}.err </dev/null; echo $? >../{i}.status")
    env = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    env |= {"CUDA_VISIBLE_DEVICES": ""}
    env.pop("COLUMNS", None)
    subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=env)
    read = lambda name: (folder.parent / name).read_text().splitlines()
    return [(read(f"{i}.out"), read(f"{i}.err"), int(*read(f"{i}.status"))) for i in range(len(commands))]


NUMBER = r"-?\b\d+(\.\d+)?(e-?\d+)?\b"


def measured(line):
    """A row of a measurement, without its numbers and the machine's own."""
    if line.startswith("slower than dense on this machine: "):  # or not
        return ""
    line = re.sub(r"\b(avx512|avx2|reference)\b", "ISA", line)
    line = re.sub(r"(oneDNN|OpenBLAS|libxsmm) [\d.]+( [A-Z]\w+)?", r"\1", line)
    line = re.sub(r"^(fastest of [^:]*): .*", r"\1", line)
    line = re.sub(r"^.*, ISA; dense by \w+ reaches", "CPU, ISA; dense by LIBRARY reaches", line)
    return re.sub(r"\d+(x\d+)+|(?<![=\w])" + NUMBER + r"(?![=\w])", "N", line)


def trained(line):
    if line.startswith("stopped at "):  # or not
        return ""
    if re.match(r"(validation|test|loss)\b", line):
        return re.sub(NUMBER, "N", line)
    line = re.sub(r"\b\d+\.\d+\b(?! (%|[kMG]?B\b))", "N", line)
    line = re.sub(r"(?<=N) (\d+|N)(?= (\d+|N|$))", " N", line)
    return re.sub(r"(after|in) \d+( rounds)?$", r"\1 N\2", line)


def plain(lines, kind):
    """The lines without what may vary, and with single blanks."""
    out = []
    for line in lines:
        line = re.sub(r"--+", "--", re.sub(r"\s+", " ", line).strip())
        line = re.sub(r"\b[\d.]+ m?s, peak memory [\d.]+ [kMG]?B", "TIME, peak memory SIZE", line)
        line = re.sub("no CUDA device found|CUDA support is not installed \\(libsten_cuda.so\\)", "no CUDA", line)
        out.append(kind(line) if kind else line)
    out = [line for line in out if line]
    return sorted(out) if kind is measured else out  # which are in the order of speed


def same(wanted, got):
    """Whether the lines are equal, but that a list of sizes may go on with layouts that are newer."""
    return len(wanted) == len(got) and all(
        w == g or (w.startswith("in other layouts: ") and g.startswith(w + ", ")) for w, g in zip(wanted, got))


def matches(wanted, got):
    """Whether `got` is what is wanted, in which "..." stands for any lines."""
    if "..." not in wanted:
        return same(wanted, got)
    at = wanted.index("...")
    rest = wanted[at + 1 :]
    if not same(wanted[:at], got[:at]):
        return False
    return any(matches(rest, got[k:]) for k in range(at, len(got) + 1))


def differs(wanted, out, err, status, kind):
    """What is wrong with what a command printed, "" if nothing is."""
    wanted = plain(wanted, kind)
    shown = [line for line in plain(err, kind) if line in wanted]
    if status and not shown:
        return "\n".join([f"it ended with {status}, and the page shows no error", *err])
    got = plain(out, kind) + shown
    if kind is measured:
        got.sort()
    if kind is measured and not any("libxsmm" in line for line in got):  # not in every build
        wanted = [line for line in wanted if "libxsmm" not in line]
    if not wanted or matches(wanted, got):
        return ""
    return "\n".join(difflib.unified_diff(wanted, got, "as the page says", "as it is", lineterm="", n=1))


def has_numpy(python):
    return subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0


def main():
    page, programs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    commands = commands_of(page)
    python = next((p for p in (str(programs.parent / "venv/bin/python"), "python3")
                   if shutil.which(p) and has_numpy(p)), None)  # fmt: skip
    missing = [c for c in commands if not python and re.search(r"python3|\$TRAIN", c[0])]
    commands = [c for c in commands if c not in missing]
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "work"
        folder.mkdir()
        for name in ("recipes", "scripts"):
            (folder / name).symlink_to(SOURCE / name)
        (folder / "MODEL").symlink_to(SOURCE / "recipes/models/shakespeare-bert/model.safetensors")
        if python:
            (pathlib.Path(work) / "bin").mkdir()
            (pathlib.Path(work) / "bin/python3").write_text(f'#!/bin/sh\nexec "{shutil.which(python)}" "$@"\n')
            (pathlib.Path(work) / "bin/python3").chmod(0o755)
        from_training = {"$TRAIN", "sten-train", "--finetune", "--recipe"}
        for (command, wanted, line), got in zip(commands, run(commands, folder, f"{programs}:{work}/bin")):
            kind = measured if "sten-bench" in command else None
            if any(word in command for word in from_training):
                kind = trained
                from_training |= set(outputs_of(command)) | set(re.findall(r"\w+\.safetensors$", command))
            if wrong := differs(wanted, *got, kind):
                print(f"{page}:{line}: $ {command}\n{wrong}\n")
                bad = 1
    print(f"{page.name}: {len(commands)} commands run, {len(missing)} left out")
    if missing and not bad:
        print("skipped: there is no Python with numpy for some of them; scripts/test.sh installs it")
    sys.exit(1 if bad else 77 if missing else 0)


if __name__ == "__main__":
    main()
