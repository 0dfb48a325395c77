#!/usr/bin/env python3
"""A link that no CPU can fill, rehearsed: the described device's pace without its payload. What the link should carry, the term
that limits it and the cause are those of the description; a stand-in gets no hardware verdict (exit 0), whatever its figures."""
import sys
import unittest

from harness import HERE, RailgaugeTest, call, environment

sys.path.insert(0, str(HERE.parent / "sysroots"))

from tree import Tree, add_host, add_pci, add_port, add_rdma, pci_config  # noqa: E402  (the path above must come first)

# 1 MiB in 256 packets of 4096 B: LRH 8 + BTH 12 + ICRC 4 + VCRC 2 + delimiters 2 a packet, RETH 16 a message (reference: IBA
# volume 1, sections 7.7 to 9.3).
SHARE = 1048576 / (1048576 + 256 * 28 + 16)
RUN = ("rdma", "--self", "--op", "write", "--size", "1M", "--qps", "8", "--duration", "400ms", "--interval", "20ms", "--format", "json")


class Rehearsal(RailgaugeTest):
    def setUp(self):
        super().setUp()
        self.need_simverbs()

    def rehearse(self, port, *arguments, faults=""):
        """The one measurement of a device mlx5_0 with that port."""
        path = self.here / "device"
        path.write_text("[device mlx5_0]\npaced = yes\npayload = short\n[port 1]\nlink_layer = infiniband\n" + port)
        env = environment(True, RAILGAUGE_SIM_DEVICE=str(path), RAILGAUGE_SIM_FAULTS=faults)
        done = call(*RUN, *arguments, env=env, cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr)
        record = self.judged(done.stdout)
        self.assertTrue(record["simulated"])
        self.assertEqual(record["verdict"]["word"], "no_criterion")
        m, = record["measurements"]
        self.assertEqual((m["outcome"], m["verdict"]["criterion"]), ("done", "simulated"), m)
        return m

    def expects(self, m, gbit_per_s, term):
        verdict = m["verdict"]
        self.assertAlmostEqual(verdict["expected"], gbit_per_s, places=2)
        self.assertIn(term, verdict["limiting_term"])
        self.assertAlmostEqual(verdict["fraction"], verdict["observed"] / gbit_per_s, places=4)

    def met_or_the_machine_is_named(self, m, *cause):
        """The pace is the description's, and so is the cause; a machine too busy to keep it says that, and does not blame the link."""
        verdict = m["verdict"]
        if verdict["word"] in ("met", "marginal"):
            self.assert_says(verdict["cause"], *cause)
        else:
            self.assertRegex(verdict["cause"], "CPU|not steady")

    def test_ndr_400(self):
        m = self.rehearse("link = 4X NDR\n")
        self.expects(m, 400 * SHARE, "port 400 Gb/s (4X NDR) of mlx5_0")
        self.met_or_the_machine_is_named(m)

    def test_a_link_that_came_up_at_half_width(self):
        m = self.rehearse("link = 2X EDR\n")
        self.expects(m, 50 * SHARE, "port 50 Gb/s (2X EDR) of mlx5_0")
        self.met_or_the_machine_is_named(m, "mlx5_0 port 1", "2 of 4 lanes")

    def test_half_the_rate_is_below(self):
        """Faults make the pace half the described one, which no machine can exceed."""
        m = self.rehearse("link = 4X EDR\n", faults="slow 0.5")
        self.expects(m, 100 * SHARE, "port 100 Gb/s (4X EDR) of mlx5_0")
        self.assertLessEqual(m["verdict"]["fraction"], 0.55)
        self.assertIn(m["verdict"]["word"], ("below", "inconclusive"))

    def test_a_slot_that_is_narrower_than_the_port(self):
        """400 Gb/s behind PCIe 3.0 x16: 8 GT/s x 16 x 128/130, in completions of 256 B with 24 B around each (rates/pcie.h)."""
        slot = 8 * 16 * 128 / 130 * 256 / (256 + 24)
        tree = Tree(self.here / "root")
        add_host(tree, "rehearsal")
        gen3 = ("8.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16)
        pci = add_pci(tree, ["0000:40:01.1", "0000:41:00.0"], 0, "0-15", [gen3, gen3], pci_config(0x5936, 3, 16, 5, 16))
        device = add_rdma(tree, "mlx5_0", pci, "0c42:a103:0091:be54", uverbs=0, fw_ver="28.39.1002", hca_type="MT4129")
        add_port(tree, device, 1, "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "InfiniBand", lid="0x1")
        m = self.rehearse(f"link = 4X NDR\nrate = {slot:.1f}\n", "--sysroot", tree.root)
        self.expects(m, slot, "PCIe 8 GT/s x16 at 0000:41:00.0")
        self.met_or_the_machine_is_named(m, "0000:41:00.0", "less than the 397.3", "port 400 Gb/s (4X NDR)")


if __name__ == "__main__":
    unittest.main()
