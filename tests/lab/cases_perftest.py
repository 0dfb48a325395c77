"""perftest between the two hosts: proof that the lab is real RDMA, and how faults look without railgauge.

Completion, correctness and plausible units are asserted, never speed.
"""
import re

from harness import B, case, check

LIMIT = "timeout 40"


def figures(text):
    """(bytes, iterations, average MB/s) of perftest's result line."""
    found = re.search(r"^ (\d+)\s+(\d+)\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s*$", text, re.MULTILINE)
    check(found, f"no result line in:\n{text}")
    return int(found.group(1)), int(found.group(2)), float(found.group(3))


def perftest_passes(hosts, program, options, size, count):
    words = f"{LIMIT} {program} -d rxe0 -F -s {size} -n {count} {options}"
    for server, client, address in (("b", "a", B), ("a", "b", "lab-a")):
        serving = hosts.start(server, words)
        if "-R" in options:
            hosts.ok(server, "for i in $(seq 100); do rdma resource show cm_id | grep -q LISTEN && exit; sleep 0.1; done; exit 1")
        else:
            hosts.listening(server, 18515)
        done = hosts.run(client, f"{words} {address}").ended(0)
        hosts.finish(serving).ended(0)
        seen_size, seen_count, rate = figures(done.out)
        check((seen_size, seen_count) == (size, count), f"{seen_size} bytes, {seen_count} times: not what was asked")
        check(0 < rate < 50_000, f"{rate} MB/s is no rate")


@case()
def perftest_write_both_ways(hosts):
    """ib_write_bw, each host serving once."""
    perftest_passes(hosts, "ib_write_bw", "-x 1", 65536, 300)


@case()
def perftest_read_both_ways(hosts):
    """ib_read_bw, each host serving once."""
    perftest_passes(hosts, "ib_read_bw", "-x 1", 8192, 700)


@case()
def perftest_send_both_ways(hosts):
    """ib_send_bw, each host serving once, a size that is no power of two."""
    perftest_passes(hosts, "ib_send_bw", "-x 1", 30011, 300)


@case()
def perftest_over_rdma_cm(hosts):
    """ib_read_bw -R: connection by librdmacm."""
    perftest_passes(hosts, "ib_read_bw", "-R", 65536, 200)


@case(mtu=(1500, 4200))
def perftest_takes_the_smaller_mtu(hosts):
    """netdev MTU 1500 against 4200: ports say 1024 and 4096, and the queue pair takes 1024."""
    hosts.ok("a", "ibv_devinfo -d rxe0").says(r"active_mtu:\s+1024")
    hosts.ok("b", "ibv_devinfo -d rxe0").says(r"active_mtu:\s+4096")
    client, server = hosts.both(f"{LIMIT} ib_write_bw -d rxe0 -x 1 -F -m 1024 -n 200 {B}", f"{LIMIT} ib_write_bw -d rxe0 -x 1 -F -m 1024 -n 200")
    client.ended(0).says(r"Mtu\s+: 1024\[B\]")
    server.ended(0)


@case(netem="loss 2%")
def perftest_survives_loss(hosts):
    """2 % loss on both ends: RC repairs it, the transfer is complete, and the counters moved."""
    before = hosts.counter("b", "out_of_seq_request") + hosts.counter("a", "send_rnr_err")
    client, server = hosts.both(f"{LIMIT} ib_write_bw -d rxe0 -x 1 -F -n 300 {B}", f"{LIMIT} ib_write_bw -d rxe0 -x 1 -F -n 300")
    client.ended(0)
    server.ended(0)
    check(figures(client.out)[1] == 300, "not all messages")
    after = hosts.counter("b", "out_of_seq_request") + hosts.counter("a", "send_rnr_err")
    check(after > before, "2 % of 5000 packets were lost, but no counter of lost order moved")


@case()
def perftest_fails_when_the_cable_is_pulled(hosts):
    """ip link set eth0 down in the middle: the client ends with a failed completion."""
    serving = hosts.start("b", f"{LIMIT} ib_write_bw -d rxe0 -x 1 -F -D 30")
    hosts.listening("b", 18515)
    client = hosts.start("a", f"{LIMIT} ib_write_bw -d rxe0 -x 1 -F -D 30 {B}")
    hosts.data_flows("a")
    hosts.ok("a", "ip link set eth0 down")
    hosts.finish(client, 30).ended(1).says("Completion with error|Failed status")
    serving.stop()


@case()
def firewall_stops_the_control_port(hosts):
    """nft drop on a TCP port: connecting to it is met with silence, and other ports still answer."""
    serving = hosts.start("b", f"{LIMIT} ib_write_bw -d rxe0 -x 1 -F")
    hosts.listening("b", 18515)
    hosts.ok("b", "nft add table inet lab && nft add chain inet lab in '{ type filter hook input priority 0; }' && "
                  "nft add rule inet lab in tcp dport 18515 drop")
    hosts.run("a", f"timeout 3 bash -c '</dev/tcp/{B}/18515'").ended(124)
    hosts.run("a", f"timeout 3 bash -c '</dev/tcp/{B}/9'").ended(1).says("refused")
    serving.stop()
