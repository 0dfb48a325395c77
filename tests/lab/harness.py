"""What the lab's cases stand on: registration, the hosts, and assertions that say what they saw."""
import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lab-parts"))

import pair as lab_pair  # noqa: E402  (the path above must come first)
from pair import DEFAULT_MTU, Pair, VmDied  # noqa: E402,F401

A, B = lab_pair.ADDRESS["a"], lab_pair.ADDRESS["b"]
CASES = []
COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"


class Failure(Exception):
    """The case is wrong about nothing but the thing it tests."""


class Skip(Exception):
    """Cannot be tried here; the text says why."""


def case(mtu=(DEFAULT_MTU, DEFAULT_MTU), netem="", needs_railgauge=False, limit_s=60):
    """Registers a function(hosts) as a case. limit_s bounds the whole case without its set-up."""
    def register(function):
        CASES.append({"name": function.__name__, "function": function, "mtu": mtu, "netem": netem,
                      "needs_railgauge": needs_railgauge, "limit_s": limit_s, "text": (function.__doc__ or "").strip()})
        return function
    return register


def check(condition, text):
    if not condition:
        raise Failure(text)


def tail(text, lines=40):
    return "\n".join("      " + line for line in text.strip().splitlines()[-lines:])


class Result:
    """How one command ended: code (None: had to be stopped), out, err, seconds."""

    def __init__(self, command, code, out, err, seconds):
        self.command, self.code, self.out, self.err, self.seconds = command, code, out, err, seconds

    @property
    def text(self):
        return self.out + self.err

    def ended(self, *codes, within_s=None):
        """Asserts that it ended by itself, with one of these codes, in time."""
        seen = f"{self.command}\n      exit code {self.code} after {self.seconds:.1f} s\n{tail(self.text)}"
        check(self.code is not None, f"did not end by itself: {seen}")
        check(self.code in codes, f"exit code should be one of {codes}: {seen}")
        check(within_s is None or self.seconds <= within_s * patience(), f"should have ended within {within_s} s: {seen}")
        return self

    def says(self, *patterns):
        """Asserts that its output matches every one of these (case-insensitive regular expressions)."""
        for pattern in patterns:
            check(re.search(pattern, self.text, re.IGNORECASE),
                  f"no \"{pattern}\" in the output of: {self.command}\n{tail(self.text, 25)}")
        return self


class Hosts:
    """The two hosts as a case uses them. Every wait is bounded by the case's own limit."""

    def __init__(self, pair, deadline, railgauge=None, records=None):
        self.pair, self.deadline, self.railgauge, self.records = pair, deadline, railgauge, records

    def left_s(self):
        return max(0.1, self.deadline - time.monotonic())

    def start(self, side, command, **options):
        job = self.pair.start(side, command, cwd=str(ROOT), **options)
        job.command = command
        return job

    def finish(self, job, limit_s=None):
        """Waits, and stops what does not end; that is a Result with code None."""
        code = job.wait(min(limit_s * patience() if limit_s else self.left_s(), self.left_s()))
        seconds = time.monotonic() - job.started
        where = ""
        if code is None:
            where = self.where(job)
            job.stop()
        return Result(f"[{job.side}] {job.command}", code, job.output("out"), job.output("err") + where, seconds)

    def where(self, job):
        """What a job that does not end is waiting for in the guest's kernel."""
        if not job.path("pid").exists():
            return "\n(never started)"
        command = ("for p in /proc/[0-9]*; do [ -e $p/exe ] && echo ${p#/proc/} $(cat $p/wchan) $(grep State: $p/status) "
                   "$(tr '\\0' ' ' < $p/cmdline); done")
        _, out, _ = self.pair.run(job.side, command, 10)
        return f"\n(processes of the guest)\n{out}"

    def run(self, side, command, limit_s=None, **options):
        return self.finish(self.start(side, command, **options), limit_s)

    def ok(self, side, command, limit_s=20):
        """A step of the set-up, not the thing under test."""
        return self.run(side, command, limit_s).ended(0)

    def listening(self, side, port, limit_s=20):
        """Waits until the host accepts TCP on the port."""
        hexadecimal = f":{port:04X} "
        command = (f"for i in $(seq 200); do grep -E '{hexadecimal}[0-9A-F]+:0000 0A' /proc/net/tcp /proc/net/tcp6 && exit 0; "
                   "sleep 0.1; done; exit 1")
        self.ok(side, command, limit_s)

    def both(self, command_a, command_b, port=18515, limit_s=None):
        """Server in B, client in A once B listens. Two Results."""
        server = self.start("b", command_b)
        self.listening("b", port)
        client = self.start("a", command_a)
        return self.finish(client, limit_s), self.finish(server, limit_s)

    def counter(self, side, name):
        return int(self.ok(side, f"cat {COUNTERS}/{name}").out)

    def data_flows(self, side, limit_s=30):
        """Waits until the host's RDMA device is in the middle of a transfer: 100 packets more within half a second."""
        command = (f"for i in $(seq 60); do before=$(cat {COUNTERS}/sent_pkts); sleep 0.5; "
                   f"[ $(($(cat {COUNTERS}/sent_pkts) - before)) -gt 100 ] && exit 0; done; exit 1")
        self.ok(side, command, limit_s)


def patience():
    """How much longer than on a quiet machine a thing may take: RAILGAUGE_LAB_PATIENCE, or the load per processor, 3 at most."""
    given = os.environ.get("RAILGAUGE_LAB_PATIENCE")
    return float(given) if given else min(3.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def environment_limit(seconds, accel):
    """A case's limit is for KVM on a quiet machine; two emulated processors on a busy one get more."""
    return seconds * patience() * (2 if accel == "tcg" else 1)
