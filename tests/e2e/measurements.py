#!/usr/bin/env python3
"""Single measurements with their own settings: what was asked for is in force and in the record, and the figures agree."""
import unittest

from harness import Server, RailgaugeTest, call


class Tcp(RailgaugeTest):
    def measure(self, *arguments):
        with Server() as server:
            done = call("tcp", "127.0.0.1", "--port", server.port, "--format", "json", "--quiet", *arguments, cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout[-800:])
        return self.judged(done.stdout)["measurements"]

    def test_bandwidth_is_bytes_over_time(self):
        for direction in ("to", "from"):
            m = self.measure("--duration", "500ms", "--streams", "2", "--direction", direction)[0]
            t = m["throughput"]
            self.assertAlmostEqual(t["mean_gbit_per_s"], t["bytes"] * 8 / t["elapsed_ns"], delta=0.01 * t["mean_gbit_per_s"])
            self.assertAlmostEqual(t["elapsed_ns"] / 1e9, 0.5, delta=0.1)
            receiver = m["sides"][1 if direction == "to" else 0]
            self.assertEqual(sum(i["bytes"] for i in receiver["received_intervals"] if not i["warm_up"]), t["bytes"])
            self.assertGreater(t["bytes"], 0)

    def test_both_directions_have_their_own_figures(self):
        m = self.measure("--duration", "500ms", "-b")[0]
        self.assertGreater(m["throughput"]["mean_gbit_per_s"], 0)
        self.assertGreater(m["throughput_reverse"]["mean_gbit_per_s"], 0)

    def test_settings_are_read_back_from_both_ends(self):
        m = self.measure("--duration", "300ms", "--congestion", "cubic")[0]
        for side in m["sides"]:
            self.assertEqual(side["settings"]["congestion"], "cubic")

    def test_setting_that_does_not_take_is_an_error(self):
        with Server() as server:
            done = call("tcp", "127.0.0.1", "--port", server.port, "--congestion", "no_such_control", "--duration", "300ms", cwd=self.here)
        self.assertNotEqual(done.returncode, 0)
        record = self.only_record()
        self.assert_says(record["measurements"][0]["reason"], "no_such_control")

    def test_latency_percentiles_rise(self):
        m = self.measure("--metric", "latency", "--duration", "500ms")[0]
        latency = m["latency"]
        found = [latency[k] for k in ("min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")]
        rising = [ns for ns in found if ns is not None]  # a slow machine has too few samples for some
        self.assertGreaterEqual(len(rising), 2)
        self.assertEqual(rising, sorted(rising))
        self.assertIn("round trip", m["latency_meaning"])

    def test_latency_under_load_says_that_its_loop_is_open(self):
        m = self.measure("--metric", "latency", "--under-load", "--duration", "300ms")[0]
        self.assertEqual(m["plan"]["load_rate_per_s"], 10000)
        self.assertEqual(m["latency_meaning"], "round trip, from the intended send")

    def test_sweep_gives_each_size_its_own_row(self):
        rows = self.measure("--size", "4K,3000,64K", "--duration", "200ms")
        self.assertEqual([m["plan"]["message_bytes"] for m in rows], [4096, 3000, 65536])

    def test_pacing_holds_the_rate(self):
        m = self.measure("--duration", "1s", "--pacing", "500M")[0]
        self.assertLess(m["throughput"]["mean_gbit_per_s"], 0.6)


class Rdma(RailgaugeTest):
    def setUp(self):
        super().setUp()
        self.need_simverbs()

    def measure(self, *arguments, code=0):
        with Server(simulated=True) as server:
            done = call("rdma", "127.0.0.1", "--port", server.port, "--format", "json", "--quiet", *arguments, simulated=True, cwd=self.here)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout[-800:])
        return self.judged(done.stdout)["measurements"]

    def test_every_operation_in_every_direction_verified(self):
        for op in ("write", "write_imm", "read", "send"):
            for direction in ("to", "from", "both"):
                with self.subTest(op=op, direction=direction):
                    m = self.measure("--op", op, "--direction", direction, "--duration", "200ms", "--size", "3000", "--qps", "2", "--verify")[0]
                    self.assertEqual(m["outcome"], "done", m["reason"])
                    checked = [s["verification"] for s in m["sides"] if s["verification"]]
                    self.assertTrue(any(v["checked_bytes"] > 0 for v in checked))
                    self.assertEqual(sum(v["mismatched_bytes"] for v in checked), 0)

    def test_atomics(self):
        for op in ("fetch_add", "compare_swap"):
            for metric in ("bandwidth", "latency"):
                with self.subTest(op=op, metric=metric):
                    self.assertEqual(self.measure("--op", op, "--metric", metric, "--duration", "200ms", "--verify")[0]["outcome"], "done")

    def test_latency_of_every_operation(self):
        for op, meaning in (("write", "half round trip"), ("send", "half round trip"), ("write_imm", "half round trip"), ("read", "round trip")):
            with self.subTest(op=op):
                m = self.measure("--op", op, "--metric", "latency", "--duration", "200ms")[0]
                self.assertTrue(m["latency_meaning"].startswith(meaning), m["latency_meaning"])
                self.assertGreater(m["latency"]["samples"], 0)
                self.assertEqual(sum(m["sides"][0]["histogram"]["counts"]), m["latency"]["samples"])

    def test_odd_sizes_threads_and_batches(self):
        for arguments in (("--size", "1"), ("--size", "65537"), ("--size", "8M", "--qps", "3"), ("--threads", "2", "--qps", "2"),
                          ("--post-batch", "16", "--size", "64", "--metric", "rate"), ("--iterations", "1000"), ("--events",),
                          ("--mtu", "1024"), ("--inline", "64", "--size", "64"), ("--connect", "socket", "--signal-every", "8")):
            with self.subTest(arguments=arguments):
                how_long = () if "--iterations" in arguments else ("--duration", "200ms")
                m = self.measure(*how_long, "--verify", *arguments)[0]
                self.assertEqual(m["outcome"], "done", m["reason"])

    def test_iterations_are_counted_exactly(self):
        m = self.measure("--iterations", "777", "--qps", "3", "--size", "512", "--warm-up", "0")[0]
        self.assertEqual(m["throughput"]["messages"], 777 * 3)
        self.assertEqual(m["throughput"]["bytes"], 777 * 3 * 512)

    def test_a_limit_asked_for_is_what_is_expected(self):
        m = self.measure("--qps", "8", "--rate-limit", "1G", "--duration", "1s")[0]
        verdict = m["verdict"]
        self.assertEqual(verdict["expected"], 1, verdict)  # of the 400 that the port carries
        self.assertEqual(verdict["limiting_term"], "rate limit 1 Gb/s as asked")
        self.assertEqual([side["path_mtu_bytes"] for side in m["sides"]], [4096, 4096])

    def test_latency_under_load(self):
        m = self.measure("--op", "write", "--metric", "latency", "--under-load", "--duration", "300ms")[0]
        self.assertEqual(m["outcome"], "done", m["reason"])
        self.assertEqual(m["plan"]["load_rate_per_s"], 10000)
        self.assertEqual(m["latency_meaning"], "round trip, from the intended send")
        self.assertEqual(m["latency"]["samples"] + (m["sides"][0]["unsent"] or 0), 3000)  # 300 ms at 10,000 a second

    def test_latency_by_schedule_is_a_round_trip(self):
        for op in ("write", "send"):
            m = self.measure("--op", op, "--metric", "latency", "--load-rate", "2000", "--duration", "200ms")[0]
            self.assertEqual(m["latency_meaning"], "round trip, from the intended send")


if __name__ == "__main__":
    unittest.main()
