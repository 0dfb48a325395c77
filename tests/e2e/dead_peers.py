#!/usr/bin/env python3
"""Peers that die or freeze, limits that are reached, terminals that close: noticed in 5 s, and what was measured is kept."""
import signal
import subprocess
import time
import unittest

from harness import PROGRAM, SLOW, Server, RailgaugeTest, call, environment

# The promise is 5 s; another second for a busy machine and the end of the process.
NOTICED = 6 * SLOW


class DeadPeers(RailgaugeTest):
    def start(self, server, *arguments, simulated=False):
        """A client that has been measuring for 2 s: counted from its run's start, which a busy machine reaches late."""
        log = self.here / "client.log"
        with open(log, "w") as err:
            client = subprocess.Popen([PROGRAM, "-v", *arguments, "127.0.0.1", "--port", str(server.port)], env=environment(simulated),
                                      stdout=err, stderr=err, cwd=self.here)
        end = time.monotonic() + 60 * SLOW
        while "start of 0 bytes received" not in log.read_text():
            if client.poll() is not None or time.monotonic() > end:
                client.kill()
                client.wait()
                self.fail("the run did not start: " + log.read_text())
            time.sleep(0.05)
        time.sleep(2 * SLOW)
        return client

    def partial_after(self, how, *arguments, simulated=False):
        """The client's record, its server having been sent the signal `how` 2 s into the run."""
        server = Server(simulated=simulated)
        try:
            client = self.start(server, *arguments, "--duration", "30s", simulated=simulated)
            server.process.send_signal(how)
            begin = time.monotonic()
            client.wait(timeout=60 * SLOW)
            self.assertLess(time.monotonic() - begin, NOTICED, "a vanished peer must be noticed within 5 s")
            self.assertEqual(client.returncode, 3, (self.here / "client.log").read_text())
        finally:
            server.stop(signal.SIGKILL)
        record = self.only_record()
        self.assertEqual(record["outcome"], "partial")
        self.assertEqual(record["measurements"][0]["outcome"], "partial")
        self.assert_no_leftovers()
        for path in self.records():
            self.here.joinpath(path).unlink()
        return record["measurements"][0]

    def test_a_server_killed(self):
        m = self.partial_after(signal.SIGKILL, "tcp")
        self.assertGreater(m["throughput"]["bytes"], 0)

    def test_a_server_killed_during_rdma(self):
        self.need_simverbs()
        for arguments in (("--op", "write"), ("--op", "write", "-b"), ("--op", "send", "-b")):
            m = self.partial_after(signal.SIGKILL, "rdma", *arguments, simulated=True)
            self.assertGreater(m["throughput"]["bytes"], 0, arguments)
        m = self.partial_after(signal.SIGKILL, "rdma", "--metric", "latency", simulated=True)
        self.assertGreater(m["latency"]["samples"], 0)

    def test_a_server_frozen(self):
        m = self.partial_after(signal.SIGSTOP, "tcp")
        self.assert_says(m["reason"], "no sign of life")
        self.assertGreater(m["throughput"]["bytes"], 0)

    def test_a_server_frozen_during_rdma(self):
        """Writes and a latency by memory: what the frozen process of the stand-in holds meanwhile stops nobody."""
        self.need_simverbs()
        m = self.partial_after(signal.SIGSTOP, "rdma", "--op", "write", simulated=True)
        self.assert_says(m["reason"], "no sign of life")
        self.assertGreater(m["throughput"]["bytes"], 0)

    def server_is_free_after(self, how, *arguments, simulated=False):
        with Server(simulated=simulated) as server:
            client = self.start(server, *arguments, "--duration", "30s", simulated=simulated)
            client.send_signal(how)
            begin = time.monotonic()
            try:
                done = None
                while time.monotonic() - begin < 2 * NOTICED:
                    done = call("tcp", "127.0.0.1", "--port", server.port, "--duration", "50ms", "--interval", "10ms", "--format", "json", cwd=self.here)
                    if done.returncode == 0:
                        break
                    self.assert_says(done.stderr, "busy")
                    time.sleep(0.2)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertLess(time.monotonic() - begin, NOTICED + 1, "a vanished client must be noticed within 5 s")
            finally:
                client.kill()
                client.wait()

    def test_a_client_killed_or_frozen(self):
        for how in (signal.SIGKILL, signal.SIGSTOP):
            self.server_is_free_after(how, "tcp")

    def test_a_client_killed_or_frozen_during_rdma(self):
        self.need_simverbs()
        for how in (signal.SIGKILL, signal.SIGSTOP):
            self.server_is_free_after(how, "rdma", "--op", "write", simulated=True)


class Ends(RailgaugeTest):
    def test_a_closed_terminal_keeps_the_record(self):
        with Server() as server:
            client = subprocess.Popen([PROGRAM, "tcp", "127.0.0.1", "--port", str(server.port), "--duration", "30s"], env=environment(),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.here,
                                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
            time.sleep(1.5 * SLOW)
            client.send_signal(signal.SIGHUP)
            out, err = client.communicate(timeout=20 * SLOW)
            self.assertEqual(client.returncode, 3, out + err)
            self.assertEqual(self.only_record()["outcome"], "partial")
            self.assertTrue(server.alive())

    def test_nohup_is_heeded(self):
        client = subprocess.Popen([PROGRAM, "tcp", "--self", "--duration", "1s", "--format", "json"], env=environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, cwd=self.here, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        time.sleep(0.5)
        client.send_signal(signal.SIGHUP)
        out, err = client.communicate(timeout=20 * SLOW)
        self.assertEqual(client.returncode, 0, err)
        self.assertEqual(self.judged(out)["outcome"], "done")

    def test_the_servers_longest_duration_holds_for_runs_by_count(self):
        with Server("--max-duration", "1s") as server:
            done = call("tcp", "127.0.0.1", "--port", server.port, "-n", "1000000000", "--format", "json", cwd=self.here)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertLess(done.seconds, 6 * SLOW)
            m = self.judged(done.stdout)["measurements"][0]
            self.assertEqual(m["outcome"], "partial")
            self.assert_says(m["reason"], "--iterations 1000000000", "1.00 s", "--max-duration")
            self.assertGreater(m["throughput"]["bytes"], 0)
            self.assertEqual(call("tcp", "127.0.0.1", "--port", server.port, "-n", "100", cwd=self.here).returncode, 0)

    def test_what_fails_alike_is_logged_once(self):
        with Server("--max-duration", "1s") as server:
            done = call("tcp", "127.0.0.1", "--port", server.port, "-s", "1K,2K,4K", "-D", "2s", cwd=self.here)
            self.assertEqual(done.returncode, 2, done.stderr)
            log = server.stop()
            self.assertEqual(log.count("prepare failed"), 1, log)
            self.assert_says(log, "the same 2 times more")


if __name__ == "__main__":
    unittest.main()
