# SPDX-License-Identifier: Apache-2.0
"""What the parts of the attack share: running programs, judging how they ended, counting."""

import json
import os
import re
import random
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

HANG = 10  # seconds: nothing that is small may take longer
FREE_MEMORY = 256 << 20  # bytes: what a run may take besides 20 times its input
SANITIZER_WORDS = (b"AddressSanitizer", b"LeakSanitizer", b"runtime error:", b"ThreadSanitizer")
MOST_MEMORY = 6 << 30  # bytes at which a run is ended, for the machine's sake
OUT_OF_MEMORY = (b"allocator is out of memory", b"requested allocation size")
# Of no exit code of the programs, so that a report is never taken for an error that they said.
SANITIZER_EXIT = 99


@dataclass
class End:
    """How a run ended."""

    command: list
    code: int  # exit code, or minus the signal's number
    out: bytes
    err: bytes
    seconds: float
    memory: int  # bytes, at its peak
    processor: float  # seconds, of all threads
    hung: bool = False

    def lines(self):
        """What it said, but for warnings."""
        said = self.err.decode(errors="replace").splitlines()
        return [line for line in said if ": warning: " not in line]


class Failure(Exception):
    """What was promised did not hold."""


def is_sanitized(program):
    with open(program, "rb") as f:
        return b"__asan_init" in f.read()


def environment():
    env = {k: v for k, v in os.environ.items() if k not in ("STEN_STRICT", "COLUMNS", "OMP_NUM_THREADS")}
    env.update(LC_ALL="C.UTF-8", NO_COLOR="1")
    # Without intercept_tls_get_addr=0 the leak check of clang 14 crashes in threads of libraries loaded late.
    ours = f"exitcode={SANITIZER_EXIT}:quarantine_size_mb=16:allocator_may_return_null=1:handle_abort=1"
    ours += ":intercept_tls_get_addr=0"
    env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), ours]))
    env["UBSAN_OPTIONS"] = f"exitcode={SANITIZER_EXIT}:print_stacktrace=1"
    return env


class Attack:
    """Programs to attack, a place to do it in, and what came of it."""

    def __init__(self, bin_folder, keep=False, quiet=False):
        self.bin = Path(bin_folder).resolve()
        self.keep, self.quiet = keep, quiet
        self.sanitized = is_sanitized(self.bin / "sten-prune")
        self.slowness = 6 if self.sanitized else 1  # what a sanitizer makes of a second
        self.environment = environment()
        self.failures, self.counts = [], {}
        self.base = Path(tempfile.mkdtemp(prefix="sten-attack-")).resolve()
        self.fast = self.base
        # In memory, where that has room, nothing waits for a disk.
        if (
            "TMPDIR" not in os.environ
            and os.access("/dev/shm", os.W_OK)
            and shutil.disk_usage("/dev/shm").free > 2 << 30
        ):
            self.fast = Path(tempfile.mkdtemp(prefix="sten-attack-", dir="/dev/shm")).resolve()
        self.commands = []  # of this round, for the message of a failure
        self.idle_memory = {}
        self.child = None  # the one that is waited for

    def close(self):
        if self.child:
            os.killpg(self.child, signal.SIGKILL)
        if not (self.keep and self.failures):
            remove(self.base)
            remove(self.fast)

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    # ------------------------------------------------------------------------------- rounds

    def play(self, part, round_of, seed, number, on_disk=False):
        """One round in a folder of its own; `round_of(attack, rng, folder)` says what was done."""
        folder = (self.base if on_disk else self.fast) / f"{part}-{seed}"
        self.folder, self.seed = folder, seed
        folder.mkdir()
        self.commands = []
        before = len(self.failures)
        try:
            said = round_of(self, random.Random(f"{part}:{seed}"), folder)
        except Failure as e:
            said = "FAILED"
            self.record(part, seed, str(e))
        except Exception as e:  # of the attack itself, or output that cannot be read at all
            said = "FAILED"
            where = traceback.format_exc().strip().splitlines()
            self.record(part, seed, f"{type(e).__name__}: {e}\n    " + "\n    ".join(where[-9:]))
        self.count("rounds")
        if not self.quiet or len(self.failures) > before:
            print(f"{part} {number}: seed {seed}: {said}", flush=True)
        if not (self.keep and len(self.failures) > before):
            remove(folder)

    def record(self, part, seed, text, end=None):
        self.failures.append((part, seed, text))
        print(f"FAILURE {part}, seed {seed}: {text}", flush=True)
        command = end.command if end else self.commands[-1] if self.commands else None
        if command:
            print(f"  command: {shlex.join(map(str, command))}", flush=True)
        if end and end.err:
            print("  it said: " + end.err.decode(errors="replace")[:2000].replace("\n", "\n    "), flush=True)
        if self.keep:
            print(f"  kept: {self.folder}", flush=True)

    # ------------------------------------------------------------------------------ running

    def program(self, name):
        return str(self.bin / f"sten-{name}")

    def start(self, command, cwd=None, stdin=None, limits=(), out=None, err=None, env=None):
        """Starts it, in a session of its own; `limits` are of bash's ulimit."""
        command = [str(c) if not isinstance(c, bytes) else c for c in command]
        self.commands.append(command)
        if limits:
            line = "".join(f"ulimit {limit}; " for limit in limits) + 'exec "$@"'
            command = ["/bin/bash", "-c", line, "bash", *command]
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(
            command,
            cwd=cwd,
            env={**self.environment, **(env or {})},
            stdin=stdin if stdin is not None else nowhere,
            stdout=out if out is not None else nowhere,
            stderr=err if err is not None else nowhere,
            start_new_session=True,
        )

    def run(self, command, cwd=None, stdin=None, limits=(), patience=HANG, env=None):
        out, err = os.memfd_create("out"), os.memfd_create("err")
        try:
            begin = time.monotonic()
            child = self.start(command, cwd, stdin, limits, out, err, env)
            handle = os.pidfd_open(child.pid)
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            self.child = child.pid
            hung = self.outlives(child.pid, poll, begin + patience * self.slowness)
            if hung:
                os.killpg(child.pid, signal.SIGKILL)
            _, status, usage = os.wait4(child.pid, 0)
            os.close(handle)
            self.child = None
            child.returncode = 0  # so that nobody waits for it again
            seconds = time.monotonic() - begin
            said = [os.pread(fd, 1 << 26, 0) for fd in (out, err)]
        finally:
            os.close(out)
            os.close(err)
        self.count("runs")
        code = os.waitstatus_to_exitcode(status)
        processor = usage.ru_utime + usage.ru_stime
        return End(list(command), code, *said, seconds, usage.ru_maxrss * 1024, processor, hung)

    def outlives(self, process, poll, until):
        """Whether it still runs at the end of its time, or takes more memory than a machine should give."""
        while time.monotonic() < until:
            if poll.poll(50):
                return False
            try:
                with open(f"/proc/{process}/statm") as f:
                    if int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") > MOST_MEMORY:
                        return True
            except OSError:
                pass
        return not poll.poll(0)

    def sten(self, name, *arguments, **how):
        return self.run([self.program(name), *arguments], **how)

    def must(self, name, *arguments, expect=0, **how):
        """The end of a run that has to end well, or with `expect`."""
        end = self.sten(name, *arguments, **how)
        self.sound(end)
        if end.code != expect:
            raise Failure(
                f"ended with {end.code}, not {expect}: {end.err.decode(errors='replace').strip()[:500]}"
            )
        return end

    def report(self, name, *arguments, **how):
        return json.loads(self.must(name, *arguments, "--json", "-q", **how).out)

    # ------------------------------------------------------------------------------ verdicts

    def idle(self, program):
        """Peak memory of the program when it does nothing."""
        if program not in self.idle_memory:
            self.idle_memory[program] = self.run([program, "--version"]).memory
            self.commands.pop()
        return self.idle_memory[program]

    def memory_limit(self, program, size):
        limit = FREE_MEMORY + 20 * size
        # Of what the program has, a sanitizer takes an eighth for its shadow and more for the red
        # zones around small blocks; freed memory stays in quarantine.
        if self.sanitized:
            limit = 2 * limit + (16 << 20)
        return self.idle(program) + limit

    def sound(self, end):
        """Neither crash nor hang nor report of a sanitizer."""
        # Without a sanitizer that is std::bad_alloc, of which the programs say that memory is out.
        if any(word in end.err for word in OUT_OF_MEMORY):
            end.code, end.err = 1, f"{Path(str(end.command[0])).name}: out of memory\n".encode()
        if end.hung:
            raise Failure(f"still ran after {end.seconds:.0f} s, with {end.memory >> 20} MB")
        if any(word in end.err for word in SANITIZER_WORDS) or end.code == SANITIZER_EXIT:
            raise Failure("a sanitizer reports:\n" + end.err.decode(errors="replace")[:3000])
        if end.code < 0:
            raise Failure(f"was ended by {signal.Signals(-end.code).name}: {end.err[-500:]!r}")

    def judge(self, end, size, left=(), codes=(0, 1, 2, 3), several=False):
        """How a program has to end whatever it was given.

        `size`: bytes of its input; `left`: what must not be there if it failed; `several`: errors
        of several inputs may be said, each in a line.
        """
        self.sound(end)
        said = end.lines()
        if end.code not in codes:
            raise Failure(f"ended with exit code {end.code}: {end.err[:500]!r}")
        name = Path(str(end.command[0])).name
        if end.code == 0 and said:
            raise Failure(f"succeeded and said {said[:3]}")
        if end.code != 0:
            if not said or (len(said) > 1 and not several):
                raise Failure(f"ended with {end.code} and said {len(said)} lines: {said[:4]}")
            for line in said:
                if not line.startswith(f"{name}: "):
                    raise Failure(f"a line does not begin with the program's name: {line[:300]!r}")
                if len(line) > 20000:
                    raise Failure(f"an error has {len(line)} bytes: {line[:200]!r}...")
                if any(ord(c) < 32 or c == "\x7f" for c in line):
                    raise Failure(f"an error has control characters: {line[:300]!r}")
            for path in left:
                if os.path.lexists(path):
                    raise Failure(f"ended with {end.code} and left {path}")
        limit = self.memory_limit(str(end.command[0]), size)
        if end.memory > limit:
            raise Failure(
                f"took {end.memory >> 20} MB for {size} bytes of input; {limit >> 20} MB are allowed: {said[:1]}"
            )
        return end


def remove(path):
    """Also what was made unreadable."""
    path = str(path)
    if os.path.islink(path) or not os.path.isdir(path):
        if os.path.lexists(path):
            os.unlink(path)
        return
    for folder, folders, _ in os.walk(path):
        for name in folders:
            inner = os.path.join(folder, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
    shutil.rmtree(path, ignore_errors=True)


UNFINISHED = re.compile(r"^\..*\.sten-(\d+|old)-[a-z0-5]{12}$", re.DOTALL)


def hidden(folder):
    """Unfinished outputs below it."""
    return [p for p in Path(folder).rglob(".*") if UNFINISHED.match(p.name)]
