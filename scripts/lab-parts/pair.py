"""Two virtual machines on one cable, and the jobs run inside them.

Everything of a pair lives in one folder: pid files, consoles, sockets, and the share that both guests
mount at the same path as on the host. A pair outlives the program that started it unless told not to.
"""
import ctypes
import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from provision import Unsupported, kvm_works, provision, say

SIDES = ("a", "b")
ADDRESS = {"a": "10.77.0.1", "b": "10.77.0.2"}
# rxe takes 4096 as its RDMA MTU from a netdev MTU of 4200, and 1024 from 1500.
DEFAULT_MTU = 4200
LARGEST_MTU = 9000
BOOT_LIMIT_S = {"kvm": 60, "tcg": 180}
LIFETIME_S = 4 * 3600
# Passed to every job; the rest of the caller's environment stays outside.
PASSED_ENVIRONMENT = ("PATH", "HOME", "LANG", "TERM", "USER")


class VmDied(Exception):
    """A guest vanished or never came up: nothing is known about what ran inside."""


def state_base():
    given = os.environ.get("RAILGAUGE_LAB_STATE")
    return Path(given) if given else Path(tempfile.gettempdir()) / f"railgauge-lab-{os.getuid()}"


def remove_leftovers():
    """Folders of runs whose program was killed outright."""
    for folder in state_base().glob("run-*"):
        pid = folder.name[len("run-"):]
        pair = Pair(folder.name)
        if not os.path.exists(f"/proc/{pid}") and not any(pair.alive(side) for side in SIDES):
            shutil.rmtree(folder, ignore_errors=True)


def choose_accel(asked=None):
    asked = asked or os.environ.get("RAILGAUGE_LAB_ACCEL") or "auto"
    if asked not in ("auto", "kvm", "tcg"):
        raise ValueError(f"accel is auto, kvm or tcg, not {asked}")
    if asked == "kvm" and not kvm_works():
        raise Unsupported("/dev/kvm cannot make a virtual machine here")
    return ("kvm" if kvm_works() else "tcg") if asked == "auto" else asked


def _die_with_parent():
    """In the child: end when the program that started it ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)   # PR_SET_PDEATHSIG, linux/prctl.h


class Job:
    """One command inside a guest. Its script, output and exit code are files in the share."""

    def __init__(self, pair, side, ident):
        self.pair, self.side, self.ident = pair, side, ident
        self._stem = pair.control(side) / ident
        self.started = time.monotonic()
        self._seen = {"out": 0, "err": 0}

    def path(self, suffix):
        return self._stem.with_name(self._stem.name + "." + suffix)

    def exit_code(self):
        """None while it runs. Raises VmDied when it can no longer end."""
        alive = self.pair.alive(self.side)   # asked first: the code may be written just before the end
        try:
            return int(self.path("rc").read_text())
        except (FileNotFoundError, ValueError):
            pass
        if not alive:
            raise VmDied(f"virtual machine {self.side} is gone")
        self.pair.ring_again(self.side)
        return None

    def wait(self, limit_s, step_s=0.03):
        """The exit code, or None when limit_s went by first."""
        deadline = time.monotonic() + limit_s
        while True:
            code = self.exit_code()
            if code is not None or time.monotonic() > deadline:
                return code
            time.sleep(step_s)

    def signal(self, name):
        self.pair.tell(self.side, f"signal {self.ident} {name}")

    def stop(self, grace_s=2.0):
        """Ends it: TERM, then KILL. Returns its exit code if it gave one."""
        for name in ("TERM", "KILL"):
            try:
                self.signal(name)
                code = self.wait(grace_s)
            except VmDied:
                return None
            if code is not None:
                return code
        return None

    def fresh(self, suffix):
        """Bytes of output that came since the last call."""
        try:
            with open(self.path(suffix), "rb") as stream:
                stream.seek(self._seen[suffix])
                data = stream.read()
        except FileNotFoundError:
            return b""
        self._seen[suffix] += len(data)
        return data

    def pump(self, targets):
        """Copies fresh output to {"out": stream, "err": stream}."""
        for suffix, target in targets.items():
            target.write(self.fresh(suffix))
            target.flush()

    def output(self, suffix="out"):
        try:
            return self.path(suffix).read_text(errors="replace")
        except FileNotFoundError:
            return ""


class Pair:
    def __init__(self, name):
        self.name = name
        self.folder = state_base() / name
        self.share = self.folder / "share"
        self.out = self.share / "out"
        self._rung = dict.fromkeys(SIDES, 0.0)   # when the bell was last rung

    def control(self, side):
        return self.share / f"control-{side}"

    # ---- life ----------------------------------------------------------------------------------

    def pid(self, side):
        try:
            return int((self.folder / f"{side}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def alive(self, side):
        pid = self.pid(side)
        if pid is None:
            return False
        try:
            # The folder's name is on QEMU's command line: a reused process id is not taken for it.
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
        # Between exec's first and last step a new program has no command line yet.
        return state not in "ZX" and (not words or str(self.folder).encode() in words)

    def is_up(self):
        return all(self.alive(side) for side in SIDES)

    def kill(self, side):
        """The host vanishes: no goodbye on the cable, as when power is cut."""
        pid = self.pid(side)
        if pid is not None and self.alive(side):
            os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + 10
            while self.alive(side) and time.monotonic() < deadline:
                time.sleep(0.01)
        try:
            os.waitpid(pid or -1, os.WNOHANG)
        except ChildProcessError:
            pass

    def down(self):
        for side in SIDES:
            self.kill(side)
        shutil.rmtree(self.folder, ignore_errors=True)

    def up(self, accel=None, mtu=(DEFAULT_MTU, DEFAULT_MTU), netem="", private=False):
        """Boots both, one retry, and brings the link to its known state. Returns seconds taken."""
        accel_used = choose_accel(accel)
        parts = provision()
        begin = time.monotonic()
        for attempt in (1, 2):
            try:
                self._boot(parts, accel_used, private)
                self.reset_network(mtu, netem)
                return time.monotonic() - begin
            except VmDied as error:
                tail = self._console_tail()
                self.down()
                if attempt == 2:
                    raise VmDied(f"{error}\n{tail}") from error
                say(f"{error}; booting once more\n{tail}")
                if accel_used == "kvm" and not (accel or os.environ.get("RAILGAUGE_LAB_ACCEL")):
                    accel_used = "tcg"

    def _prepare_folder(self):
        self.down()
        remove_leftovers()
        state_base().mkdir(mode=0o700, exist_ok=True)
        if state_base().stat().st_uid != os.getuid():
            raise Unsupported(f"{state_base()} belongs to another user")
        self.out.mkdir(parents=True)
        for side in SIDES:
            (self.control(side) / "queue").mkdir(parents=True)
            for end in ("in", "out"):
                os.mkfifo(self.folder / f"wake-{side}.{end}")

    def _boot(self, parts, accel, private):
        self._prepare_folder()
        (self.folder / "lab.json").write_text(json.dumps({"accel": accel, "kernel": parts["release"]}))
        for side in SIDES:
            self._start(side, parts, accel, private)
        deadline = time.monotonic() + BOOT_LIMIT_S[accel]
        for side in SIDES:
            while not (self.control(side) / "ready").exists():
                if not self.alive(side):
                    raise VmDied(f"virtual machine {side} ended while booting ({accel})")
                if time.monotonic() > deadline:
                    raise VmDied(f"virtual machine {side} not ready after {BOOT_LIMIT_S[accel]} s ({accel})")
                time.sleep(0.05)

    def _start(self, side, parts, accel, private):
        log = open(self.folder / f"qemu-{side}.log", "wb")
        process = subprocess.Popen(
            self._qemu(side, parts, accel), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=self.folder, start_new_session=True, preexec_fn=_die_with_parent if private else None)
        log.close()
        (self.folder / f"{side}.pid").write_text(str(process.pid))

    def _qemu(self, side, parts, accel):
        folder, other = self.folder, "b" if side == "a" else "a"
        memory = os.environ.get("RAILGAUGE_LAB_MEMORY", "1024")
        cpus = os.environ.get("RAILGAUGE_LAB_CPUS", "1")
        words = ["console=ttyS0", "panic=-1", "quiet", "mitigations=off", "net.ifnames=0",
                 f"lab.side={side}", f"lab.share={self.share}", f"lab.modules={parts['modules']}",
                 f"lab.life={LIFETIME_S}"]
        return [
            "qemu-system-x86_64", "-name", f"railgauge-lab-{self.name}-{side}",
            "-accel", "kvm" if accel == "kvm" else "tcg,thread=multi",
            "-cpu", "host" if accel == "kvm" else "max", "-smp", cpus, "-m", memory,
            "-display", "none", "-monitor", "none", "-parallel", "none", "-no-reboot", "-vga", "none", "-net", "none",
            "-kernel", str(parts["kernel"]), "-initrd", str(parts["initramfs"]), "-append", " ".join(words),
            "-serial", f"file:{folder}/console-{side}.log",
            "-chardev", f"pipe,id=wake,path={folder}/wake-{side}", "-serial", "chardev:wake",
            "-serial", f"unix:{folder}/terminal-{side},server=on,wait=off",
            "-device", "virtio-rng-pci",
            "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
            "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none,multidevs=remap",
            # Datagrams between two sockets in the pair's folder: no port number to clash with another
            # lab, and the cable survives the restart of one end.
            "-netdev", f"dgram,id=cable,local.type=unix,local.path={folder}/cable-{side},"
                       f"remote.type=unix,remote.path={folder}/cable-{other}",
            "-device", "virtio-net-pci,netdev=cable,romfile=,"
                       f"mac=52:54:00:77:00:0{1 if side == 'a' else 2},host_mtu={LARGEST_MTU}",
        ]

    def _console_tail(self):
        lines = []
        for side in SIDES:
            for name in (f"console-{side}.log", f"qemu-{side}.log"):
                try:
                    text = (self.folder / name).read_text(errors="replace").strip()
                except FileNotFoundError:
                    continue
                lines += [f"  {name}: {line}" for line in text.splitlines()[-8:]]
        return "\n".join(lines)

    # ---- words to a guest ----------------------------------------------------------------------

    def tell(self, side, line):
        """Puts a request where the guest looks, and rings. Requests are handled in order."""
        request = f"{time.monotonic_ns():020d}"
        draft = self.control(side) / f"{request}.draft"
        try:
            draft.write_text(line + "\n")
            draft.rename(self.control(side) / "queue" / request)
        except FileNotFoundError as error:
            raise VmDied(f"virtual machine {side} is gone") from error
        self._ring(side)

    def _ring(self, side):
        self._rung[side] = time.monotonic()
        try:
            bell = os.open(self.folder / f"wake-{side}.in", os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENOENT):
                raise VmDied(f"virtual machine {side} is gone") from error
            raise
        try:
            os.write(bell, b"look\n")
        except BlockingIOError:
            pass   # it has rung often enough
        finally:
            os.close(bell)

    def ring_again(self, side):
        """Called while waiting: the serial line may lose a line, a file is not lost."""
        if time.monotonic() - self._rung[side] > 0.5 and self.alive(side) and any((self.control(side) / "queue").iterdir()):
            self._ring(side)

    def start(self, side, command, cwd=None, env=None):
        """Starts a shell command line in a guest; returns its Job at once."""
        ident = f"{os.getpid()}-{time.monotonic_ns()}"
        values = {name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ}
        values["PATH"] = values.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        values.update({"LAB_OUT": str(self.out), "LAB_SIDE": side, "LAB_TOKEN_FILE": str(self.share / "token")})
        values.update(env or {})
        lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
        lines.append(f"cd {shlex.quote(str(cwd or os.getcwd()))} 2>/dev/null || cd /")
        shell = shutil.which("bash") or "/bin/sh"
        lines.append(f"exec {shell} -c {shlex.quote(command)}")
        job = Job(self, side, ident)
        job.path("sh").write_text("\n".join(lines) + "\n")
        self.tell(side, f"start {ident}")
        return job

    def run(self, side, command, limit_s=60, **options):
        """Runs to the end: (exit code, standard output, standard error); the code is None when time was up."""
        job = self.start(side, command, **options)
        code = job.wait(limit_s)
        if code is None:
            job.stop()
        return code, job.output("out"), job.output("err")

    # ---- known state ---------------------------------------------------------------------------

    def reset_network(self, mtu=(DEFAULT_MTU, DEFAULT_MTU), netem=""):
        jobs = []
        for side, size in zip(SIDES, mtu):
            words = ["/run/lab/host-network", ADDRESS[side], str(size), netem]
            jobs.append(self.start(side, " ".join(shlex.quote(word) for word in words), cwd="/"))
        for job in jobs:
            code = job.wait(60)
            if code != 0:
                raise VmDied(f"network of {job.side} did not come up: {job.output('err').strip() or code}")

    def reset(self, mtu=(DEFAULT_MTU, DEFAULT_MTU), netem="", empty_out=True, fresh=False):
        """Ends all jobs and brings the link to its known state.

        fresh: the guests also forget what they cached of the host's files, so that a program built anew is seen.
        """
        ident = f"{os.getpid()}-{time.monotonic_ns()}"
        for side in SIDES:
            self.tell(side, f"sweep {ident}")
            if fresh:
                self.tell(side, "drop")
        deadline = time.monotonic() + 30
        for side in SIDES:
            while not (self.control(side) / f"{ident}.swept").exists():
                if time.monotonic() > deadline or not self.alive(side):
                    raise VmDied(f"virtual machine {side} does not answer")
                self.ring_again(side)
                time.sleep(0.03)
        if empty_out:
            for entry in self.out.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        self.reset_network(mtu, netem)
