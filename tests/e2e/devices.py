#!/usr/bin/env python3
"""Devices that can little, refuse much or go away: each works or says in one sentence what it lacks."""
import os
import pathlib
import re
import resource
import unittest

from harness import PROGRAM, SIMVERBS, SLOW, RailgaugeTest, Server, call, environment

# Limits below those of any device in the field.
TINY = "max_qp = 4\nmax_qp_wr = 16\nmax_cqe = 64\nmax_sge = 1\nmax_inline_bytes = 0\n"


def may_be_read(*files):
    """By everyone: each folder on the way may be passed."""
    folders = {folder for file in files for folder in pathlib.Path(file).resolve().parents}
    return all(os.stat(folder).st_mode & 0o001 for folder in folders) and all(os.stat(file).st_mode & 0o004 for file in files)


class Devices(RailgaugeTest):
    def setUp(self):
        super().setUp()
        self.need_simverbs()

    def on(self, description, *arguments, faults="", **options):
        """railgauge's output, on a stand-in of that description."""
        path = self.here / "device.conf"
        path.write_text(description)
        env = environment(True, RAILGAUGE_SIM_DEVICE=str(path), RAILGAUGE_SIM_FAULTS=faults)
        return call(*arguments, env=env, cwd=self.here, **options)

    def test_the_classic_calls_are_enough(self):
        """No call younger than the first libibverbs, no sysfs, no event channel, one GID."""
        only_gid = "[port 1]\ngid 5 = 10.0.0.7, v2\n"
        for op, metric in (("write", "bandwidth"), ("send", "latency"), ("write", "latency"), ("read", "bandwidth")):
            done = self.on("[device x_9]\nclassic = yes\n" + only_gid, "rdma", "--self", "--op", op, "--metric", metric, "--duration", "50ms",
                           "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            record = self.judged(done.stdout)
            self.assertTrue(record["simulated"])
            side = record["measurements"][0]["sides"][0]
            self.assertEqual(side["placement"]["gid_index"], 5)
            # Only a ping-pong on memory relies on the order of bytes, which this device has no call to promise.
            self.assertEqual([w for w in side["warnings"] if "lands last" in w] != [], (op, metric) == ("write", "latency"), side["warnings"])

    def reason(self, description, *arguments, **more):
        done = self.on(description, "rdma", "--self", "--duration", "50ms", "--interval", "10ms", "--format", "json", *arguments, **more)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return self.judged(done.stdout)["measurements"][0]["reason"]

    def test_a_limit_is_named_with_what_was_found_and_wanted(self):
        d = "[device x_9]\n"
        self.assert_says(self.reason(d + "max_mr_bytes = 1048576\n", "--working-set", "2M"), "ibv_reg_mr", "max_mr_size", "1 MiB", "--working-set")
        self.assert_says(self.reason(d + "max_mr = 1\n", "--direction", "both", "--working-set", "1M"), "ibv_reg_mr", "1 regions (max_mr)")
        self.assert_says(self.reason(d + TINY, "--depth", "128"), "largest QP", "16", "128", "--depth")
        self.assert_says(self.reason(d + TINY, "--depth", "16", "--qps", "5"), "number of QPs", "4", "5", "--qps")

    def test_messages_larger_than_the_device_sends(self):
        self.assert_says(self.reason("[device x_9]\nmax_msg_bytes = 1048576\n", "--size", "2M"), "--size 2 MiB", "x_9", "use 1 MiB or less")

    def test_messages_larger_than_memory(self):
        memory = int(re.search(r"MemTotal: *(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) // 1024  # MiB
        # 64 GiB and more is refused before anybody is called, with the same words.
        done = self.on("[device x_9]\n", "rdma", "--self", "--working-set", f"{memory}M", "--format", "json")
        self.assertEqual(done.returncode, 2, done.stderr)
        text = self.judged(done.stdout)["measurements"][0]["reason"] if done.stdout else done.stderr
        self.assert_says(text, "of buffers", "pass the limit of", "half of the host's memory", "--working-set")

    def test_ports_of_two_kinds_are_settings_that_do_not_fit(self):
        (self.here / "ib.conf").write_text("[device ib_3]\n[port 1]\nlink_layer = infiniband\n")
        with Server(env=environment(True, RAILGAUGE_SIM_DEVICE=str(self.here / "ib.conf"))) as server:
            done = self.on("[device x_9]\n", "rdma", "127.0.0.1", "--port", server.port, "--format", "json")
            self.assertEqual(done.returncode, 2, done.stderr)
            m = self.judged(done.stdout)["measurements"][0]
            self.assertEqual(m["outcome"], "failed")
            self.assert_says(m["reason"], "x_9 port 1 is Ethernet", "ib_3 port 1 is InfiniBand", "--device")

    def test_a_silent_path_costs_one_timeout_and_tcp_goes_on(self):
        """Each of the 21 RDMA measurements waited its 9 s."""
        done = self.on("[device x_9]\n", "check", "--self", "--quick", "--format", "json", faults="message 1 stuck")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertLess(done.seconds, 15 * SLOW, "--quick promises 15 s")
        measurements = self.judged(done.stdout)["measurements"]
        rdma = [m for m in measurements if m["plan"]["transport"] == "rdma"]
        self.assertEqual(rdma[0]["outcome"], "failed")
        for m in rdma[1:]:
            self.assertEqual(m["outcome"], "skipped", m["plan"]["label"])
            self.assert_says(m["reason"], "not tried: " + rdma[0]["plan"]["label"] + " failed: " + rdma[0]["reason"])
        self.assertEqual({m["outcome"] for m in measurements if m["plan"]["transport"] == "tcp"}, {"done"})

    def test_an_empty_gid_table(self):
        self.assert_says(self.reason("[device x_9]\n[port 1]\ngids = none\n"), "x_9 port 1 has no GID", "give its interface an address")

    def test_locked_memory_that_is_limited(self):
        """Root has no limit, so another user it is."""
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        self.here.chmod(0o755)
        if nobody and not may_be_read(PROGRAM, SIMVERBS):
            self.skipTest("the build folder is closed to other users")
        reason = self.reason("[device x_9]\nenforce_memlock = yes\n", "--size", "64K",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (32 << 10, 32 << 10)), **nobody)
        self.assert_says(reason, "ibv_reg_mr", "limited to 32 KiB (ulimit -l 32)", "/etc/security/limits.conf", "LimitMEMLOCK=infinity", "--working-set")

    def test_a_depth_that_nobody_asked_for_is_fitted_to_the_device(self):
        done = self.on("[device x_9]\n" + TINY, "rdma", "--self", "--duration", "50ms", "--interval", "10ms", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        m = self.judged(done.stdout)["measurements"][0]
        self.assertEqual(m["plan"]["rdma"]["depth"], 16)
        self.assert_says(" ".join(m["sides"][0]["choices"]), "depth 16 instead of 128", "x_9", "holds 16 requests")
        done = self.on("[device x_9]\nmax_qp_wr = 16\n", "check", "--self", "--quick", "--no-tcp", "--format", "json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        for m in self.judged(done.stdout)["measurements"]:
            self.assertEqual(m["outcome"], "done", m["plan"]["label"] + ": " + m["reason"])

    def record_of(self, description, *arguments, **more):
        """Of a run that ended well."""
        done = self.on(description, *arguments, "--self", "--format", "json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.judged(done.stdout)

    def test_a_check_is_fitted_to_a_device_that_holds_little(self):
        """Four QPs, shared by both sides of one host, queues of 16, 16 completions."""
        done = self.on("[device x_9]\nmax_qp = 4\nmax_qp_wr = 16\nmax_cqe = 16\n", "check", "--self", "--quick", "--no-tcp", "--format", "json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        several = 0
        for m in self.judged(done.stdout)["measurements"]:
            self.assertEqual(m["outcome"], "done", m["plan"]["label"] + ": " + m["reason"])
            if m["plan"]["rdma"]["qps"] == 1:
                continue
            several += 1
            self.assertEqual(m["plan"]["rdma"]["qps"], 2)
            self.assert_says(m["plan"]["label"], "2 QPs")
            self.assert_says(" ".join(m["sides"][0]["choices"]), "QPs 2 instead of 8", "x_9", "holds 4 queue pairs, for both sides")
        self.assertEqual(several, 7)

    def test_a_latency_needs_no_deep_queue(self):
        for metric in (["--op", "write"], ["--op", "send"], ["--op", "fetch_add"], ["--op", "send", "--under-load"]):
            self.record_of("[device x_9]\nmax_qp_wr = 3\nmax_cqe = 8\n", "rdma", "--metric", "latency", "--duration", "50ms", *metric)

    def test_too_many_qps_are_refused_before_any_is_made(self):
        reason = self.reason("[device x_9]\nmax_qp = 4\n", "--qps", "3", "--threads", "2")
        self.assert_says(reason, "number of QPs of x_9 is 4, 6 are needed", "--qps or --threads")
        reason = self.reason("[device x_9]\n", faults="fail create_qp errno 12")
        self.assert_says(reason, "ibv_create_qp", "4096 QPs that x_9 has (max_qp)")

    def test_a_limit_that_cannot_be_meant_does_not_spoil_the_facts(self):
        facts = self.record_of("[device x_9]\nmax_qp_wr = 0\nmax_cqe = 0\n", "tcp", "--duration", "50ms")["nodes"][1]["facts"]
        device = facts["rdma_devices"][0]
        self.assertEqual((device["max_qp_depth"], device["max_qp_depth_reason"]), (None, "libibverbs says 0"))
        self.assertEqual((device["max_cq_entries"], device["max_cq_entries_reason"]), (None, "libibverbs says 0"))

    def test_the_version_of_a_gid_is_asked_for_one_by_one(self):
        gids = "gid_table = no\n[port 1]\ngid 2 = 10.0.0.7, v1\ngid 3 = 10.0.0.7, v2\n"
        record = self.record_of("[device x_9]\n" + gids, "rdma", "--duration", "50ms")
        port = record["nodes"][0]["facts"]["rdma_devices"][0]["ports"][0]
        self.assertEqual([(g["index"], g["type"], g["type_doubt"]) for g in port["gids"]], [(2, "roce_v1", None), (3, "roce_v2", None)])
        self.assertEqual(record["measurements"][0]["sides"][0]["placement"]["gid_index"], 3)

    def test_a_version_that_nobody_tells_is_a_stated_guess(self):
        """The kernel lists an address as v1, then as v2."""
        record = self.record_of("[device x_9]\nclassic = yes\n[port 1]\ngid 2 = 10.0.0.7, v1\ngid 3 = 10.0.0.7, v2\n", "rdma", "--duration", "50ms")
        side = record["measurements"][0]["sides"][0]
        self.assertEqual(side["placement"]["gid_index"], 3)
        self.assert_says(" ".join(side["choices"]), "GID index 3 (10.0.0.7, version not known, taken for RoCE v2")
        self.assert_says(" ".join(side["warnings"]), "GID index 3 of x_9 port 1 is taken for RoCE v2", "neither libibverbs nor /sys")

    def test_a_wish_that_was_not_met_is_said(self):
        def run(description, *arguments):
            side = self.record_of("[device x_9]\n" + description, "rdma", "--duration", "50ms", "--size", "64", *arguments)["measurements"][0]["sides"][0]
            return side["settings"], " ".join(side["warnings"])
        settings, warnings = run("max_rd_atomic = 4\n", "--op", "read", "--max-reads", "17")
        self.assertEqual(settings["initiator_reads"], "4")
        self.assert_says(warnings, "--max-reads 17: 4 took effect", "x_9")
        settings, warnings = run("max_inline_bytes = 0\n", "--inline", "64")
        self.assertEqual(settings["messages_inline"], "false")
        self.assert_says(warnings, "--inline 64: x_9 gives 0 bytes")
        settings, warnings = run("[port 1]\nlink_layer = infiniband\n", "--traffic-class", "96")
        self.assertNotIn("traffic_class", settings)
        self.assert_says(warnings, "--traffic-class 96 had no effect", "GRH")
        settings, warnings = run("", "--traffic-class", "96", "--max-reads", "8", "--op", "read")
        self.assertEqual((settings["traffic_class"], settings["initiator_reads"]), ("96", "8"))
        self.assertNotIn("--traffic-class", warnings + settings["mode"])
        self.assertNotIn("--max-reads", warnings)

    def test_a_sysroot_is_completed_by_what_verbs_says_of_its_devices(self):
        port = self.here / "tree/sys/class/infiniband/x_9/ports/1"
        port.mkdir(parents=True)
        for name, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)", "link_layer": "Ethernet"}.items():
            (port / name).write_text(text + "\n")
        two = "[device x_9]\n[device y_8]\n"
        record = self.record_of(two, "rdma", "--sysroot", self.here / "tree", "--duration", "50ms")
        facts = record["nodes"][0]["facts"]
        self.assertEqual(facts["hostname"], "localhost")  # the tree names none
        self.assertEqual([d["name"] for d in facts["rdma_devices"]], ["x_9"])
        shown = facts["rdma_devices"][0]["ports"][0]
        self.assertEqual((shown["active_mtu_bytes"], shown["rate_text"]), (4096, "200 Gb/sec (4X HDR)"))
        self.assertIn(record["measurements"][0]["sides"][0]["placement"]["gid_index"], [g["index"] for g in shown["gids"]])
        self.assertNotEqual(record["measurements"][0]["expectation"]["terms"], [])
        (self.here / "empty").mkdir()
        done = self.on(two, "rdma", "--self", "--sysroot", self.here / "empty", "--format", "json")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assert_says(self.judged(done.stdout)["measurements"][0]["reason"], f"{self.here}/empty/sys/class/infiniband is empty")

    def test_a_peer_that_fails_ends_the_wait_for_it(self):
        with Server(env=environment(True, RAILGAUGE_SIM_FAULTS="message 500 status 12")) as server:
            done = call("rdma", "127.0.0.1", "--port", server.port, "--op", "send", "--metric", "latency", "--duration", f"{20 * SLOW}s", "--format", "json",
                        env=environment(True), cwd=self.here)
        self.assertEqual(done.returncode, 3, done.stderr)
        m = self.judged(done.stdout)["measurements"][0]
        self.assertEqual({side["role"]: side["error"] and side["error"]["code"] for side in m["sides"]}, {"client": None, "server": 12})
        self.assert_says(m["reason"], "RETRY_EXC_ERR")

    def test_a_device_node_that_is_missing(self):
        self.assert_says(self.reason("[device x_9]\n", faults="fail open errno 2"), "x_9", "/dev/infiniband/uverbs0", "modprobe ib_uverbs")

    @unittest.skipIf(os.path.exists("/dev/infiniband/rdma_cm"), "this kernel has rdma_ucm")
    def test_no_connection_manager(self):
        self.assert_says(self.reason("[device x_9]\n", "--connect", "rdma_cm"), "/dev/infiniband/rdma_cm", "modprobe rdma_ucm", "--connect socket")

    def test_a_port_that_goes_down_is_the_cause_on_either_side(self):
        for faulty in ("client", "server"):
            measured = self.port_down_in_the_run(faulty)
            for text in (measured["reason"], measured["verdict"]["cause"]):
                self.assert_says(text, "port 1 of sim0 went down after", "PORT_ERR", "DOWN")

    def port_down_in_the_run(self, faulty):
        """The fault's time counts from the opening of the device; where a busy machine starts the run later, it is set later."""
        for seconds in (2 * SLOW, 10 * SLOW, 30 * SLOW):
            fault = environment(True, RAILGAUGE_SIM_FAULTS=f"after {seconds}s port down")
            with Server(env=fault if faulty == "server" else environment(True)) as server:
                done = call("rdma", "127.0.0.1", "--port", server.port, "--duration", f"{seconds + 6 * SLOW}s", "--format", "json",
                            env=fault if faulty == "client" else environment(True), cwd=self.here, timeout=120)
            measured = self.judged(done.stdout)["measurements"][0]
            if measured["throughput"]:
                break
        self.assertEqual(done.returncode, 3, done.stderr)
        return measured


if __name__ == "__main__":
    unittest.main()
