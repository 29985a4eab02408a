# SPDX-License-Identifier: Apache-2.0
"""The machine fails: no space, nothing may be written, limits, signals, inputs that change."""

import os
import signal
import subprocess
import threading
import time

from _harness import Failure, hidden, remove
from kills import SCENARIOS, begun, commands, content, ended, model_files, result, wait_until, watched

# In a mount namespace of its own: sets up $1, runs the rest, and says what is left in it.
MOUNTED = """
set -u
place=$1 listing=$2 prepare=$3 seal=$4; shift 4
mount -t tmpfs $MOUNT_OPTIONS tmpfs "$place" || exit 97
eval "$prepare" || exit 98
(cd "$place" && find . -type f -exec md5sum {} + | sort) >"$listing.before"
eval "$seal" || exit 97
"$@"
code=$?
(cd "$place" && find . -type f -exec md5sum {} + | sort) >"$listing.after"
exit $code
"""


def can_mount():
    probe = ["unshare", "-rm", "bash", "-c", "mount -t tmpfs tmpfs /mnt && mount -o remount,ro /mnt"]
    try:
        return subprocess.run(probe, capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def in_mount(a, folder, command, options, prepare, seal="true"):
    """(how it ended, whether what was in the mount is as it was)."""
    place, listing = folder / "mount", folder / "listing"
    place.mkdir(exist_ok=True)
    words = ["unshare", "-rm", "bash", "-c", MOUNTED, "bash", place, listing, prepare, seal, *command]
    end = a.run(words, cwd=folder, env={"MOUNT_OPTIONS": options})
    if end.code in (97, 98):
        raise Failure(f"the mount cannot be made: {end.err[:300]!r}")
    end.command = list(command)  # of whom an error has to speak
    return end, (folder / "listing.before").read_text() == (folder / "listing.after").read_text()


def writers(place):
    """Commands that write into `place`, and what stands there before."""
    old = f"cp -r old '{place}/OUT'"
    yield ["prune", "in.safetensors", "-o", f"{place}/OUT", "--sparsity", "0.7", "-q"], "true"
    yield ["prune", "in", "-o", f"{place}/OUT", "--sparsity", "0.7", "-q"], "true"
    yield ["convert", "in", "-o", f"{place}/OUT", "--to", "masked", "-q", "-f"], old
    yield [
        "convert",
        "in.safetensors",
        "-o",
        f"{place}/OUT",
        "--to",
        "dense",
        "-q",
        "-f",
    ], f"head -c 9000 in.safetensors >'{place}/OUT'"
    yield [
        "prune",
        "in.safetensors",
        "-o",
        f"{place}/OUT",
        "--sparsity",
        "0.5",
        "--mask-out",
        f"{place}/M",
        "-q",
    ], "true"


def no_space(a, rng, folder):
    """A disk that is too small: an error, and what was there stays whole."""
    for words, prepare in writers("mount"):
        size = rng.choice([40, 200, 900, 2500])
        # The old output has its place; what is left is too little.
        command = [a.program(words[0]), *words[1:]]
        end, same = in_mount(
            a, folder, command, f"-o size={size + (600 if prepare != 'true' else 0)}k", prepare
        )
        a.judge(end, 10**8, codes=(1,))
        if b"No space left on device" not in end.err:
            raise Failure(f"it does not say that there is no space: {end.err!r}")
        if not same:
            raise Failure("what was on the full disk changed, or something was left")
        a.count("full disks")
    # And where standard input is kept meanwhile.
    line = 'mount -t tmpfs -o size=100k tmpfs mount && export TMPDIR=$PWD/mount && cat in.safetensors | "$@"'
    command = [a.program("prune"), "-", "-o", "OUT", "--sparsity", "0.5", "-q"]
    end = a.run(["unshare", "-rm", "bash", "-c", line, "bash", *command], cwd=folder)
    end.command = command
    a.judge(end, 10**8, [folder / "OUT"], codes=(1,))
    a.count("full disks")


def read_only(a, rng, folder):
    for words, prepare in writers("mount"):
        command = [a.program(words[0]), *words[1:]]
        end, same = in_mount(a, folder, command, "-o size=9m", prepare, "mount -o remount,ro mount")
        a.judge(end, 10**8, codes=(1,))
        if not same:
            raise Failure("what was read-only changed")
        a.count("read-only disks")


def limits(a, rng, folder):
    """Of file sizes, descriptors and memory: all goes well, or nothing is left."""
    place = folder / "work"
    for words, _ in writers("work"):
        kinds = [f"-f {rng.randint(0, 6000)}"]
        # The sanitizers need descriptors (for a pipe through which they look at memory) and memory.
        if not a.sanitized:
            kinds.append(f"-n {rng.randint(5, 30)}")
            kinds += [f"-d {rng.randint(8000, 200000)}", f"-v {rng.randint(60000, 400000)}"]
        limit = rng.choice(kinds)
        remove(place)
        place.mkdir()
        end = a.run(
            [a.program(words[0]), *words[1:], "--threads", rng.choice("12")], cwd=folder, limits=[limit]
        )
        try:
            # A loader that has no room speaks for itself.
            if end.code == 127 and b"error while loading shared libraries" in end.err:
                continue
            a.judge(end, 10**8, [place / "OUT", place / "M"], codes=(0, 1, 2))
            if end.code != 0 and list(place.iterdir()):
                raise Failure(f"left {list(place.iterdir())}")
        except Failure as e:
            raise Failure(f"ulimit {limit}: {e}") from e
        a.count("limits")


def signals(a, rng, folder):
    """SIGINT, SIGTERM and SIGHUP: the documented exit code, and nothing half-written."""
    place = folder / "work"
    for scenario in rng.sample(SCENARIOS, 4):
        remove(place)
        place.mkdir()
        times = watched(a, scenario, folder)
        new = result(content(place / "OUT"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            remove(place)
            place.mkdir()
            child = a.start(commands(a, scenario), cwd=folder, err=subprocess.PIPE)
            if rng.random() < 0.8:
                wait_until(child, lambda: begun(child, place, scenario))
            time.sleep(rng.random() * times[1] * 0.9)
            interrupted = not ended(child)
            if interrupted:
                child.send_signal(number)
            said = child.communicate(timeout=60)[1]
            code = child.returncode
            if code not in ((0, 128 + number, -number) if interrupted else (0,)):
                raise Failure(f"{scenario.name}: {number.name} ended it with {code}: {said[:300]!r}")
            if found := hidden(folder):
                raise Failure(f"{scenario.name}: after {number.name} {found[0].relative_to(folder)} is left")
            now = result(content(place / "OUT"))
            if now != new and not scenario.state and now is not None:
                raise Failure(f"{scenario.name}: after {number.name} something half-written is left")
            a.count("signals")


def inputs(a, rng, folder):
    """Slow ones, and those that shrink, vanish or are replaced while they are read."""
    whole = (folder / "in.safetensors").read_bytes()
    a.must("prune", "in.safetensors", "-o", "wanted", "--sparsity", "0.7", "-q", cwd=folder)
    wanted = (folder / "wanted").read_bytes()
    command = [a.program("prune"), "-", "-o", "OUT", "--sparsity", "0.7", "-q"]
    for cut in (None, rng.randrange(len(whole)), 0, 5):
        read, write = os.pipe()

        def feed(write=write, cut=cut):
            with os.fdopen(write, "wb") as f:
                try:
                    part = whole if cut is None else whole[:cut]
                    for i in range(0, len(part), 700_000):
                        f.write(part[i : i + 700_000])
                        f.flush()
                        time.sleep(0.01)
                except BrokenPipeError:
                    pass

        feeder = threading.Thread(target=feed)
        feeder.start()
        end = a.run(command, cwd=folder, stdin=read)
        os.close(read)
        feeder.join()
        a.judge(end, len(whole), codes=(0,) if cut is None else (1,))
        if cut is None and (folder / "OUT").read_bytes() != wanted:
            raise Failure("from a slow pipe something else comes out")
        if cut is not None and (folder / "OUT").exists():
            raise Failure("a pipe that ended early gave an output")
        remove(folder / "OUT")
        a.count("slow inputs")

    victim, other = folder / "victim.safetensors", folder / "other.safetensors"
    flipped = bytearray(whole)
    flipped[-40:] = bytes(40)
    for how in ("truncated", "replaced", "removed") * 3:
        victim.write_bytes(whole)
        other.write_bytes(flipped)
        out = os.memfd_create("err")
        child = a.start(
            [a.program("prune"), victim, "-o", "OUT", "--sparsity", "0.7", "-q"], cwd=folder, err=out
        )
        time.sleep(rng.random() * 0.06 * (8 if a.sanitized else 1))
        if how == "truncated":
            os.truncate(victim, rng.choice([0, 9, len(whole) // 2, len(whole) - 4]))
        elif how == "replaced":
            os.rename(other, victim)
        else:
            victim.unlink()
        child.wait(timeout=60)
        said = os.pread(out, 1 << 20, 0)
        os.close(out)
        if child.returncode not in (0, 1):
            raise Failure(f"an input that was {how} ended it with {child.returncode}: {said[-1500:]!r}")
        if child.returncode == 1 and (len(said.splitlines()) != 1 or (folder / "OUT").exists()):
            raise Failure(f"an input that was {how}: it said {said!r}")
        if child.returncode == 0 and how != "replaced" and (folder / "OUT").read_bytes() != wanted:
            raise Failure(f"an input that was {how} gave another output, and no error")
        remove(folder / "OUT")
        a.count("changing inputs")


def play(a, rng, folder):
    model_files(rng, folder)
    # A small old output, in which everything is ours.
    (folder / "tiny").mkdir()
    (folder / "tiny" / "model.safetensors").write_bytes((folder / "small.safetensors").read_bytes())
    a.must("convert", "tiny", "-o", "old", "--to", "csr", "-q", cwd=folder)
    (folder / "work").mkdir()
    said = ["limits", "signals", "inputs"]
    if can_mount():
        (folder / "mount").mkdir()
        no_space(a, rng, folder)
        read_only(a, rng, folder)
        said = ["full disks", "read-only disks", *said]
    else:
        print("skipped: full and read-only disks need root or user namespaces that may mount", flush=True)
    limits(a, rng, folder)
    signals(a, rng, folder)
    inputs(a, rng, folder)
    return ", ".join(said)
