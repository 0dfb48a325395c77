"""Builds trees of files in the shape of sysfs and procfs. All values that use it are invented; the shapes are the kernel's."""

import os
import struct
from pathlib import Path


class Tree:
    """One root. Paths are absolute as seen from that root."""

    def __init__(self, root):
        self.root = Path(root)
        self.root.mkdir(parents=True)

    def _at(self, path):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def file(self, path, text):
        self._at(path).write_text(f"{text}\n")

    def raw(self, path, content):
        self._at(path).write_bytes(content)

    def files(self, directory, values):
        for name, text in values.items():
            self.file(f"{directory}/{name}", text)

    def unreadable(self, path):
        """A directory where a file belongs: reading gives EISDIR, also to root."""
        self._at(path).mkdir(parents=True)

    def directory(self, path):
        self._at(path).mkdir(parents=True, exist_ok=True)

    def link(self, path, to):
        """A relative link, as sysfs has them; `to` is absolute from the root."""
        link = self._at(path)
        link.symlink_to(os.path.relpath(self.root / to.lstrip("/"), link.parent))


def pci_config(device_control, speed_code, width, max_speed_code=None, max_width=None, size=256):
    """Configuration space with a power management capability at 0x40 and PCI Express at 0x60."""
    space = bytearray(256)
    struct.pack_into("<HH", space, 0x00, 0x15B3, 0x1021)
    struct.pack_into("<H", space, 0x06, 0x0010)  # capability list present
    space[0x34] = 0x40
    space[0x40:0x42] = bytes([0x01, 0x60])
    space[0x60:0x62] = bytes([0x10, 0x00])
    struct.pack_into("<H", space, 0x60 + 0x08, device_control)
    struct.pack_into("<I", space, 0x60 + 0x0C, (max_speed_code or speed_code) | (max_width or width) << 4)
    struct.pack_into("<H", space, 0x60 + 0x12, speed_code | width << 4)
    return bytes(space[:size])


def add_pci(tree, chain, numa, cpus, links, config=None, ids=("0x15b3", "0x1021")):
    """`chain`: addresses from the root port down; `links`: (current speed, current width, max speed, max width) for each.
    Returns the directory of the last one."""
    bus = chain[0].rsplit(":", 1)[0]
    directory = f"/sys/devices/pci{bus}"
    for address, link in zip(chain, links):
        directory += f"/{address}"
        if link:
            names = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
            tree.files(directory, dict(zip(names, link)))
        if not (tree.root / f"sys/bus/pci/devices/{address}").is_symlink():
            tree.link(f"/sys/bus/pci/devices/{address}", directory)
    tree.files(directory, {"numa_node": numa, "vendor": ids[0], "device": ids[1]})
    if cpus:
        tree.file(f"{directory}/local_cpulist", cpus)
    if config:
        tree.raw(f"{directory}/config", config)
    return directory


def add_gpu(tree, chain, numa, cpus, links):
    """An H100 with its driver: BAR0 is a 64-bit region in slots 0 and 1, BAR1 one of 128 GiB in slots 2 and 3."""
    directory = add_pci(tree, chain, numa, cpus, links, pci_config(0x2936, 5, 16), ids=("0x10de", "0x2330"))
    top = 0x200000000000 + (int(chain[-1][5:7], 16) << 38)
    regions = [(top, 1 << 24), None, (top + (1 << 37), 1 << 37), None, (top + (1 << 25), 1 << 25), None]
    lines = [f"0x{r[0]:016x} 0x{r[0] + r[1] - 1:016x} 0x000000000014220c" if r else "0x" + "0" * 16 + " 0x" + "0" * 16 + " 0x" + "0" * 16 for r in regions]
    tree.files(directory, {"class": "0x030200", "resource": "\n".join(lines)})
    tree.directory("/sys/bus/pci/drivers/nvidia")
    tree.link(f"{directory}/driver", "/sys/bus/pci/drivers/nvidia")
    tree.file(f"/proc/driver/nvidia/gpus/{chain[-1]}/information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 310")
    return directory


def mapped(ip):
    """The GID of an IPv4 address."""
    a, b, c, d = (int(part) for part in ip.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"


EMPTY_GID = "0000:0000:0000:0000:0000:0000:0000:0000"
BARE_LINK_LOCAL = "fe80:0000:0000:0000:0000:0000:0000:0000"


def add_port(tree, directory, number, state, physical, rate, layer, lid="0x0", sm_lid="0x0", gids=(), slots=8, pkeys=("0xffff",)):
    """`gids`: (GID, type, netdev or None), from index 0; the rest of `slots` is empty, and its types cannot be read."""
    port = f"{directory}/ports/{number}"
    values = {"state": state, "phys_state": physical, "rate": rate, "link_layer": layer, "lid": lid, "sm_lid": sm_lid}
    tree.files(port, values)
    for index in range(slots):
        gid, kind, netdev = gids[index] if index < len(gids) else (EMPTY_GID, None, None)
        tree.file(f"{port}/gids/{index}", gid)
        if kind:
            tree.file(f"{port}/gid_attrs/types/{index}", kind)
        else:
            tree.unreadable(f"{port}/gid_attrs/types/{index}")
        if netdev:
            tree.file(f"{port}/gid_attrs/ndevs/{index}", netdev)
    for index in range(16):
        tree.file(f"{port}/pkeys/{index}", pkeys[index] if index < len(pkeys) else "0x0000")
    return port


def add_rdma(tree, name, device_directory, guid, uverbs=None, driver="mlx5_core", **values):
    """The device below its PCI function, linked from the class; returns its directory."""
    directory = f"{device_directory}/infiniband/{name}"
    tree.files(directory, {"node_guid": guid, "sys_image_guid": guid, "node_type": "1: CA", **values})
    tree.link(f"{directory}/device", device_directory)
    tree.link(f"/sys/class/infiniband/{name}", directory)
    tree.directory(f"/sys/bus/pci/drivers/{driver}")
    if not (tree.root / f"{device_directory}/driver".lstrip("/")).is_symlink():
        tree.link(f"{device_directory}/driver", f"/sys/bus/pci/drivers/{driver}")
    if uverbs is not None:
        add_uverbs(tree, name, uverbs)
    return directory


def add_uverbs(tree, name, number):
    tree.files(f"/sys/class/infiniband_verbs/uverbs{number}", {"ibdev": name, "abi_version": 1})
    tree.file(f"/dev/infiniband/uverbs{number}", "")


def add_netdev(tree, name, device_directory=None, mtu=1500, speed="-1", operstate="up", carrier="1", kind=1, slaves=None):
    """Below its device, or among the virtual ones; carrier None: cannot be read."""
    directory = f"{device_directory}/net/{name}" if device_directory else f"/sys/devices/virtual/net/{name}"
    tree.files(directory, {"mtu": mtu, "operstate": operstate, "type": kind, "carrier_changes": 2})
    for file, value in (("speed", speed), ("carrier", carrier)):
        if value is None:
            tree.unreadable(f"{directory}/{file}")
        else:
            tree.file(f"{directory}/{file}", value)
    if device_directory:
        tree.link(f"{directory}/device", device_directory)
    if slaves:
        tree.file(f"{directory}/bonding/slaves", " ".join(slaves))
    tree.link(f"/sys/class/net/{name}", directory)
    return directory


def add_addresses(tree, addresses):
    """(interface, address with prefix length), in the form of `ip -o addr`."""
    lines = []
    for number, (name, address) in enumerate(addresses, 1):
        family = "inet6" if ":" in address else "inet"
        lines.append(f"{number}: {name}    {family} {address} scope global {name}\\       valid_lft forever preferred_lft forever")
    tree.file("/ip-addr.txt", "\n".join(lines))


def add_host(tree, name, cpus="0-15", allowed=None, nodes=None, model="Examplium 9000 32-Core Processor", flags="fpu sse2",
             memlock="unlimited", governor="performance", kernel="6.5.0-21-generic", llc="262144K", congestion="cubic", bios="2.7a",
             balancing=0):
    """What every host has: processors, memory, software."""
    count = int(cpus.rsplit("-", 1)[-1]) + 1
    block = f"processor\t: 0\nmodel name\t: {model}\nmicrocode\t: 0xa101148\nflags\t\t: {flags}\n\n"
    tree.file("/proc/cpuinfo", block * min(count, 4))
    tree.file("/proc/meminfo", "MemTotal:       131072000 kB\nHugePages_Total:      48\nHugePages_Free:       37\nHugepagesize:       2048 kB")
    tree.file("/proc/loadavg", "3.25 2.10 1.05 2/914 4711")
    tree.file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda2 iommu=pt")
    tree.file("/proc/self/status", f"Name:\trailgauge\nCpus_allowed:\tffff\nCpus_allowed_list:\t{allowed or cpus}")
    limits = "Limit                     Soft Limit           Hard Limit           Units\n"
    limits += f"Max open files            1024                 524288               files\nMax locked memory         {memlock:<20} {memlock:<20} bytes"
    tree.file("/proc/self/limits", limits)
    tree.files("/proc/sys/kernel", {"hostname": name, "osrelease": kernel, "arch": "x86_64", "numa_balancing": balancing})
    tree.files("/proc/sys/net/ipv4", {"tcp_congestion_control": congestion, "tcp_available_congestion_control": "reno cubic bbr",
                                      "tcp_rmem": "4096\t131072\t67108864", "tcp_wmem": "4096\t65536\t67108864", "tcp_mtu_probing": 0,
                                      "tcp_timestamps": 1, "tcp_sack": 1})
    tree.files("/proc/sys/net/core", {"default_qdisc": "fq_codel", "rmem_max": 212992, "wmem_max": 212992})
    tree.file("/etc/os-release", 'NAME="Example Linux"\nPRETTY_NAME="Example Linux 22.04.3 LTS"\nVERSION_ID="22.04"')
    tree.files("/sys/class/dmi/id", {"product_name": "XE-8A", "bios_version": bios})
    tree.file("/sys/devices/system/cpu/online", cpus)
    # the last level is not the last index: a reader has to compare levels
    for index, (level, kind, size) in enumerate(((1, "Data", "32K"), (3, "Unified", llc), (2, "Unified", "1024K"), (1, "Instruction", "32K"))):
        tree.files(f"/sys/devices/system/cpu/cpu0/cache/index{index}", {"level": level, "type": kind, "size": size})
    first = (allowed or cpus).split("-")[0].split(",")[0]
    if governor:
        tree.file(f"/sys/devices/system/cpu/cpu{first}/cpufreq/scaling_governor", governor)
    tree.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    for node, node_cpus in (nodes or {0: cpus}).items():
        tree.file(f"/sys/devices/system/node/node{node}/cpulist", node_cpus)
    tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    for module, version in (("mlx5_core", "24.10-1.1.4"), ("mlx5_ib", None), ("ib_uverbs", None), ("nvidia_peermem", "550.90.07")):
        tree.directory(f"/sys/module/{module}")
        if version:
            tree.file(f"/sys/module/{module}/version", version)
