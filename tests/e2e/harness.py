"""What the end-to-end suites share: starting railgauge with or without the stand-in verbs library, and judging records."""
import glob
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from schema_check import faults_of  # noqa: E402  (the path above must come first)

PROGRAM = os.environ["RAILGAUGE"]
SIMVERBS = os.environ.get("RAILGAUGE_SIMVERBS", "")
SANITIZE = os.environ.get("RAILGAUGE_SANITIZE", "")
TOKEN = "a-token-of-the-tests-4711"
# A sanitizer build is several times slower; bounds that a person cares about are checked on the plain build.
SLOW = 4 if SANITIZE else 1


def environment(simulated=False, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("RAILGAUGE_") or k.startswith("RAILGAUGE_SIM_")}
    env["RAILGAUGE_TOKEN"] = TOKEN
    if simulated:
        preload = [SIMVERBS]
        if SANITIZE.startswith("address"):
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        if SANITIZE.startswith("thread"):
            env["TSAN_OPTIONS"] = f"suppressions={HERE.parent / 'sim' / 'tsan.supp'}"
        env["LD_PRELOAD"] = ":".join(preload)
    env.update(more)
    return env


def call(*arguments, simulated=False, timeout=60, cwd=None, env=None, **options):
    """Runs railgauge to its end; stdout, stderr, returncode and seconds."""
    begin = time.monotonic()
    done = subprocess.run([PROGRAM, *map(str, arguments)], env=env or environment(simulated), capture_output=True, text=True,
                          timeout=timeout * SLOW, cwd=cwd, stdin=subprocess.DEVNULL, **options)
    done.seconds = time.monotonic() - begin
    return done


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`railgauge serve` on loopback."""

    def __init__(self, *arguments, simulated=False, env=None):
        self.process = subprocess.Popen([PROGRAM, "serve", "--bind", "127.0.0.1", "--port", "0", *arguments],
                                        env=env or environment(simulated), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        if "serves on" not in first:
            raise AssertionError(f"serve said {first!r}: {self.process.stderr.read()}")
        self.port = int(first.strip().rsplit(":", 1)[1])

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        out, err = self.process.communicate(timeout=20 * SLOW)
        return out + err

    def alive(self):
        return self.process.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)


class RailgaugeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name)

    def tearDown(self):
        """Whatever a test wrote is judged, whether it looks at it or not."""
        for path in sorted(self.here.glob("**/*.json")):
            self.judged(path.read_text())

    def need_simverbs(self):
        if not SIMVERBS or not os.path.exists(SIMVERBS):
            self.skipTest("the stand-in verbs library is not built")

    def records(self):
        return sorted(glob.glob(str(self.here / "railgauge-*.json")))

    def only_record(self):
        files = self.records()
        self.assertEqual(len(files), 1, f"records in {self.here}: {files}")
        return self.judged(pathlib.Path(files[0]).read_text())

    def judged(self, text):
        """The record, after the schema has judged it and it was searched for the token."""
        self.assertNotIn(TOKEN, text, "the token stands in the record")
        self.assertEqual(faults_of(text, "record")[:5], [])
        return json.loads(text)

    def assert_no_leftovers(self):
        left = [f for f in os.listdir(self.here) if f.endswith(".tmp")]
        self.assertEqual(left, [])

    def assert_says(self, text, *words):
        for word in words:
            self.assertIn(word, text)
