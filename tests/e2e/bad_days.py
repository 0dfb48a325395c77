#!/usr/bin/env python3
"""Bad input, dead peers, full disks: a clear sentence, the right exit code, bounded time, nothing lost, the server lives on."""
import fcntl
import os
import pty
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

from harness import HERE, PROGRAM, SLOW, Server, RailgaugeTest, call, environment, free_port

sys.path.insert(0, str(HERE.parent / "sysroots"))
from tree import Tree, add_host, add_port, add_rdma  # noqa: E402


class Unreachable(RailgaugeTest):
    def failed(self, *arguments, says, within=15, token=None):
        env = environment()
        if token is not None:
            env["RAILGAUGE_TOKEN"] = token
        done = call(*arguments, cwd=self.here, env=env)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assert_says(done.stderr, *says)
        self.assertLess(done.seconds, within * SLOW)
        record = self.only_record()
        self.assertEqual(record["outcome"], "failed")
        self.assertIsNotNone(record["error"])
        return record

    def test_unknown_host(self):
        self.failed("check", "no-such-host.invalid", says=["no-such-host.invalid"])

    def test_closed_port(self):
        port = free_port()
        self.failed("check", "127.0.0.1", "--port", port, says=[str(port), "railgauge serve"])

    def test_wrong_token(self):
        with Server() as server:
            self.failed("check", "127.0.0.1", "--port", server.port, says=["token"], token="another-token-entirely")
            self.assertTrue(server.alive())

    def test_server_that_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.failed("check", "127.0.0.1", "--port", silent.getsockname()[1], says=["127.0.0.1"])

    def test_server_that_talks_http(self):
        with socket.create_server(("127.0.0.1", 0)) as web:
            def answer():
                peer, _ = web.accept()
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 200\r\n\r\n" + b"x" * 400)
                time.sleep(1)
                peer.close()
            threading.Thread(target=answer, daemon=True).start()
            self.failed("check", "127.0.0.1", "--port", web.getsockname()[1], says=["127.0.0.1"])


class ServerOutlives(RailgaugeTest):
    def check_works(self, server):
        done = call("tcp", "127.0.0.1", "--port", server.port, "--duration", "200ms", "--format", "json", cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout[-500:])
        self.judged(done.stdout)

    def test_garbage_silence_and_half_frames(self):
        with Server() as server:
            held = []
            for payload in (b"", b"GET / HTTP/1.0\r\n\r\n", os.urandom(4096), b"RAILGAUG", b"\x16\x03\x01\x02\x00\x01\x00"):
                s = socket.create_connection(("127.0.0.1", server.port))
                s.sendall(payload)
                held.append(s)
            self.check_works(server)
            for s in held:
                s.close()
            self.check_works(server)

    def test_ten_thousand_connects(self):
        count = 10_000 if SLOW == 1 else 2_000
        with Server() as server:
            begin = time.monotonic()
            for _ in range(count):
                socket.create_connection(("127.0.0.1", server.port)).close()
            self.check_works(server)
            self.assertLess(time.monotonic() - begin, 60 * SLOW)

    def test_second_client_is_told_busy(self):
        with Server() as server:
            first = subprocess.Popen([PROGRAM, "tcp", "127.0.0.1", "--port", str(server.port), "--duration", "3s", "--format", "json"],
                                     env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.here)
            time.sleep(1)
            second = call("tcp", "127.0.0.1", "--port", server.port, "--duration", "1s", cwd=self.here)
            self.assertEqual(second.returncode, 3)
            self.assert_says(second.stderr, "busy with", "for about")
            self.assertEqual(first.wait(30 * SLOW), 0)
            self.check_works(server)



class Interrupted(RailgaugeTest):
    def partial(self, record):
        self.assertEqual(record["outcome"], "partial")
        self.assertEqual(record["exit_code"], 3)
        self.assert_no_leftovers()

    def start(self, server, *arguments, simulated=False):
        return subprocess.Popen([PROGRAM, *arguments, "127.0.0.1", "--port", str(server.port)], env=environment(simulated),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.here)

    def test_ctrl_c_on_the_client_keeps_the_record(self):
        with Server() as server:
            client = self.start(server, "tcp", "--duration", "30s")
            time.sleep(2)
            client.send_signal(signal.SIGINT)
            begin = time.monotonic()
            out, err = client.communicate(timeout=30 * SLOW)
            self.assertLess(time.monotonic() - begin, 5 * SLOW)
            self.assertEqual(client.returncode, 3, out + err)
            record = self.only_record()
            self.partial(record)
            self.assertEqual(record["measurements"][0]["outcome"], "partial")
            self.assertTrue(server.alive())

    def test_ctrl_c_while_connecting_ends_at_once(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = subprocess.Popen([PROGRAM, "check", "127.0.0.1", "--port", str(silent.getsockname()[1])], env=environment(),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.here)
            time.sleep(0.7 * SLOW)
            client.send_signal(signal.SIGINT)
            begin = time.monotonic()
            out, err = client.communicate(timeout=20 * SLOW)
            self.assertLess(time.monotonic() - begin, 1.5 * SLOW)
            self.assertEqual(client.returncode, 3, out + err)
            self.assert_says(self.only_record()["error"]["text"], "stopped on this host")

    def test_ctrl_c_on_the_server_ends_both(self):
        with Server() as server:
            client = self.start(server, "tcp", "--duration", "30s")
            time.sleep(2)
            server.process.send_signal(signal.SIGINT)
            out, err = client.communicate(timeout=20 * SLOW)
            self.assertEqual(client.returncode, 3, out + err)
            self.partial(self.only_record())
            self.assertEqual(server.process.wait(10 * SLOW), 0)


class DeviceFaults(RailgaugeTest):
    def test_a_refusal_on_the_server_costs_one_measurement_and_no_time(self):
        """The server's failure is an answer: the client waited 30 s for another one and gave the conversation up."""
        self.need_simverbs()
        with Server(simulated=True, env=environment(True, RAILGAUGE_SIM_FAULTS="fail reg_mr errno 12")) as server:
            done = call("rdma", "127.0.0.1", "--port", server.port, "--size", "64,4K", "--duration", "100ms", simulated=True, cwd=self.here)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertLess(done.seconds, 6 * SLOW)
            record = self.only_record()
            self.assertEqual(record["outcome"], "done")
            self.assertEqual([m["outcome"] for m in record["measurements"]], ["failed", "failed"])
            for m in record["measurements"]:
                self.assert_says(m["reason"], "reg_mr", "Cannot allocate memory")


class NoPermission(RailgaugeTest):
    def test_a_device_that_may_not_be_opened_is_named_with_the_reason(self):
        self.need_simverbs()
        env = environment(True, RAILGAUGE_SIM_FAULTS="fail open errno 13")
        done = call("rdma", "--self", "--duration", "100ms", env=env, cwd=self.here)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assert_says(self.only_record()["measurements"][0]["reason"], "sim0", "Permission denied")

    def test_nor_is_it_left_out_where_sysfs_shows_its_port(self):
        """The device is there and its port ACTIVE, so that a check must not be met by its TCP part alone."""
        self.need_simverbs()
        tree = Tree(self.here / "tree")
        add_host(tree, "alpha")
        add_port(tree, add_rdma(tree, "sim0", "/sys/devices/sim0", "0200:5200:0000:0001"), 1, "4: ACTIVE", "5: LinkUp", "200 Gb/sec (4X HDR)", "Ethernet",
                 gids=[("0000:0000:0000:0000:0000:ffff:7f00:0001", "RoCE v2", "lo")])
        env = environment(True, RAILGAUGE_SIM_FAULTS="fail open errno 13")
        for arguments in (("rdma", "--duration", "100ms"), ("check", "--quick")):
            done = call(*arguments, "--self", "--sysroot", tree.root, "--format", "json", env=env, cwd=self.here)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            m = self.judged(done.stdout)["measurements"][0]
            self.assertEqual(m["outcome"], "failed")
            self.assert_says(m["reason"], "sim0", "Permission denied", "group rdma")


class Placement(RailgaugeTest):
    def test_cpus_and_nodes_that_are_not_there(self):
        self.need_simverbs()
        with Server(simulated=True) as server:
            for option, kind in (("--cpu", "CPUs"), ("--peer-cpu", "CPUs"), ("--numa", "NUMA nodes"), ("--peer-numa", "NUMA nodes")):
                done = call("rdma", "127.0.0.1", "--port", server.port, option, "987", "--format", "json", simulated=True, cwd=self.here)
                self.assertEqual(done.returncode, 2, f"{option}: {done.stderr}")
                self.assert_says(self.judged(done.stdout)["measurements"][0]["reason"], f"{option} 987", kind)


class OneAfterTheOther(RailgaugeTest):
    def test_the_next_client_finds_the_server_free(self):
        self.need_simverbs()
        with Server(simulated=True) as server:
            for _ in range(6):  # many QPs and threads: freeing them takes the server a while
                done = call("rdma", "127.0.0.1", "--port", server.port, "--threads", "40", "--size", "64", "--duration", "20ms", "--interval", "10ms",
                            "--warm-up", "0", "--format", "json", simulated=True, cwd=self.here)
                self.assertNotIn("busy", done.stderr)
                self.assertEqual(done.returncode, 0, done.stderr)


class Terminals(RailgaugeTest):
    def on_a_terminal(self, term, *arguments):
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        done = subprocess.Popen([PROGRAM, "tcp", "--self", *(arguments or ("-b", "--duration", "400ms"))], env=environment(TERM=term), cwd=self.here,
                                stdin=subprocess.DEVNULL, stdout=side, stderr=side)
        os.close(side)
        text = b""
        try:
            while chunk := os.read(main, 4096):
                text += chunk
        except OSError:  # the other end is closed
            pass
        os.close(main)
        self.assertEqual(done.wait(30 * SLOW), 0, text)
        return text.decode()

    def test_a_live_line_keeps_to_80_columns(self):
        text = self.on_a_terminal("xterm")
        self.assertIn("\x1b[K", text)
        for line in re.split(r"[\r\n]+|\x1b\[K", text):
            self.assertLessEqual(len(re.sub(r"\x1b\[[0-9;]*m", "", line)), 80, line)

    def test_a_dumb_terminal_gets_no_escapes(self):
        self.assertNotIn("\x1b", self.on_a_terminal("dumb"))

    def test_a_latency_lives_too(self):
        self.assertRegex(self.on_a_terminal("xterm", "--metric", "latency", "--duration", "1s"), r" [1-9]\d* round trips/s")


class NothingCounted(RailgaugeTest):
    def test_a_rate_of_nothing_is_a_failure(self):
        self.need_simverbs()
        done = call("rdma", "--self", "--rate-limit", "1K", "--warm-up", "10ms", "--duration", "100ms", simulated=True, cwd=self.here)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assert_says(self.only_record()["measurements"][0]["reason"], "nothing was counted")


class FullDisk(RailgaugeTest):
    def test_record_goes_to_a_file_when_stdout_takes_nothing(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "check", "--self", "--quick", "--no-rdma", "--format", "json"], env=environment(), cwd=self.here,
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=60 * SLOW)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assert_says(done.stderr, "stdout did not take the record", "instead")
        self.only_record()

    def test_closed_standard_descriptors_are_not_mixed_up_with_sockets(self):
        """The descriptor that log lines go to would be a socket's."""
        def close_all():
            for fd in (0, 1, 2):
                os.close(fd)
        done = subprocess.run([PROGRAM, "check", "--self", "--quick", "--no-rdma"], env=environment(), cwd=self.here, preexec_fn=close_all,
                              timeout=60 * SLOW)
        self.assertEqual(done.returncode, 3)  # nobody got the report
        record = self.only_record()
        self.assertEqual({m["outcome"] for m in record["measurements"]}, {"done"})

    def test_record_goes_to_stdout_when_the_file_cannot_be_written(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        done = call("check", "--self", "--quick", "--no-rdma", cwd=self.here, preexec_fn=small_files)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assert_says(done.stderr, "File too large", "stdout")
        self.judged(done.stdout[done.stdout.index("\n{") + 1:])
        self.assertEqual(self.records(), [])
        self.assert_no_leftovers()


if __name__ == "__main__":
    unittest.main()
