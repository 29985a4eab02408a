#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test cases of a device in several processes, and says how each ended.

  run_test_cases.py TESTS FILES JOBS SECONDS [COMMAND...]

Prints "status<tab>seconds s<tab>name" for each case of the doctest program TESTS in FILES, as --source-file takes them,
and the output of those that failed. Ends with 1 where one did. So many JOBS run at a time, started by COMMAND, such as
a checker. Status 124: not within SECONDS, alone. Cases that share a process have these together, and run alone after.

Processes take long to begin with a device, and do so one after the other. So cases share some, but for the JOBS longest
ones, which come first: by such lines of an earlier run in the file that STEN_CASE_TIMES names. After an error of a
kernel a process cannot use its device any more: where one fails, its cases run again, each alone. With STEN_CASES_ALONE
none share one.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

tests, files, jobs, limit, *command = sys.argv[1:]
jobs, limit = int(jobs), int(limit)
lock = threading.Lock()


def names():
    listed = subprocess.run([tests, "--no-intro", "-ltc", "--source-file=" + files], check=True,
                            capture_output=True, text=True).stdout
    return re.split(r"^=====.*\n", listed, flags=re.M)[1].splitlines()


def times():
    path = os.environ.get("STEN_CASE_TIMES")
    if not path or not os.path.exists(path):
        return {}
    with open(path, errors="replace") as f:
        return {name: float(s) for s, name in re.findall(r"^\d+\t([\d.]+) s\t(.*)$", f.read(), re.M)}


def say(status, seconds, name, output=""):
    with lock:
        print(f"{status}\t{seconds:.1f} s\t{name}")
        if output:
            print(output[:5000].rstrip())
        sys.stdout.flush()
    return status == 0


def run(cases):
    chosen = ",".join(c.replace(",", "?") for c in cases)  # commas are between patterns
    with tempfile.TemporaryFile() as log:
        begin = time.monotonic()
        status = subprocess.run(["timeout", str(limit), *command, tests, "--no-intro", "-d",
                                 "--test-case=" + chosen], stdout=log, stderr=subprocess.STDOUT).returncode
        took = time.monotonic() - begin
        log.seek(0)
        return status, took, log.read().decode(errors="replace")


def alone(case):
    status, took, output = run([case])
    return say(status, took, case, output if status else "")


def together(cases):
    if len(cases) == 1:
        return alone(cases[0])
    status, took, output = run(cases)
    of = {name: float(s) for s, name in re.findall(r"^(\d+\.\d+) s: (.*)$", output, re.M)}
    if status == 0 and of.keys() >= set(cases):
        return all([say(0, of[c], c) for c in cases])
    passed = all([alone(c) for c in cases])
    if status == 124:
        with lock:
            print(f"{len(cases)} cases did not end within {limit} s together: each ran alone", flush=True)
    if passed and status not in (0, 124):  # together alone
        return say(status, took, " + ".join(cases), output)
    return passed


earlier = times()
order = sorted(names(), key=lambda c: -earlier.get(c, 0))
first = len(order) if os.environ.get("STEN_CASES_ALONE") else jobs
rest = order[first:]
processes = [[c] for c in order[:first]] + [rest[i::jobs] for i in range(min(jobs, len(rest)))]
with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    sys.exit(not all(list(pool.map(together, processes))))
