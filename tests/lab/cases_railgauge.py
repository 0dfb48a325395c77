"""railgauge between the two hosts: the main job, and the bad days."""
import functools
import time

import harness
from harness import A, B, check, patience
from railgauge_hosts import (PORT, measure, names, rdma_rows, record_of, serve, server_ended, start_measuring, token_file)

case = functools.partial(harness.case, needs_railgauge=True)
WRITE = "rdma --op write --metric bandwidth --size 64K"
# A vanished peer is noticed within 5 s; what is above that is start, end and a busy emulated processor.
VANISHED_S = 15


def in_time(begin, limit_s):
    taken = time.monotonic() - begin
    check(taken < limit_s * patience(), f"took {taken:.1f} s, not {limit_s}")


def mapped_gid_index(hosts, side, address):
    tail = ":ffff:%02x%02x:%02x%02x" % tuple(int(part) for part in address.split("."))
    found = hosts.ok(side, f"grep -l '{tail}' /sys/class/infiniband/rxe0/ports/1/gids/[0-9] /sys/class/infiniband/rxe0/ports/1/gids/1[0-9]")
    return int(found.out.split()[0].rsplit("/", 1)[1])


@case(limit_s=120)
def main_job_passes(hosts):
    """railgauge check: every measurement done and verified on both hosts, one record, no hardware verdict on rxe."""
    server = serve(hosts)
    result = measure(hosts, "check --quick").ended(0)
    server_ended(hosts, server)
    record = record_of(hosts, result)
    check(record["outcome"] == "done" and record["software_device"] is True, f"{record['outcome']}, {record['software_device']}")
    check([node["facts"]["hostname"] for node in record["nodes"]] == ["lab-a", "lab-b"], "both hosts' facts")
    rows = rdma_rows(record)
    check({"write", "read", "send"} <= {m["plan"]["operation"] for m in rows}, "write, read and send")
    check({"bandwidth", "latency", "rate"} <= {m["plan"]["metric"] for m in rows}, "bandwidth, latency and message rate")
    check(len(rows) < len(record["measurements"]), "TCP as well")
    for m in record["measurements"]:
        label = m["plan"]["label"]
        check(m["outcome"] == "done", f"{label}: {m['outcome']} {m['reason']}")
        check(m["throughput"] or m["latency"], f"{label}: no figure")
        checked = sum((side["verification"] or {}).get("checked_bytes", 0) for side in m["sides"])
        wrong = sum((side["verification"] or {}).get("mismatched_bytes", 0) for side in m["sides"])
        check(not m["plan"]["verify"] or (checked > 0 and wrong == 0), f"{label}: {checked} bytes checked, {wrong} wrong")
    for m in rows:
        check(m["verdict"]["word"] == "no_criterion", f"{m['plan']['label']}: {m['verdict']['word']} on a software device")


@case()
def roce_v2_gid_is_chosen(hosts):
    """The IPv4-mapped RoCE v2 GID in the peer's subnet, whatever its index, and the reason stands in the record."""
    hosts.ok("a", "ip addr flush dev eth0; ip addr add 192.168.91.7/24 dev eth0; ip addr add 10.77.0.1/24 dev eth0; sleep 1")
    wanted = [mapped_gid_index(hosts, "a", A), mapped_gid_index(hosts, "b", B)]
    check(wanted[0] != wanted[1], f"the case wants two different indices, not {wanted}")
    server = serve(hosts)
    result = measure(hosts, f"{WRITE} --duration 1s").ended(0)
    server_ended(hosts, server)
    row, = rdma_rows(record_of(hosts, result))
    seen = [side["placement"]["gid_index"] for side in row["sides"]]
    check(seen == wanted, f"GID indices {seen}, not {wanted}")
    for side in row["sides"]:
        check(any("RoCE v2" in choice and "IPv4" in choice for choice in side["choices"]), f"why this GID: {side['choices']}")


@case(mtu=(1500, 4200))
def mtu_difference_is_explained(hosts):
    """Path MTU 1024 on A against 4096 on B: 1024 is used, and the difference is a line that matters."""
    server = serve(hosts)
    result = measure(hosts, f"{WRITE} --duration 1s").ended(0).says("1024", "4096", "MTU")
    server_ended(hosts, server)
    record = record_of(hosts, result)
    lines = [d for d in record["differences"] if "MTU" in d["what"] and d["matters"]]
    check(any("1024" in d["client"] and "4096" in d["server"] for d in lines), f"differences: {record['differences']}")
    for side in rdma_rows(record)[0]["sides"]:
        check(side["path_mtu_bytes"] == 1024, f"{side['role']}: path MTU {side['path_mtu_bytes']}")


@case(limit_s=60)
def pulled_cable_ends_both(hosts):
    """ip link set eth0 down on A in the middle: both ends stop by themselves, and the record says what was seen."""
    server = serve(hosts)
    client = start_measuring(hosts, f"{WRITE} --duration 120s")
    pulled = time.monotonic()
    hosts.ok("a", "ip link set eth0 down")
    result = hosts.finish(client, 30).ended(3)
    in_time(pulled, VANISHED_S + 5)
    server_ended(hosts, server, 25)
    record = record_of(hosts, result)
    check(record["outcome"] in ("partial", "failed"), record["outcome"])
    names(record, r"went down .*PORT_ERR|PORT_ERR.*DOWN")


@case(limit_s=60)
def killed_server_ends_the_client(hosts):
    """kill -9 of the server's process: the client ends with code 3 and names it."""
    server = serve(hosts)
    client = start_measuring(hosts, f"{WRITE} --duration 120s")
    killed = time.monotonic()
    server.signal("KILL")
    result = hosts.finish(client, 30).ended(3)
    in_time(killed, VANISHED_S)
    record = record_of(hosts, result)
    check(record["outcome"] in ("partial", "failed"), record["outcome"])
    names(record, "closed|lost|reset|gone|ended|no sign of life|left")


@case(limit_s=60)
def killed_client_frees_the_server(hosts):
    """kill -9 of the client: the server notices, and serves the next one."""
    server = serve(hosts, "--max-runs 2")
    client = start_measuring(hosts, f"{WRITE} --duration 120s", folder="first")
    client.signal("KILL")
    time.sleep(7)
    measure(hosts, f"{WRITE} --duration 1s", 30).ended(0)
    server_ended(hosts, server)


@case(limit_s=60)
def vanished_host_is_noticed(hosts):
    """Host B's power is cut: the client, which hears nothing at all any more, ends within seconds."""
    serve(hosts)
    client = start_measuring(hosts, f"{WRITE} --duration 120s")
    cut = time.monotonic()
    hosts.pair.kill("b")
    result = hosts.finish(client, 30).ended(3)
    in_time(cut, VANISHED_S)
    record = record_of(hosts, result)
    check(record["outcome"] in ("partial", "failed"), record["outcome"])
    names(record, "no sign of life|lost|vanished|retry")


@case(netem="loss 1%", limit_s=90)
def packet_loss_is_named(hosts):
    """1 % loss on both ends: the transfer completes, data is right, and the moved counters name the loss."""
    server = serve(hosts)
    result = measure(hosts, f"{WRITE} --duration 3s --verify").ended(0, 1)
    server_ended(hosts, server)
    record = record_of(hosts, result)
    row, = rdma_rows(record)
    check(row["outcome"] == "done", f"{row['outcome']}: {row['reason']}")
    moved = {c["name"] for side in row["sides"] for c in side["counters"] if (c["delta"] or 0) > 0}
    check(moved & {"out_of_seq_request", "rcvd_seq_err", "duplicate_request", "retry_exceeded_err", "completer_retry_err"},
          f"no counter of repair moved: {moved}")
    names(record, "loss|lost|sequence|repeat|retransmi")


@case()
def wrong_gid_index_is_refused(hosts):
    """A GID index that is empty, here or there: code 2, the index and those present; the server lives on."""
    server = serve(hosts, "--max-runs 3")
    measure(hosts, f"{WRITE} --duration 1s --gid-index 77", 20, "here").ended(2, within_s=20).says("77", "present", A)
    measure(hosts, f"{WRITE} --duration 1s --peer-gid-index 78", 20, "there").ended(2, within_s=20).says("78", "present", B)
    measure(hosts, f"{WRITE} --duration 1s", 20).ended(0)
    server_ended(hosts, server)


@case()
def firewall_on_the_control_port_is_named(hosts):
    """nft drop on the control port: code 3 in bounded time, the port and the firewall named; reject: the same at once."""
    serve(hosts)
    chain = "nft flush ruleset; nft add table inet lab; nft add chain inet lab in '{ type filter hook input priority 0; }'"
    hosts.ok("b", f"{chain}; nft add rule inet lab in tcp dport {PORT} drop")
    result = measure(hosts, f"{WRITE} --duration 1s", 40, "drop").ended(3, within_s=25).says("firewall", str(PORT))
    record = record_of(hosts, result, "drop")
    check(record["error"]["kind"] == "timeout" and record["outcome"] == "failed", f"{record['error']}")
    hosts.ok("b", f"{chain}; nft add rule inet lab in tcp dport {PORT} reject with icmpx type admin-prohibited")
    measure(hosts, f"{WRITE} --duration 1s", 40, "reject").ended(3, within_s=15).says("firewall|refused", str(PORT))


@case(limit_s=90)
def firewall_on_the_rdma_port_is_named(hosts):
    """nft drop on RoCE's UDP port 4791: the control connection works, RDMA gets no answer: code 3, and that is said."""
    server = serve(hosts)
    hosts.ok("b", "nft add table inet lab; nft add chain inet lab in '{ type filter hook input priority 0; }'; "
                  "nft add rule inet lab in udp dport 4791 drop")
    result = measure(hosts, f"{WRITE} --duration 2s", 60).ended(3)
    server_ended(hosts, server)
    names(record_of(hosts, result), "retry|no completion|no answer|4791")


@case()
def wrong_token_is_refused(hosts):
    """Another token: code 3, said on both sides; the server goes on."""
    server = serve(hosts)
    hosts.ok("a", f"cp {token_file(hosts)} /tmp/right; echo another-token-of-29-characters > /tmp/wrong; mkdir -p $LAB_OUT/wrong")
    hosts.run("a", f"{hosts.railgauge} {WRITE.replace('rdma', f'rdma {B}')} --duration 1s --token-file /tmp/wrong --output $LAB_OUT/wrong",
              20).ended(3, within_s=15).says("token")
    measure(hosts, f"{WRITE} --duration 1s", 30).ended(0)
    server_ended(hosts, server)
