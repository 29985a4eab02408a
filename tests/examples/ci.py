#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the commands of a CI job, one per line: ci.py FILE.yml. Those that install packages are left out."""
import sys

try:
    import yaml
except ImportError:
    sys.exit(77)

with open(sys.argv[1]) as f:
    document = yaml.safe_load(f)
if "jobs" in document:
    steps = [step for job in document["jobs"].values() for step in job["steps"]]
    commands = [line for step in steps for line in step.get("run", "").splitlines()]
else:
    commands = [line for job in document.values() for line in job["script"]]
print("\n".join(c for c in commands if not c.startswith("apt-get ")))
