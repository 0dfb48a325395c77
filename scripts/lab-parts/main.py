"""scripts/lab: the commands. They stand on pair.py (virtual machines) and provision.py (set-up)."""
import argparse
import json
import signal
import sys
import time

from check import check
from pair import DEFAULT_MTU, LARGEST_MTU, Pair, SIDES, VmDied, choose_accel, state_base
from provision import Unsupported, cache_folder, provision, say
from run import Plan, command_line, run_pair
from terminal import shell

USAGE, TIMED_OUT, VM_DIED, UNSUPPORTED = 2, 124, 125, 77

EXAMPLES = """\
examples:
  scripts/lab run -- ib_write_bw -d rxe0 -x 1 10.77.0.2 ::: ib_write_bw -d rxe0 -x 1
  scripts/lab run --at-a 3 'ip link set eth0 down' -- 'ib_write_bw -d rxe0 -x 1 -D 10 lab-b' ::: 'ib_write_bw -d rxe0 -x 1 -D 10'
  scripts/lab check --quick              railgauge's main job between the two
  scripts/lab shell b                    a terminal in host B
  scripts/lab up; scripts/lab exec a ibv_devinfo; scripts/lab down

Host A is lab-a, 10.77.0.1, host B is lab-b, 10.77.0.2; each has eth0 and on it rxe0. They see this machine's files
(writes stay in their memory) and share the writable folder $LAB_OUT.
exit codes: A's own; 124 time was up; 125 a virtual machine died (not a failed test); 77 no lab here; 2 usage
"""


def mtu_pair(text):
    sizes = [int(part) for part in text.split(",")]
    if len(sizes) not in (1, 2) or not all(256 <= size <= LARGEST_MTU for size in sizes):
        raise argparse.ArgumentTypeError(f"MTU, or MTU of A and of B: 256 to {LARGEST_MTU}")
    return (sizes[0], sizes[-1])


def seconds(text):
    value = float(text)
    if not 0 <= value <= 86400:
        raise argparse.ArgumentTypeError("seconds, 0 to 86400")
    return value


def name_value(text):
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError("NAME=VALUE")
    return name, value


def lab_name(text):
    if not text or not all(letter.isalnum() or letter in "-_" for letter in text) or len(text) > 32:
        raise argparse.ArgumentTypeError("letters, digits, - and _, at most 32")
    return text


def add_link_options(parser):
    parser.add_argument("--mtu", type=mtu_pair, default=(DEFAULT_MTU, DEFAULT_MTU), metavar="A[,B]",
                        help=f"netdev MTU (default {DEFAULT_MTU}: RDMA MTU 4096; 1500: 1024)")
    parser.add_argument("--netem", default="", metavar="WORDS", help="tc netem on both ends, e.g. 'loss 1%%'")
    parser.add_argument("--accel", choices=("auto", "kvm", "tcg"), help="default: RAILGAUGE_LAB_ACCEL, or auto")


def add_run_options(parser):
    add_link_options(parser)
    parser.add_argument("--timeout", type=seconds, default=300, metavar="S", help="for the whole run without the boot (300)")
    parser.add_argument("--grace", type=seconds, default=10, metavar="S", help="for B to end after A has (10)")
    parser.add_argument("--delay", type=seconds, metavar="S", help="start A so long after B (default: when B listens)")
    parser.add_argument("--env", type=name_value, action="append", default=[], metavar="NAME=VALUE", help="for both commands")
    parser.add_argument("--out", default="lab-out", metavar="DIR", help="where files left in $LAB_OUT go (lab-out)")
    parser.add_argument("--use", type=lab_name, metavar="NAME", help="run in the pair NAME that `up` started")
    parser.add_argument("--keep-b", action="store_true", help="leave B's command and the pair running afterwards")
    parser.add_argument("--raw", action="store_true", help="A's output alone and unmarked; B's goes to stderr")
    for side in SIDES:
        parser.add_argument(f"--at-{side}", nargs=2, action="append", default=[], metavar=("S", "COMMAND"),
                            help=f"run COMMAND in host {side.upper()} S seconds after A's command began")
        parser.add_argument(f"--kill-{side}-after", type=seconds, metavar="S", help=f"host {side.upper()} vanishes after S seconds")


def build_parser():
    parser = argparse.ArgumentParser(prog="lab", description=__doc__.splitlines()[0], epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name, text, **options):
        return commands.add_parser(name, help=text, description=text, **options)

    add("setup", "install, download and build what the lab needs; every other command does so by itself")
    run = add("run", "boot both hosts, run one command in each: lab run [options] -- COMMAND-A ::: COMMAND-B")
    add_run_options(run)
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND-A ::: COMMAND-B")
    job = add("check", "railgauge check between the two; other options, and all after --, go to railgauge check", allow_abbrev=False)
    add_run_options(job)
    job.add_argument("--build", metavar="DIR|PROGRAM", help="default: build/release, else the first build found")
    terminal = add("shell", "a terminal in one host, the other reachable by `lab exec`")
    add_link_options(terminal)
    terminal.add_argument("side", choices=SIDES, nargs="?", default="a")
    terminal.add_argument("--name", type=lab_name, default="default")
    for name, text in (("up", "boot a pair that stays, or bring one that runs back to its known state"),
                       ("down", "end a pair"), ("status", "which pairs run"),
                       ("exec", "run a command in a host of a pair that is up; its exit code")):
        part = add(name, text)
        part.add_argument("--name", type=lab_name, default="default")
        if name == "up":
            add_link_options(part)
        if name == "exec":
            part.add_argument("--timeout", type=seconds, default=300, metavar="S")
            part.add_argument("--env", type=name_value, action="append", default=[], metavar="NAME=VALUE")
            part.add_argument("side", choices=SIDES)
            part.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    return parser


def plan_of(options, command_a, command_b):
    def timed(side):
        return [(seconds(after), side, command) for after, command in getattr(options, f"at_{side}")]

    return Plan(command_a=command_a, command_b=command_b, mtu=options.mtu, netem=options.netem, accel=options.accel,
                timeout_s=options.timeout, grace_s=options.grace, delay_s=options.delay, env=dict(options.env),
                out=options.out, use=options.use, keep_b=options.keep_b, raw=options.raw,
                events=sorted(timed("a") + timed("b")),
                kills=[(after, side) for side, after in (("a", options.kill_a_after), ("b", options.kill_b_after))
                       if after is not None])


def do_run(options):
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if words.count(":::") != 1:
        raise ValueError("two commands, parted by ::: as in  lab run -- COMMAND-A ::: COMMAND-B")
    middle = words.index(":::")
    if not words[:middle] or not words[middle + 1:]:
        raise ValueError("a command on both sides of :::")
    return run_pair(plan_of(options, command_line(words[:middle]), command_line(words[middle + 1:])))


def do_up(options):
    pair = Pair(options.name)
    if pair.is_up():
        pair.reset(mtu=options.mtu, netem=options.netem, empty_out=False, fresh=True)
        say(f"pair {options.name} was up, and is back in its known state")
        return 0
    taken = pair.up(accel=options.accel, mtu=options.mtu, netem=options.netem)
    say(f"pair {options.name} is up after {taken:.1f} s; shared folder $LAB_OUT: {pair.out}")
    return 0


def do_exec(options):
    pair = Pair(options.name)
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise ValueError("a command to run")
    if not pair.alive(options.side):
        raise VmDied(f"host {options.side} of pair {options.name} is not up")
    job = pair.start(options.side, command_line(words), env=dict(options.env))
    deadline = time.monotonic() + options.timeout
    try:
        while True:
            code = job.exit_code()
            job.pump({"out": sys.stdout.buffer, "err": sys.stderr.buffer})
            if code is not None:
                return code
            if time.monotonic() > deadline:
                say(f"time was up after {options.timeout:g} s")
                return TIMED_OUT
            time.sleep(0.03)
    finally:
        if job.started and not job.path("rc").exists():
            job.stop()


def do_status(options):
    for folder in sorted(state_base().glob("*")):
        pair = Pair(folder.name)
        facts = json.loads((folder / "lab.json").read_text()) if (folder / "lab.json").exists() else {}
        states = ", ".join(f"{side} {'up' if pair.alive(side) else 'down'}" for side in SIDES)
        print(f"{folder.name}: {states}, {facts.get('accel', '?')}, kernel {facts.get('kernel', '?')}")
    return 0


def do_setup(options):
    parts = provision()
    say(f"ready: kernel {parts['release']}, acceleration {choose_accel()}, cache {cache_folder()}")
    return 0


def do_down(options):
    Pair(options.name).down()
    return 0


def stop_on_signals():
    """TERM and HUP take the same way out as Ctrl-C, so that everything is cleaned up."""
    def interrupt(number, frame):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def main(arguments):
    parser = build_parser()
    options, further = parser.parse_known_args(arguments)
    if further and options.command != "check":
        parser.error("unknown: " + " ".join(further))
    stop_on_signals()
    commands = {"setup": do_setup, "run": do_run, "up": do_up, "down": do_down, "exec": do_exec, "status": do_status,
                "shell": lambda given: shell(given.name, given.side, given),
                "check": lambda given: check(given.build, [word for word in further if word != "--"], lambda a, b: plan_of(given, a, b))}
    try:
        return commands[options.command](options)
    except Unsupported as error:
        say(f"no lab here: {error}")
        return UNSUPPORTED
    except VmDied as error:
        say(f"VM DIED: {error}")
        return VM_DIED
    except (ValueError, argparse.ArgumentTypeError) as error:
        say(str(error))
        return USAGE
    except KeyboardInterrupt:
        say("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
