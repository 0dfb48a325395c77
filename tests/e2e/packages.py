#!/usr/bin/env python3
"""What README's `cpack` makes of this build: the .deb names what it needs, the .tar.gz holds what runs."""
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

BUILD = os.environ["RAILGAUGE_BUILD"]


@unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("file"), "no dpkg-dev here")
class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)

    def pack(self, *arguments):
        return subprocess.run(["cpack", "--config", f"{BUILD}/CPackConfig.cmake", "-B", str(self.here), *arguments],
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)

    def made(self, *arguments):
        """The one package that cpack made."""
        done = self.pack(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        files = [file for file in self.here.glob("railgauge*") if file.is_file()]
        self.assertEqual(len(files), 1, files)
        return files[0]

    def field(self, deb, name):
        return subprocess.run(["dpkg-deb", "-f", deb, name], capture_output=True, text=True, check=True).stdout

    def test_the_deb_names_what_it_needs(self):
        deb = self.made("-G", "DEB")
        depends = self.field(deb, "Depends")
        # The libraries that `ldd` of the program lists, by the names of their packages.
        for package in ("libc6", "libstdc++6", "libfmt", "libibverbs1", "libsodium23"):
            self.assertIn(package, depends)
        # Loaded at run time: a machine without RDMA does without.
        self.assertNotIn("rdmacm", depends)
        self.assertEqual(self.field(deb, "Recommends").strip(), "ibverbs-providers, librdmacm1")
        listed = subprocess.run(["dpkg-deb", "-c", deb], capture_output=True, text=True, check=True).stdout
        for path in ("./usr/bin/railgauge\n", "./usr/bin/railgauge-tcp -> railgauge\n", "/results-schema/record-1.0.json\n"):
            self.assertIn(path, listed)

    def test_the_tar_runs_where_it_is_unpacked(self):
        with tarfile.open(self.made("-G", "TGZ")) as tar:
            tar.extractall(self.here / "unpacked")
        program = next(self.here.glob("unpacked/*/bin/railgauge-rdma"))
        done = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("railgauge", done.stdout)

    def test_no_deb_without_the_tool_that_finds_dependencies(self):
        for variable, package in (("SHLIBDEPS_EXECUTABLE", "dpkg-dev"), ("FILE_EXECUTABLE", "file")):
            done = self.pack("-G", "DEB", "-D", f"{variable}=/no/such/tool")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"needs the package {package}", " ".join(done.stderr.split()))
            self.assertEqual([file for file in self.here.glob("*.deb")], [])


if __name__ == "__main__":
    unittest.main()
