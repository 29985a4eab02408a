"""The virtual environment of the rivals, outside the repository."""

import os
import shutil
import subprocess

import plan


class Missing(Exception):
    """Something that has to be there is not."""


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "sten", "rivals-venv")


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
        f"`pyenv install {plan.PYTHON}`, or measure without: --runtime sten"
    )


def lacking(python):
    """Packages that are absent or of another version."""
    code = (
        "import importlib.metadata as m, sys\n"
        "for p in sys.argv[1:]:\n"
        "  name, version = p.split('==')\n"
        "  try: found = m.version(name).split('+')[0]\n"
        "  except m.PackageNotFoundError: found = None\n"
        "  if found != version: print(p)"
    )
    pins = [f"{name}=={version}" for name, version in plan.PACKAGES.items()]
    found = subprocess.run([python, "-c", code, *pins], capture_output=True, text=True, check=True)
    return found.stdout.split()


def prepare(folder, say):
    """Its Python, after what is missing was installed."""
    python = os.path.join(folder, "bin", "python")
    if not is_wanted(python):
        if os.path.isdir(folder) and os.listdir(folder):
            raise Missing(f"{folder}: is there, but is no environment of Python {plan.PYTHON}")
        say(f"making {folder}")
        made = subprocess.run([find_python(), "-m", "venv", folder])
        if made.returncode:
            raise Missing(f"{folder}: cannot be made a virtual environment")
    missing = lacking(python)
    if missing:
        say(
            f"installing {' '.join(missing)}: about 6 GB with CUDA's libraries, which PyPI's torch wants"
        )
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        pins = [f"{name}=={version}" for name, version in plan.PACKAGES.items()]
        if subprocess.run(pip + pins).returncode:
            raise Missing(f"{folder}: pip could not install {' '.join(missing)}; is PyPI in reach?")
    return python
