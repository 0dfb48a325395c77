"""One run: a command in each host, events in between, both outputs, both exit codes."""
import os
import shlex
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from pair import Pair, SIDES, VmDied
from provision import say

TIMED_OUT, VM_DIED = 124, 125

# Ends when the host listens on a TCP port or for an rdma_cm connection; a command that never does is not waited for.
LISTEN_LIMIT_S = 6
LISTENING = """for i in $(seq 60); do
  grep -q ' 0A ' /proc/net/tcp /proc/net/tcp6 && exit 0
  [ $((i % 10)) = 0 ] && rdma resource show cm_id 2>/dev/null | grep -q LISTEN && exit 0
  sleep 0.1
done"""


def command_line(words):
    """One word is a shell command line as it stands; several are a program and its arguments."""
    return words[0] if len(words) == 1 else " ".join(shlex.quote(word) for word in words)


@dataclass
class Plan:
    command_a: str
    command_b: str
    mtu: tuple
    netem: str = ""
    accel: str = None
    timeout_s: float = 300
    grace_s: float = 10
    delay_s: float = None          # None: A starts when B listens
    env: dict = field(default_factory=dict)
    out: str = "lab-out"
    use: str = None                # name of a pair that is up, None: one of its own
    keep_b: bool = False
    raw: bool = False
    events: list = field(default_factory=list)   # (seconds, side, command)
    kills: list = field(default_factory=list)    # (seconds, side)


class Printer:
    """Writes whole lines of a job as they come, marked with the side."""

    def __init__(self, job, raw):
        self.mark = b"" if raw else f"{job.side}| ".encode()
        quiet = raw and job.side == "b"
        self.targets = {"out": sys.stderr.buffer if quiet else sys.stdout.buffer, "err": sys.stderr.buffer}
        if quiet:
            self.mark = b"b| "
        self.job, self.rest = job, {"out": b"", "err": b""}

    def write(self, last=False):
        for suffix, target in self.targets.items():
            text = self.rest[suffix] + self.job.fresh(suffix)
            lines = text.split(b"\n")
            self.rest[suffix] = b"" if last else lines[-1]
            whole = lines[:-1] + ([lines[-1]] if last and lines[-1] else [])
            for line in whole:
                target.write(self.mark + line + b"\n")
            target.flush()


class Run:
    def __init__(self, pair, plan):
        self.pair, self.plan = pair, plan
        self.killed = set()
        self.codes = {"a": None, "b": None}
        self.events = list(plan.events)
        self.kills = sorted(plan.kills)
        self.jobs, self.printers, self.taken = {}, {}, {}

    def _begin(self, side, command):
        self.jobs[side] = self.pair.start(side, command, env=self.plan.env)
        self.printers[side] = Printer(self.jobs[side], self.plan.raw)

    def _await_b(self, deadline):
        if self.plan.delay_s is not None:
            time.sleep(min(self.plan.delay_s, max(0, deadline - time.monotonic())))
            return
        deadline = min(deadline, time.monotonic() + LISTEN_LIMIT_S)
        watch = self.pair.start("b", LISTENING, cwd="/")
        while watch.exit_code() is None and self.jobs["b"].exit_code() is None and time.monotonic() < deadline:
            time.sleep(0.03)

    def _look(self, side):
        """Takes note of an exit code; a host that vanished on purpose has none."""
        if self.codes[side] is not None:
            return
        try:
            self.codes[side] = self.jobs[side].exit_code()
        except VmDied:
            if side not in self.killed:
                raise
            self.codes[side] = "vanished"
        if self.codes[side] is not None:
            self.taken[side] = time.monotonic() - self.jobs[side].started

    def _due(self, since):
        while self.events and self.events[0][0] <= since:
            _, side, command = self.events.pop(0)
            say(f"{since:.1f} s, host {side}: {command}")
            self.pair.start(side, command, cwd="/")
        while self.kills and self.kills[0][0] <= since:
            _, side = self.kills.pop(0)
            say(f"{since:.1f} s: host {side} vanishes")
            self.killed.add(side)
            self.pair.kill(side)

    def _step(self, since):
        self._due(since)
        for side in SIDES:
            self._look(side)
            self.printers[side].write()
        time.sleep(0.03)

    def go(self):
        """Runs to the end. Returns (A's code or 124 or 125, B's code); codes may be None or 'vanished'."""
        begin = time.monotonic()
        deadline = begin + self.plan.timeout_s
        self._begin("b", self.plan.command_b)
        self._await_b(deadline)
        self._begin("a", self.plan.command_a)
        start = time.monotonic()
        while self.codes["a"] is None and time.monotonic() < deadline:
            self._step(time.monotonic() - start)
        timed_out = self.codes["a"] is None
        if timed_out:
            say(f"time was up after {self.plan.timeout_s:g} s")
        grace_end = time.monotonic() + self.plan.grace_s
        while not (timed_out or self.plan.keep_b) and self.codes["b"] is None and time.monotonic() < grace_end:
            self._step(time.monotonic() - start)
        self._finish()
        return TIMED_OUT if timed_out else self.codes["a"]

    def _finish(self):
        for side in SIDES:
            if self.codes[side] is None and not (self.plan.keep_b and side == "b"):
                self.jobs[side].stop()
            self.printers[side].write(last=True)

    def verdict(self, side):
        code = self.codes[side]
        if code is None:
            return f"{side.upper()} {'kept running' if self.plan.keep_b and side == 'b' else 'stopped by the lab'}"
        if code == "vanished":
            return f"host {side.upper()} vanished as asked"
        return f"{side.upper()} exited {code} after {self.taken[side]:.1f} s"


def keep_results(pair, target):
    """Moves what the commands left in $LAB_OUT to the caller's folder."""
    if not pair.out.exists():
        return
    entries = sorted(pair.out.iterdir())
    if entries:
        Path(target).mkdir(parents=True, exist_ok=True)
        for entry in entries:
            place = Path(target) / entry.name
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            shutil.copytree(entry, place) if entry.is_dir() else shutil.copy2(entry, place)
        say(f"results in {target}: " + ", ".join(entry.name for entry in entries))


def _own_pair(plan):
    pair = Pair(plan.use or f"run-{os.getpid()}")
    if plan.use:
        if not pair.is_up():
            raise VmDied(f"pair {plan.use} is not up")
        pair.reset(mtu=plan.mtu, netem=plan.netem)
        return pair
    taken = pair.up(accel=plan.accel, mtu=plan.mtu, netem=plan.netem, private=not plan.keep_b)
    say(f"both hosts up after {taken:.1f} s")
    return pair


def run_pair(plan, prepare=None, finish=None):
    """Boots (or takes) a pair, runs the plan in it, cleans up. Returns the exit code."""
    pair, keep = None, False
    try:
        pair = _own_pair(plan)
        if prepare:
            prepare(pair)
        run = Run(pair, plan)
        code = run.go()
        say("; ".join(run.verdict(side) for side in SIDES))
        (finish or (lambda used: keep_results(used, plan.out)))(pair)
        keep = bool(plan.use) or plan.keep_b
        if plan.keep_b and not plan.use:
            say(f"the pair stays: `lab exec --name {pair.name} b COMMAND`, end it with `lab down --name {pair.name}`")
        return VM_DIED if code == "vanished" else code
    finally:
        if pair is None:
            Pair(plan.use or f"run-{os.getpid()}").down() if not plan.use else None
        elif not keep and not plan.use:
            pair.down()
