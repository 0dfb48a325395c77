#!/usr/bin/env python3
"""Writes the fixture trees of the host tests: make.py OUTPUT_DIRECTORY. Each is the answer to one question a reader must get
right; names of hosts, addresses, GUIDs and counts are invented."""

import shutil
import sys
from pathlib import Path

from tree import (BARE_LINK_LOCAL, EMPTY_GID, Tree, add_addresses, add_gpu, add_host, add_netdev, add_pci, add_port, add_rdma, add_uverbs, mapped,
                  pci_config)

GEN5_X16 = ("32.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16)
GEN4_X16 = ("16.0 GT/s PCIe", 16, "16.0 GT/s PCIe", 16)
V1, V2 = "IB/RoCE v1", "RoCE v2"


def h100_ib(tree):
    """Eight NDR ports with holes in the numbering, each below one switch with an idle GPU, and an Ethernet bond beside them."""
    nodes = {0: "0-47,96-143", 1: "48-95,144-191"}
    add_host(tree, "gpu-a17", cpus="0-191", nodes=nodes, model="Examplium 8480C")
    for position, number in enumerate((0, 1, 4, 5, 6, 7, 8, 9)):
        numa, base = position // 4, 0x10 + 0x10 * position
        chain = [f"0000:{base:02x}:01.0", f"0000:{base + 1:02x}:00.0", f"0000:{base + 2:02x}:03.0", f"0000:{base + 3:02x}:00.0"]
        pci = add_pci(tree, chain, numa, nodes[numa], [GEN5_X16] * 4, pci_config(0x5936, 5, 16))
        tree.file(f"/sys/kernel/iommu_groups/{40 + position}/type", "identity")
        tree.link(f"{pci}/iommu_group", f"/sys/kernel/iommu_groups/{40 + position}")
        guid = f"b83f:d203:00{base:02x}:7a6e"
        device = add_rdma(tree, f"mlx5_{number}", pci, guid, uverbs=number, fw_ver="28.42.1234", hca_type="MT4129", board_id="EX_0000000555")
        port = add_port(tree, device, 1, "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "InfiniBand", lid=f"0x{0x21 + position:x}",
                        sm_lid="0x3", gids=[(f"fe80:0000:0000:0000:{guid}", V1, None)], pkeys=("0xffff", "0x0000", "0x8007"))
        tree.files(f"{port}/counters", {"symbol_error": 0, "link_downed": 1, "port_rcv_errors": 14, "excessive_buffer_overrun_errors": 15,
                                        "port_xmit_data": 730539874932483 + position, "port_xmit_wait": 1489603687})
        tree.files(f"{port}/hw_counters", {"lifespan": 14, "rx_write_requests": 4100000123, "roce_adp_retrans": 3})
        add_netdev(tree, f"ib{position}", pci, mtu=2044, speed="400000", kind=32)
        chain[2:] = [f"0000:{base + 2:02x}:05.0", f"0000:{base + 4:02x}:00.0"]
        add_gpu(tree, chain, numa, nodes[numa], [GEN5_X16] * 2 + [("2.5 GT/s PCIe", 16, "32.0 GT/s PCIe", 16)] * 2)
    tree.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build  (builder@host)")
    slaves = []
    for function in (0, 1):
        pci = add_pci(tree, ["0000:a0:01.0", f"0000:a1:00.{function}"], 1, nodes[1], [GEN4_X16] * 2, pci_config(0x2936, 4, 16))
        slaves.append(add_netdev(tree, f"ens20f{function}np{function}", pci, mtu=9000, speed="200000"))
    add_netdev(tree, "bond0", mtu=9000, speed="400000", slaves=["ens20f0np0", "ens20f1np1"])
    pci = "/sys/devices/pci0000:a0/0000:a0:01.0/0000:a1:00.0"
    bond = add_rdma(tree, "mlx5_bond_0", pci, "b83f:d203:00aa:7a6e", uverbs=2, fw_ver="28.42.1234", hca_type="MT4129", board_id="EX_0000000777")
    add_port(tree, bond, 1, "4: ACTIVE", "5: LinkUp", "200 Gb/sec (2X NDR)", "Ethernet",
             gids=[("fe80:0000:0000:0000:ba3f:d2ff:feaa:7a6e", V1, "bond0"), ("fe80:0000:0000:0000:ba3f:d2ff:feaa:7a6e", V2, "bond0"),
                   (mapped("10.40.7.17"), V1, "bond0"), (mapped("10.40.7.17"), V2, "bond0")])
    tree.file("/sys/class/net/bonding_masters", "bond0")
    add_netdev(tree, "lo", mtu=65536, operstate="unknown", speed=None, kind=772)
    add_addresses(tree, [("bond0", "10.40.7.17/23"), ("ib3", "10.50.3.17/16"), ("lo", "127.0.0.1/8")])


def roce(tree, host, ip, mtu, rate, speed, device="mlx5_0", netdev="enp65s0f0np0", **host_values):
    """One RoCE port with an untagged and a VLAN network; index 6 and above are empty."""
    add_host(tree, host, cpus="0-63", nodes={0: "0-31", 1: "32-63"}, **host_values)
    chain = ["0000:40:01.1", "0000:41:00.0"]
    pci = add_pci(tree, chain, 1, "32-63", [GEN4_X16] * 2, pci_config(0x5936, 4, 16), ids=("0x15b3", "0x101b"))
    tree.file(f"{pci}/aer_dev_correctable", "RxErr 0\nBadTLP 3\nBadDLLP 4\nTOTAL_ERR_COR 7")
    rdma = add_rdma(tree, device, pci, "0c42:a103:0091:be54", uverbs=0, fw_ver="20.39.3004", hca_type="MT4123", board_id="EX_0000000223")
    vlan_ip = ip.replace("10.7.", "10.8.")
    local = "fe80:0000:0000:0000:0e42:a1ff:fe91:be54"
    port = add_port(tree, rdma, 1, "4: ACTIVE", "5: LinkUp", rate, "Ethernet",
                    gids=[(local, V1, netdev), (local, V2, netdev), (mapped(ip), V1, netdev), (mapped(ip), V2, netdev),
                          (mapped(vlan_ip), V1, f"{netdev}.700"), (mapped(vlan_ip), V2, f"{netdev}.700")])
    tree.files(f"{port}/hw_counters", {"lifespan": 12, "out_of_sequence": 5, "packet_seq_err": 2})
    add_netdev(tree, netdev, pci, mtu=mtu, speed=speed)
    tree.files(f"{pci}/net/{netdev}/statistics", {"rx_crc_errors": 0, "rx_missed_errors": 11})
    add_netdev(tree, f"{netdev}.700", mtu=mtu, speed=speed)
    old_kernel = [None, ("Unknown speed", 255, "Unknown speed", 255)]  # the registers know better
    pci = add_pci(tree, ["0000:20:03.0", "0000:21:00.0"], 0, "0-31", old_kernel, pci_config(0x2810, 3, 2, 4, 8))
    add_netdev(tree, "eno1", pci, speed="-1", operstate="down", carrier=None)
    add_addresses(tree, [(netdev, f"{ip}/24"), (f"{netdev}.700", f"{vlan_ip}/24"), (netdev, "fe80::e42:a1ff:fe91:be54/64")])


def a100_roce(tree):
    roce(tree, "node-a3", "10.7.3.21", 9000, "200 Gb/sec (4X HDR)", "200000")


def mtu1500_roce(tree):
    """The peer of a100_roce that nobody finished setting up."""
    roce(tree, "node-b3", "10.7.3.22", 1500, "100 Gb/sec (2X HDR)", "100000", device="rocep65s0f0", memlock="8388608",
         governor="schedutil", congestion="bbr", bios="2.6", kernel="6.2.0-37-generic")


def single_ib(tree, host, state, physical, rate, links=None, config=None, lid="0x0", **host_values):
    add_host(tree, host, cpus="0-31", **host_values)
    pci = add_pci(tree, ["0000:60:01.0", "0000:61:00.0"], 0, "0-31", links or [GEN5_X16] * 2, config or pci_config(0x5936, 5, 16))
    rdma = add_rdma(tree, "mlx5_0", pci, "1070:fd03:0044:19ac", uverbs=0, fw_ver="28.42.1234", hca_type="MT4129", board_id="EX_0000000555")
    add_port(tree, rdma, 1, state, physical, rate, "InfiniBand", lid=lid, sm_lid="0x3" if lid != "0x0" else "0x0",
             gids=[("fe80:0000:0000:0000:1070:fd03:0044:19ac", V1, None)])


def degraded_x8(tree):
    """A Gen5 x16 card that trained Gen4 x8 in a Gen5 x16 slot, with a small read request size."""
    link = ("16.0 GT/s PCIe", 8, "32.0 GT/s PCIe", 16)
    single_ib(tree, "gpu-b02", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", [link, link], pci_config(0x2826, 4, 8, 5, 16), lid="0x2f",
              governor="powersave")


def down_polling(tree):
    single_ib(tree, "gpu-b03", "1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)")


def disabled(tree):
    single_ib(tree, "gpu-b04", "1: DOWN", "3: Disabled", "40 Gb/sec (4X QDR)")


def init_no_sm(tree):
    single_ib(tree, "gpu-b05", "2: INIT", "5: LinkUp", "200 Gb/sec (4X HDR)")


def vm_no_pci(tree):
    """A virtual machine: one device on no PCI bus, one VF-like PCI device that tells nothing of its link."""
    add_host(tree, "vm-7", cpus="0-7", flags="fpu hypervisor sse2", governor=None, llc="33792K")
    platform = "/sys/devices/platform/vmnic.3"
    tree.file(f"{platform}/modalias", "platform:vmnic")
    rdma = add_rdma(tree, "mana_0", platform, "7c1e:5203:0001:0002", driver="mana", fw_ver="1.2.3")
    add_port(tree, rdma, 1, "4: ACTIVE", "5: LinkUp", "200 Gb/sec (4X HDR)", "Ethernet", gids=[(mapped("172.16.9.4"), V2, "eth0")], slots=2)
    unknown = ("Unknown", 255, "Unknown speed", 0)
    pci = add_pci(tree, ["d3f1:00:02.0"], -1, None, [unknown], pci_config(0x5936, 4, 16, size=64), ids=("0x15b3", "0x101e"))
    rdma = add_rdma(tree, "mlx5_1", pci, "7c1e:5203:0001:0003", fw_ver="22.36.1010", hca_type="MT4126")
    add_port(tree, rdma, 1, "4: ACTIVE", "5: LinkUp", "100 Gb/sec (2X HDR)", "Ethernet", gids=[(mapped("172.16.8.4"), V2, "eth1")], slots=2)
    add_netdev(tree, "eth0", platform, mtu=1500, speed="4294967295")
    add_netdev(tree, "eth1", pci, mtu=4028, speed="100000")
    add_addresses(tree, [("eth0", "172.16.9.4/20"), ("eth1", "172.16.8.4/24")])


def vf_roce(tree):
    """A virtual function: its link is the physical function's."""
    add_host(tree, "pod-5", cpus="0-15", allowed="4-7")
    config = pci_config(0x3936, 4, 8)
    physical = add_pci(tree, ["0000:c0:01.0", "0000:c1:00.0"], 0, "0-15", [("16.0 GT/s PCIe", 8, "16.0 GT/s PCIe", 16)] * 2, config)
    pci = add_pci(tree, ["0000:c0:01.0", "0000:c1:00.3"], 0, "0-15", [None, ("Unknown", 0, "Unknown", 0)], config, ids=("0x15b3", "0x101c"))
    tree.link(f"{pci}/physfn", physical)
    rdma = add_rdma(tree, "mlx5_5", pci, "0000:0000:0000:0000", uverbs=5, fw_ver="20.39.3004", hca_type="MT4124")
    add_port(tree, rdma, 1, "4: ACTIVE", "5: LinkUp", "100 Gb/sec (2X HDR)", "Ethernet", gids=[(mapped("10.7.3.40"), V2, "net1")], slots=2)
    add_netdev(tree, "net1", pci, mtu=9000, speed="100000")
    add_addresses(tree, [("net1", "10.7.3.40/24")])


def empty_gids(tree):
    """An ACTIVE RoCE port whose interface has no address: nothing but the two forms of an empty GID."""
    add_host(tree, "pod-8")
    pci = add_pci(tree, ["0000:40:01.1", "0000:41:00.0"], 0, "0-15", [GEN4_X16] * 2, pci_config(0x5936, 4, 16))
    rdma = add_rdma(tree, "mlx5_3", pci, "0c42:a103:0091:be55", uverbs=3, fw_ver="20.39.3004", hca_type="MT4123")
    add_port(tree, rdma, 1, "4: ACTIVE", "5: LinkUp", "200 Gb/sec (4X HDR)", "Ethernet", gids=[(BARE_LINK_LOCAL, V1, None), (EMPTY_GID, None, None)])
    add_netdev(tree, "eth3", pci, mtu=9000, speed="200000")


def rxe_host(tree):
    """Software devices: no `device` link; rxe0 has two GIDs, siw0 one."""
    add_host(tree, "laptop", cpus="0-3", memlock="8388608")
    for name, netdev, number, node, gids in (
            ("rxe0", "veth7", 0, "1: CA", [("fe80:0000:0000:0000:5054:00ff:fe12:3407", V2, "veth7"), (mapped("192.168.77.5"), V2, "veth7")]),
            ("siw0", "eth0", 1, "4: RNIC", [("5254:0012:3456:0000:0000:0000:0000:0000", V1, None)])):
        directory = f"/sys/devices/virtual/infiniband/{name}"
        tree.files(directory, {"node_type": node, "node_guid": "5054:00ff:fe12:3407", "sys_image_guid": "5054:00ff:fe12:3407", "fw_ver": ""})
        if name == "rxe0":
            tree.file(f"{directory}/parent", netdev)
        add_port(tree, directory, 1, "4: ACTIVE", "5: LinkUp", "10 Gb/sec (1X FDR10)", "Ethernet", gids=gids, slots=16)
        tree.link(f"/sys/class/infiniband/{name}", directory)
        add_uverbs(tree, name, number)
    add_netdev(tree, "veth7", mtu=4200, speed="10000")
    add_netdev(tree, "eth0", add_pci(tree, ["0000:00:05.0"], -1, None, [None], ids=("0x1af4", "0x1041")) + "/virtio2", mtu=1500)
    add_addresses(tree, [("veth7", "192.168.77.5/24"), ("eth0", "192.0.2.9/24")])


def simulated(tree):
    """Stand-ins that say so, numbered so that text order is wrong."""
    add_host(tree, "desk")
    for number in (10, 0, 2):
        directory = f"/sys/devices/virtual/infiniband/sim{number}"
        tree.files(directory, {"node_type": "1: CA", "node_guid": f"02aa:bbcc:ddee:01{number:02x}", "fw_ver": "simulated-3"})
        add_port(tree, directory, 1, "4: ACTIVE", "5: LinkUp", "800 Gb/sec (4X XDR)", "InfiniBand", lid=f"0x{42 + number:x}")
        tree.link(f"/sys/class/infiniband/sim{number}", directory)


def no_rdma(tree):
    """A host without RDMA device, its Ethernet driver half loaded."""
    add_host(tree, "web-1", cpus="0-1", flags="fpu hypervisor")
    shutil.rmtree(tree.root / "sys/module/mlx5_ib")
    pci = add_pci(tree, ["0000:00:03.0"], -1, None, [None], ids=("0x1af4", "0x1041"))
    add_netdev(tree, "eth0", f"{pci}/virtio0", mtu=1400, speed="-1")
    add_addresses(tree, [("eth0", "192.0.2.33/24")])


def restricted(tree):
    """An unprivileged look at odd cards: files that cannot be read, words that contradict their number, two ports."""
    add_host(tree, "hpc-9", memlock="67108864")
    pci = add_pci(tree, ["0000:80:02.0", "0000:81:00.0"], -1, "0-15",
                  [("8.0 GT/s PCIe", 4, "8.0 GT/s PCIe", 8), ("8 GT/s", 4, "8 GT/s", 4)], pci_config(0x5936, 3, 4, size=64))
    tree.unreadable(f"{pci}/aer_dev_correctable")
    rdma = add_rdma(tree, "mlx4_0", pci, "0002:c903:0012:4321", driver="mlx4_core", fw_ver="2.42.5000", hca_type="MT4099", board_id="EX_1090110019")
    for number in (1, 2):
        port = add_port(tree, rdma, number, "4: ACTIVE", "4: ACTIVE" if number == 1 else "5: LinkUp", "40 Gb/sec (4X QDR)", "InfiniBand",
                        lid=f"0x{16 + number:x}", gids=[(f"fe80:0000:0000:0000:0002:c903:0012:432{number}", V1, None)])
        tree.files(f"{port}/counters", {"port_xmit_wait": "N/A (no PMA)", "link_downed": 255, "symbol_error": 7})
        tree.unreadable(f"{port}/counters/port_rcv_errors")
    pci = add_pci(tree, ["0000:90:02.0", "0000:91:00.0"], -1, "0-15", [None, None])
    tree.unreadable(f"{pci}/config")
    tree.unreadable(f"{pci}/current_link_speed")
    rdma = add_rdma(tree, "hfi1_0", pci, "0011:7501:0163:f3a2", driver="hfi1", fw_ver="1.27.0",
                    board_id="EX 100Gb 1-port Adapter QSFP28 x16 PCIe Gen3 with Example Path")
    port = add_port(tree, rdma, 1, "4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)", "InfiniBand", lid="0x1")
    shutil.rmtree(tree.root / f"{port}/gids".lstrip("/"))
    for file in ("sm_lid", "link_layer"):
        (tree.root / f"{port}/{file}".lstrip("/")).unlink()
        tree.unreadable(f"{port}/{file}")
    add_netdev(tree, "eth0", pci, speed=None, carrier=None, operstate="down")


def main():
    output = Path(sys.argv[1])
    shutil.rmtree(output, ignore_errors=True)
    for build in (h100_ib, a100_roce, mtu1500_roce, degraded_x8, down_polling, disabled, init_no_sm, vm_no_pci, vf_roce, empty_gids,
                  rxe_host, simulated, no_rdma, restricted):
        build(Tree(output / build.__name__))


if __name__ == "__main__":
    main()
