"""The lab itself: what its users and the other cases rely on."""
import os
import subprocess
import time

from harness import A, B, ROOT, case, check

LAB = ROOT / "scripts/lab"


def lab(*words, **options):
    return subprocess.run([str(LAB), *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **options)


@case()
def both_hosts_reach_each_other(hosts):
    """Each host has its name, its address and the mapped GID, and reaches the other by name over TCP."""
    for side, own, other in (("a", A, "lab-b"), ("b", B, "lab-a")):
        hosts.ok(side, "hostname").says(f"^lab-{side}$")
        hosts.ok(side, "ip -br address show eth0").says(own.replace(".", r"\."))
        hosts.ok(side, "rdma link show rxe0/1").says("ACTIVE", "LINK_UP")
        hosts.ok(side, "ibv_devinfo -v -d rxe0").says(f"::ffff:{own}, RoCE v2")
        # Nothing listens on port 9: a refusal at once proves that packets go there and back.
        hosts.run(side, f"timeout 5 bash -c '</dev/tcp/{other}/9'").ended(1).says("refused")


@case()
def exit_codes_and_output_come_back(hosts):
    """A command's exit code, both outputs, its folder and its environment are those of the guest."""
    result = hosts.run("a", "echo one; echo two >&2; exit 37", env={"LAB_TEST": "x y"})
    result.ended(37)
    check((result.out, result.err) == ("one\n", "two\n"), f"outputs mixed up: {result.out!r} {result.err!r}")
    hosts.run("b", "pwd; echo \"<$WORD>\"", env={"WORD": "a  'b\" $c"}).ended(0).says(f"^{ROOT}\n", "<a  'b\" \\$c>")
    hosts.run("a", "kill -SEGV $$").ended(139)


@case()
def results_are_shared(hosts):
    """What one host writes to $LAB_OUT is seen at once by the other and by this machine."""
    hosts.ok("a", "echo 4217 > $LAB_OUT/number")
    hosts.ok("b", "cat $LAB_OUT/number").says("^4217$")
    check((hosts.pair.out / "number").read_text() == "4217\n", "not seen outside")
    hosts.ok("a", f"touch {ROOT}/written-in-a-guest")
    check(not (ROOT / "written-in-a-guest").exists(), "a guest wrote to the host's root")


@case()
def faults_leave_no_trace(hosts):
    """After a reset nothing of a test is left: job, firewall, loss, link down, second netdev MTU."""
    hosts.start("a", "sleep 4999 & exec sleep 4999")
    hosts.ok("a", "nft add table inet t; tc qdisc add dev eth0 root netem loss 50%; ip link set eth0 down mtu 1280; rdma link del rxe0")
    hosts.pair.reset(empty_out=False)
    hosts.run("a", "ps -e -o args= 2>/dev/null || cat /proc/[0-9]*/cmdline").ended(0)
    gone = hosts.ok("a", "nft list ruleset; tc qdisc show dev eth0; cat /sys/class/net/eth0/mtu; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done")
    for trace in ("table inet t", "netem", "1280", "sleep 4999 "):
        check(trace not in gone.out.replace("tr '\\0'", ""), f"{trace} is left:\n{gone.out}")
    hosts.ok("a", "rdma link show rxe0/1").says("ACTIVE")


@case()
def run_reports_what_happened(hosts):
    """scripts/lab run: A's exit code; 124 when time is up; results copied out; usage is 2."""
    base = ["run", "--use", hosts.pair.name]
    folder = hosts.pair.folder / "results"
    done = lab(*base, "--out", str(folder), "--env", "N=19", "--", "exit $N", ":::", "echo from b > $LAB_OUT/b.txt")
    check(done.returncode == 19 and "A exited 19" in done.stderr and "B exited 0" in done.stderr, f"{done}")
    check((folder / "b.txt").read_text() == "from b\n", "the result was not copied out")
    begin = time.monotonic()
    done = lab(*base, "--timeout", "3", "--", "sleep", "60", ":::", "sleep", "60")
    check(done.returncode == 124 and time.monotonic() - begin < 15, f"{time.monotonic() - begin:.1f} s {done}")
    done = lab(*base, "--grace", "1", "--at-b", "1", "touch $LAB_OUT/mark", "--out", str(folder), "--", "sleep 2", ":::", "sleep 60")
    check(done.returncode == 0 and "B stopped by the lab" in done.stderr and (folder / "mark").exists(), f"{done}")
    for words in (["run", "--", "true"], ["run", "--mtu", "12", "--", "true", ":::", "true"], ["walk"]):
        check(lab(*words).returncode == 2, f"{words} should be refused")
