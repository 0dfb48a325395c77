#!/usr/bin/env python3
"""The main job between two processes: record, report, exit code, time."""
import json
import subprocess
import sys
import unittest

from harness import HERE, PROGRAM, SLOW, Server, RailgaugeTest, call, environment

sys.path.insert(0, str(HERE.parent / "sysroots"))
import make  # noqa: E402  (writes trees of hosts)


class MainJob(RailgaugeTest):
    def test_self_check_on_the_stand_in(self):
        self.need_simverbs()
        done = call("check", "--self", "--quick", simulated=True, cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        record = self.only_record()
        self.assertTrue(record["simulated"])
        self.assert_says(done.stdout.lower(), "simulated")
        # --quick promises 15 s: what is planned leaves a third for connecting. How long it took is the machine's affair.
        windows = [m["plan"]["warm_up_ns"] + m["plan"]["duration_ns"] for m in record["measurements"]]
        self.assertLess(sum(windows), 10e9)
        kinds = {(m["plan"]["transport"], m["plan"]["operation"], m["plan"]["metric"]) for m in record["measurements"]}
        for op in ("write", "read", "send"):
            self.assertIn(("rdma", op, "bandwidth"), kinds)
            self.assertIn(("rdma", op, "latency"), kinds)
        self.assertIn(("rdma", "write", "rate"), kinds)
        self.assertIn(("tcp", "stream", "bandwidth"), kinds)
        self.assertIn(("tcp", "round_trip", "latency"), kinds)
        for m in record["measurements"]:
            self.assertEqual(m["outcome"], "done", m["plan"]["label"] + ": " + m["reason"])

    def test_a_server_tells_each_client_the_facts_of_its_time(self):
        root = self.here / "tree"
        make.a100_roce(make.Tree(root))
        rate = root / "sys/class/infiniband/mlx5_0/ports/1/rate"
        with Server("--sysroot", str(root)) as server:
            for words, gbit_per_s in (("200 Gb/sec (4X HDR)", 200), ("50 Gb/sec (1X HDR)", 50)):
                rate.write_text(words + "\n")
                done = call("tcp", "127.0.0.1", "--port", server.port, "--duration", "50ms", "--interval", "10ms", "--format", "json", cwd=self.here)
                port = self.judged(done.stdout)["nodes"][1]["facts"]["rdma_devices"][0]["ports"][0]
                self.assertEqual(port["rate_gbit_per_s"], gbit_per_s)

    def test_two_processes_share_one_record(self):
        self.need_simverbs()
        with Server(simulated=True) as server:
            done = call("check", "127.0.0.1", "--port", server.port, "--quick", simulated=True, cwd=self.here)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            record = self.only_record()
            self.assertEqual([n["role"] for n in record["nodes"]], ["client", "server"])
            for m in record["measurements"]:
                self.assertEqual([s["role"] for s in m["sides"]], ["client", "server"], m["plan"]["label"])
                self.assertTrue(m["plan"]["verify"], m["plan"]["label"])
                checked = [s["verification"]["checked_bytes"] for s in m["sides"] if s["verification"]]
                self.assertGreater(sum(checked), 0, m["plan"]["label"] + ": nothing was verified")
            self.assertTrue(server.alive())

    def test_without_rdma_the_tcp_part_runs(self):
        done = call("check", "--self", "--quick", cwd=self.here)
        record = self.only_record()
        rdma = [m for m in record["measurements"] if m["plan"]["transport"] == "rdma"]
        tcp = [m for m in record["measurements"] if m["plan"]["transport"] == "tcp"]
        if any(m["outcome"] != "skipped" for m in rdma):
            self.skipTest("this machine has an RDMA device")
        self.assertTrue(rdma and tcp)
        for m in rdma:
            self.assert_says(m["reason"], "rdma_rxe", "scripts/lab")
        for m in tcp:
            self.assertEqual(m["outcome"], "done", m["reason"])
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assert_says(done.stdout, "skipped", "rdma_rxe")

    def test_json_format_prints_the_record_and_nothing_else(self):
        done = call("check", "--self", "--quick", "--no-rdma", "--format", "json", cwd=self.here)
        record = self.judged(done.stdout)
        self.assertEqual(record["exit_code"], done.returncode)
        self.assertEqual(self.records(), [])

    def test_progress_is_plain_when_piped(self):
        done = call("check", "--self", "--quick", "--no-rdma", cwd=self.here)
        self.assertNotIn("\x1b", done.stderr + done.stdout)
        lines = [line for line in done.stderr.splitlines() if line.startswith("[")]
        self.assertEqual(len(lines), len(self.only_record()["measurements"]), done.stderr)

    def test_report_fits_80_columns(self):
        done = call("check", "--self", "--quick", "--no-rdma", cwd=self.here)
        wide = [line for line in done.stdout.splitlines() if len(line) > 80 and "railgauge-" not in line]
        self.assertEqual(wide, [])

    def test_output_names_file_or_folder(self):
        target = self.here / "mine.json"
        done = call("check", "--self", "--quick", "--no-rdma", "--output", target, cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.judged(target.read_text())
        self.assertEqual(self.records(), [])


class Program(RailgaugeTest):
    def test_help_of_every_subcommand(self):
        for command in ("check", "serve", "rdma", "tcp", "rates"):
            done = call(command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assert_says(done.stdout, "Examples", "railgauge " + command)

    def test_name_of_the_program_chooses_the_subcommand(self):
        for name, says in (("railgauge-tcp", "railgauge tcp"), ("railgauge-0.1", "check")):
            link = self.here / name
            link.symlink_to(PROGRAM)
            done = subprocess.run([link, "--help"], capture_output=True, text=True, timeout=10 * SLOW)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_says(done.stdout, says)

    def test_version_names_what_matters(self):
        done = call("--version")
        self.assertEqual(done.returncode, 0)
        self.assert_says(done.stdout, "railgauge", "commit", "compiler", "rdma-core")

    def test_rates_json(self):
        done = call("rates", "--link", "ndr", "--width", "4", "--mtu", "4096", "--pcie", "gen4x16", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        # PCIe gen4 x16 at MaxPayload 256: 16 x 15.754 Gbit/s x 256 / (256 + 24), below the 397 of the port.
        self.assertAlmostEqual(json.loads(done.stdout)["expected_gbit_per_s"], 16 * 16 * 128 / 130 * 256 / 280, places=1)


if __name__ == "__main__":
    unittest.main()
