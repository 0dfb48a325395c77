#!/usr/bin/env python3
"""Options that are wrong, contradict each other or would be ignored: one sentence, the right exit code, nothing measured."""
import subprocess
import unittest

from harness import PROGRAM, SLOW, TOKEN, RailgaugeTest, call, environment


class Usage(RailgaugeTest):
    def refused(self, *arguments, says):
        done = call(*arguments, cwd=self.here)
        self.assertEqual(done.returncode, 2, f"{arguments}: {done.stdout}{done.stderr}")
        self.assert_says(done.stdout + done.stderr, *says)
        self.assertLess(done.seconds, 3 * SLOW)
        self.assertEqual(self.records(), [])

    def test_bad_options(self):
        self.refused("rdma", "h", "--size", "12abc", says=["12abc"])
        self.refused("rdma", "h", "--size", "0", says=["0"])
        self.refused("rdma", "h", "--depth", "100", "--post-batch", "16", says=["100", "16"])
        self.refused("rdma", "h", "--op", "scribble", says=["scribble", "write"])
        self.refused("rdma", "h", "--op", "fetch_add", "--size", "16", says=["16", "8"])
        self.refused("tcp", "h", "--duration", "1sec", says=["1sec"])
        self.refused("tcp", "h", "--streams", "0", says=["streams"])
        self.refused("rdma", "h", "--depth", "0", says=["--depth 0"])
        self.refused("tcp", "h", "--metric", "latency", "--wait", "block", "--load-rate", "1000", says=["--wait block", "--load-rate"])
        self.refused("check", "h", "--mtu", "1000", says=["--mtu 1000", "1024"])
        self.refused("check", "h", "--gid-index", "-2", says=["--gid-index -2"])
        self.refused("check", "h", "--streams", "1", says=["streams"])
        self.refused("check", "h", "--require-p50", "2.5", says=["--require-p50 2.5", "2.5us"])
        self.refused("check", "h", "--require-p99", "0us", says=["--require-p99 0us"])
        self.refused("check", "h", "--sysroot", "/dev/null", says=["--sysroot /dev/null", "no directory"])
        self.refused("check", "h", "--no-rdma", "--mtu", "1024", says=["--mtu", "--no-rdma"])
        self.refused("check", "h", "--no-tcp", "--streams", "4", says=["--streams", "--no-tcp"])
        self.refused("check", "h", "--no-rdma", "--no-tcp", says=["no-rdma", "no-tcp"])
        self.refused("check", says=["HOST"])
        self.refused("nonsense", says=["nonsense"])

    def test_numbers_mean_what_they_say(self):
        """CLI11 reads 010 as 8, -1 as 2^64 - 1 and 10^30 as 2^64 - 1."""
        self.refused("rdma", "h", "--qps", "010", says=["--qps", '"010"', "whole number"])
        self.refused("serve", "--max-runs=-1", says=["--max-runs", '"-1"'])
        self.refused("serve", "--max-runs", "1" + "0" * 30, says=["--max-runs", "out of range"])
        self.refused("tcp", "h", "--metric", "latency", "--load-rate", "nan", says=["--load-rate", '"nan"'])
        self.refused("rates", "--link", "1" + "0" * 30, says=["--link"])
        self.refused("tcp", "h", "--port", "0", says=["--port 0"])
        self.refused("serve", "--idle-exit", "0", says=["--idle-exit 0"])
        self.refused("serve", "--max-memory", "0", says=["--max-memory 0"])

    def test_empty_values_are_not_absent_ones(self):
        self.refused("rdma", "h", "--size", "", says=["--size", "empty"])
        self.refused("rdma", "h", "-s", "", says=["-s", "empty"])
        self.refused("check", "h", "--token=", says=["--token", "empty"])

    def test_terminal_escapes_are_not_passed_on(self):
        done = call("rdma", "h", "--qps", "\x1b[31mred", cwd=self.here)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("\x1b", done.stderr)
        self.assert_says(done.stderr, "\\x1b[31mred", "--help")

    def test_open_and_a_token_exclude_each_other(self):
        self.refused("serve", "--open", "--token", TOKEN, says=["--open", "token"])

    def test_an_empty_token_variable_does_not_open_the_server(self):
        done = call("serve", "--port", "0", "--idle-exit", "50ms", env=environment(RAILGAUGE_TOKEN=""))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_says(done.stdout, "token  ", "for this run of serve")

    def test_a_place_that_takes_no_record_is_refused_before_measuring(self):
        self.refused("tcp", "h", "--output", "n" * 300 + ".json", says=["--output", "File name too long"])
        self.refused("tcp", "h", "--output", "/proc/x.json", says=["--output", "/proc/x.json"])

    def test_output_that_exists_is_kept(self):
        path = self.here / "kept.txt"
        path.write_text("mine")
        done = call("check", "--self", "--quick", "--no-rdma", "--output", path, cwd=self.here)
        self.assertEqual(done.returncode, 2)
        self.assert_says(done.stderr, "exists")
        self.assertEqual(path.read_text(), "mine")
        self.assertLess(done.seconds, 3 * SLOW, "it should say so before measuring")

    def test_what_would_be_ignored_is_refused(self):
        self.refused("rdma", "h", "-D", "1s", "-n", "100", says=["--duration excludes --iterations"])
        self.refused("rdma", "h", "--max-reads", "4", says=["--max-reads 4", "--op write", "read, fetch_add"])
        self.refused("rdma", "h", "--connect", "rdma_cm", "--sl", "3", says=["--sl 3", "rdma_cm", "--traffic-class"])
        self.refused("rdma", "h", "--connect", "rdma_cm", "-x", "3", says=["--gid-index 3", "rdma_cm", "--peer-gid-index"])
        self.refused("rdma", "h", "--metric", "latency", "--working-set", "1M", says=["--working-set", "--metric latency"])
        self.refused("tcp", "h", "--metric", "latency", "--interval", "1s", says=["--interval", "--metric latency"])
        self.refused("tcp", "h", "--require-p50", "3us", says=["--require-p50", "--metric bandwidth"])
        self.refused("rdma", "h", "--metric", "rate", "--require-p99", "3us", says=["--require-p99", "--metric rate"])
        self.refused("tcp", "h", "--metric", "latency", "--require-rate", "3G", says=["--require-rate", "--metric latency"])

    def test_a_refusal_names_the_option_that_was_typed(self):
        self.refused("rdma", "h", "-D", "0", says=["--duration 0"])
        self.refused("tcp", "h", "--streams", "4096", says=["--streams 4096", "1024"])
        self.refused("rdma", "h", "--peer-gid-index=-4", says=["--peer-gid-index -4"])
        self.refused("rdma", "h", "--peer-device", "a/b", says=['--peer-device "a/b"'])
        self.refused("rdma", "h", "--qps", "4294967296", says=["--qps", "4294967296 is out of range"])
        self.refused("tcp", "h", "--port", "70000", says=["--port", "70000", "65535"])
        self.refused("rdma", "h", "--op", "stream", says=['"stream"', "write, write_imm, read, send, fetch_add, compare_swap"])
        self.refused("rdma", "h", "--rate-limit", "25x", says=["--rate-limit", "25G", "Gbit/s"])
        self.refused("tcp", "h", "--window", "1G", says=["--window 1 GiB", "4K to 1023M"])
        self.refused("tcp", "h", "--window", "1K", says=["--window 1 KiB", "4K to 1023M"])
        self.refused("tcp", "h", "--output", "-", says=["--output -", "--format json"])

    def test_one_limit_for_tokens_wherever_they_come_from(self):
        """A thousand bytes and more are no slip of the hand, but a wrong file."""
        path = self.here / "token"
        path.write_text("x" * 1025)
        self.refused("tcp", "h", "--token-file", path, says=["--token-file", "longer than 1024 bytes"])
        self.refused("tcp", "h", "--token", "x" * 1025, says=["--token", "longer than 1024 bytes"])
        done = call("tcp", "h", env=environment(RAILGAUGE_TOKEN="x" * 1025), cwd=self.here)
        self.assertEqual(done.returncode, 2)
        self.assert_says(done.stderr, "RAILGAUGE_TOKEN", "longer than 1024 bytes")

    def test_a_setting_that_the_host_has_not_is_no_skip(self):
        def reason(code, *arguments):
            done = call("tcp", "--self", "--duration", "50ms", "--interval", "10ms", "--format", "json", *arguments, cwd=self.here)
            self.assertEqual(done.returncode, code, done.stderr)
            return self.judged(done.stdout)["measurements"][0]["reason"]
        self.assert_says(reason(3, "--congestion", "nosuch"), "TCP_CONGESTION", '"nosuch"', "modprobe tcp_nosuch")
        self.assert_says(reason(2, "--interface", "nosuch0"), "--interface nosuch0", "lo")
        self.assert_says(reason(2, "--peer-interface", "nosuch0"), "--peer-interface nosuch0", "lo")

    def test_verbose_shows_what_the_two_sides_say(self):
        for verbose in ((), ("-v",)):
            done = call(*verbose, "tcp", "--self", "--duration", "50ms", "--interval", "10ms", cwd=self.here)
            self.assertEqual(done.returncode, 0, done.stderr)
            for words in ("control protocol 1.0", "prepare of", "bytes sent", "result of", "bytes received"):
                self.assertEqual(words in done.stderr, verbose != (), words)

    def test_help_that_nobody_gets_is_a_failure(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "rdma", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=10 * SLOW)
        self.assertEqual(done.returncode, 3)
        self.assert_says(done.stderr, "stdout")
        self.assertEqual(call("--help").returncode, 0)

    def test_serve_says_how_it_is_called(self):
        for bind, name in (("::1", "check ::1 "), ("127.0.0.2", "check 127.0.0.2 ")):
            done = call("serve", "--bind", bind, "--port", "0", "--idle-exit", "50ms")
            if "no address of this host" in done.stderr:
                continue  # no IPv6 here
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_says(done.stdout, name)


if __name__ == "__main__":
    unittest.main()
