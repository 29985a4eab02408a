# SPDX-License-Identifier: Apache-2.0
"""The virtual environments of the rivals, outside the repository."""

import os
import shutil
import subprocess

import plan
from common import Missing, say


def default_folder(name="rivals-venv"):
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "sten", name)


def is_wanted(python):
    """Whether it is the version that the packages need."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return found.stdout.strip() == plan.PYTHON


def find_python():
    """Of the PATH, pyenv, and uv or conda as far as they put it there."""
    names = [shutil.which("python" + plan.PYTHON), shutil.which("python3")]
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    versions = os.path.join(pyenv, "versions")
    if os.path.isdir(versions):
        names += [os.path.join(versions, v, "bin", "python") for v in sorted(os.listdir(versions))]
    for name in names:
        if name and is_wanted(name):
            return name
    raise Missing(
        f"there is no Python {plan.PYTHON}, for which DeepSparse was built: none as "
        f"python{plan.PYTHON} on the PATH, none in {versions}. Install one, as by "
        f"`pyenv install {plan.PYTHON}`; products can be measured without: --runtime sten"
    )


def lacking(python, packages):
    """Packages that are absent or, where one is pinned, of another version."""
    code = (
        "import importlib.metadata as m, re, sys\n"
        "for p in sys.argv[1:]:\n"
        "  name, version = re.match(r'([\\w-]+)(?:==(.*))?', p).groups()\n"
        "  try: found = m.version(name).split('+')[0]\n"
        "  except m.PackageNotFoundError: found = None\n"
        "  if found is None or version not in (None, found): print(p)"
    )
    found = subprocess.run(
        [python, "-c", code, *packages], capture_output=True, text=True, check=True
    )
    return found.stdout.split()


def prepare(folder, packages):
    """Its Python, after what is missing of the packages, which are named as pip takes them, was
    installed."""
    python = os.path.join(folder, "bin", "python")
    if not is_wanted(python):
        if os.path.isdir(folder) and os.listdir(folder):
            raise Missing(f"{folder}: expected an environment of Python {plan.PYTHON}")
        say(f"making {folder}")
        made = subprocess.run([find_python(), "-m", "venv", folder])
        if made.returncode:
            raise Missing(f"{folder}: cannot be made a virtual environment")
    missing = lacking(python, packages)
    if missing:
        cuda = any(p.startswith("torch==") for p in missing)
        size = ": about 6 GB with CUDA's libraries, which PyPI's torch wants" if cuda else ""
        say(f"installing {' '.join(missing)}{size}")
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        if subprocess.run([*pip, *packages]).returncode:
            raise Missing(f"{folder}: pip could not install {' '.join(missing)}; is PyPI in reach?")
    return python
