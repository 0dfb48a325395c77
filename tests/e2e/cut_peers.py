#!/usr/bin/env python3
"""A relay between a real client and a real server that cuts or freezes their conversation at every step of the protocol: both
notice in time and say so, the record is written, and the server serves the next client.

Each case has a server and a stand-in device of its own, so that several run at a time: they mostly wait."""
import concurrent.futures
import queue
import re
import socket
import struct
import threading
import time
import unittest

from harness import SLOW, Server, RailgaugeTest, call, environment

# Silence is noticed after 4 s, in the handshake after 5 s (control/protocol.h, connect.cc); what is in flight then drains for 2 s at
# most; the rest is for a machine that eight cases at a time keep busy.
NOTICED = 15 * SLOW
AT_A_TIME = 8
HELLO, PROOF, HEADER, MAC = 128, 48, 20, 32     # lib/control/README.md, the wire format
HEARTBEAT, RESULT, BYE = 1, 11, 14              # control/protocol.h, MessageType
HANDSHAKE = 3                                   # blocks each way: hello, proof, and the server's welcome
# What either side says of the other, which it names.
WHY = {False: re.compile(r"127\.0\.0\.1:\d+\)? (closed the connection|ended the conversation|is lost)"),
       True: re.compile(r"no sign of life from \S*127\.0\.0\.1|127\.0\.0\.1:\d+\)? .*in (the )?time")}
RUN = ("--op", "write", "--size", "4K", "--warm-up", "0", "--duration", "100ms", "--interval", "20ms")


class Relay:
    """Passes one connection on, block by block: hello, proof, then frames; heartbeats pass uncounted. After `block` blocks towards
    `towards` it closes both sides or falls silent."""

    def __init__(self, port, towards=None, block=None, silent=False):
        self.target, self.towards, self.block, self.silent = port, towards, block, silent
        self.seen = {"server": [], "client": []}
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = [self.listener]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            return
        self.sockets += [client, server]
        self.look()
        for source, sink, towards in ((client, server, "server"), (server, client, "client")):
            threading.Thread(target=self.pass_on, args=(source, sink, towards), daemon=True).start()

    def pass_on(self, source, sink, towards):
        try:
            while not self.over.is_set():
                kind, data = self.next_block(source, len(self.seen[towards]))
                if self.over.is_set():
                    return
                sink.sendall(data)
                if kind != HEARTBEAT:
                    self.seen[towards].append(kind)
                self.look()
        except (OSError, EOFError):
            if not (self.silent and self.over.is_set()):
                self.close()

    @staticmethod
    def next_block(source, number):
        if number < 2:
            return ("hello", "proof")[number], receive(source, (HELLO, PROOF)[number])
        header = receive(source, HEADER)
        return header[8], header + receive(source, struct.unpack(">I", header[4:8])[0] + MAC)

    def look(self):
        if self.towards and len(self.seen[self.towards]) >= self.block and not self.over.is_set():
            self.over.set()
            if not self.silent:
                self.close()

    def close(self):
        self.over.set()
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def receive(source, count):
    data = b""
    while len(data) < count:
        chunk = source.recv(count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


class CutPeers(RailgaugeTest):
    def setUp(self):
        super().setUp()
        self.need_simverbs()

    def environment_of(self, place):
        """A device of its own: the lock that keeps two measurements off one NIC goes by its name, and so does the lock's file."""
        path = self.here / f"{place}.conf"
        path.write_text(f"[device cut_{place}]\n")
        return environment(True, RAILGAUGE_SIM_DEVICE=str(path), RAILGAUGE_SIM_FABRIC=f"cut-{place}")

    def client(self, port, env):
        return call("rdma", "127.0.0.1", "--port", port, *RUN, "--format", "json", env=env, cwd=self.here)

    def whole_run(self):
        """What passes in each direction when nothing is cut."""
        env = self.environment_of(0)
        with Server(env=env) as server, Relay(server.port) as relay:
            done = self.client(relay.port, env)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(relay.seen["client"][-1], RESULT)
        self.assertEqual(relay.seen["server"][-1], BYE)
        return relay.seen

    def cut(self, case):
        """One case; what is wrong with it, or None."""
        place = self.places.get()
        try:
            fault = self.fault_of(case, self.environment_of(place))
        finally:
            self.places.put(place)
        return f"{case}: {fault}" if fault else None

    def fault_of(self, case, env):
        towards, block, complete, silent = case
        with Server(env=env) as server:
            with Relay(server.port, towards, block, silent) as relay:
                done = self.client(relay.port, env)
                fault = self.fault_of_client(done, complete, silent)
                # While the relay is still there, or its end would tell the server.
                begin = time.monotonic()
                next_one = self.client(server.port, env)
                while next_one.returncode != 0 and "busy" in next_one.stderr and time.monotonic() - begin < NOTICED:
                    time.sleep(0.1)
                    next_one = self.client(server.port, env)
            fault = fault or (next_one.returncode != 0 and f"the next client: {next_one.returncode}: {next_one.stderr}")
            fault = fault or (not server.alive() and "the server has ended")
            log = server.stop()
            if not complete and block > HANDSHAKE and not WHY[silent].search(log):
                fault = fault or "the server does not say why"
            return f"{fault}\n{log}" if fault else None

    def fault_of_client(self, done, complete, silent):
        if done.seconds > NOTICED:
            return f"the client took {done.seconds:.1f} s"
        # After the last block either side may have all it needs, or see the end first: both are true.
        if done.returncode != 3 and not (complete and done.returncode == 0):
            return f"the client's exit code is {done.returncode}: {done.stderr}"
        record = self.judged(done.stdout)
        if done.returncode == 0:
            return None
        texts = [m["reason"] for m in record["measurements"]] + [(record["error"] or {}).get("text", "")]
        return None if any(WHY[silent].search(t) for t in texts) else f"no sentence of the record names peer and cause: {texts}"

    def all_cases(self, silent):
        seen = self.whole_run()
        cases = []
        for towards, kinds in seen.items():
            for block in range(len(kinds) + 1):
                # The last to the client is the result, after which it needs nothing more; the last to the server is its bye.
                cases.append((towards, block, block == len(kinds), silent))
        return cases

    def try_all(self, silent):
        self.places = queue.Queue()
        for place in range(AT_A_TIME):
            self.places.put(place)
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            faults = [f for f in pool.map(self.cut, self.all_cases(silent)) if f]
        self.assertEqual(faults, [], "\n".join(faults))

    def test_a_conversation_cut_at_each_step(self):
        self.try_all(silent=False)

    def test_a_conversation_that_falls_silent_at_each_step(self):
        self.try_all(silent=True)


if __name__ == "__main__":
    unittest.main()
