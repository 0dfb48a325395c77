"""Gets what the lab needs and builds the guests' initial ramdisk.

Programs of the host (QEMU, perftest, …) are installed with apt. The guests' kernel and the static
busybox are only downloaded and unpacked into the cache: nothing of them is installed on the host.
"""
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

PARTS = Path(__file__).resolve().parent

# program that proves the package is there -> Debian's package
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "modprobe": "kmod",
    "cpio": "cpio",
    "xz": "xz-utils",
    "ip": "iproute2",
    "rdma": "iproute2",
    "ibv_devinfo": "ibverbs-utils",
    "ib_write_bw": "perftest",
    "nft": "nftables",
    "setsid": "util-linux",
}
# file that proves it, for packages without a program
FILES = {"/etc/libibverbs.d/rxe.driver": "ibverbs-providers"}

# In the order in which the guest needs them; what they depend on is put before them by modprobe.
# Without crc32 in the crypto layer `rdma link add` fails with ENOENT on kernels up to 6.14.
REQUIRED_MODULES = [
    "virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_net",
    "rdma_rxe", "ib_uverbs", "rdma_ucm",
]
OPTIONAL_MODULES = ["virtio-rng", "crc32_generic", "ib_umad", "veth", "sch_netem", "nf_tables"]
ORDER = ["virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_net", "virtio-rng", "crc32_generic",
         "rdma_rxe", "ib_uverbs", "rdma_ucm", "ib_umad", "veth", "sch_netem", "nf_tables"]
# virtio_net frees sent packets only with later ones: those in its ring when the link goes down hold their
# queue pair, and rdma_rxe then waits 50 s to destroy it. Without NAPI a packet lets go of it when it is sent.
PARAMETERS = {"virtio_net": "napi_tx=0"}


class Unsupported(Exception):
    """The lab cannot be had on this machine; the text says why."""


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def cache_folder():
    given = os.environ.get("RAILGAUGE_LAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(given) if given else Path(base) / "railgauge-lab"


def _run(words, **options):
    return subprocess.run(words, check=True, text=True, **options)


def _as_root():
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    return None


def missing_packages():
    names = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    names += [package for path, package in FILES.items() if not os.path.exists(path)]
    return sorted(set(names))


def _apt_update_once(state={"done": False}):
    prefix = _as_root()
    if prefix is None or state["done"]:
        return False
    state["done"] = True
    say("refreshing the package lists")
    return subprocess.run(prefix + ["apt-get", "update", "-qq"], stdout=sys.stderr).returncode == 0


def install_packages():
    missing = missing_packages()
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise Unsupported("missing " + ", ".join(missing) + ", and there is no apt-get to install them")
    prefix = _as_root()
    if prefix is None:
        raise Unsupported("missing " + ", ".join(missing) + "; installing needs root or sudo")
    say("installing " + " ".join(missing))
    words = prefix + ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
                      "--no-install-recommends"] + missing
    if subprocess.run(words, stdout=sys.stderr).returncode != 0:
        _apt_update_once()
        if subprocess.run(words, stdout=sys.stderr).returncode != 0:
            raise Unsupported("apt-get could not install " + " ".join(missing))


def _kernel_package():
    """The real package behind the distribution's meta package, e.g. linux-image-6.1.0-57-amd64."""
    for _ in range(2):
        done = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True)
        found = re.search(r"Depends: (linux-image-\d\S*-amd64)\s", done.stdout)
        if found:
            return found.group(1)
        _apt_update_once()
    raise Unsupported("no linux-image-amd64 among the distribution's packages (is this Debian on x86-64?)")


def _fetch(package, folder):
    """Downloads and unpacks a package under folder/root, once."""
    root = folder / "root"
    if (folder / "complete").exists():
        return root
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say(f"downloading {package} (unpacked in {folder}, not installed)")
    words = ["apt-get", "download", "-qq", package]
    # Root's downloads are done by user _apt, which may not write here: apt then warns and does it as root.
    if subprocess.run(words, cwd=folder, stdout=sys.stderr, stderr=subprocess.DEVNULL).returncode != 0:
        _apt_update_once()
        if subprocess.run(words, cwd=folder, stdout=sys.stderr).returncode != 0:
            raise Unsupported(f"apt-get could not download {package}")
    for deb in folder.glob("*.deb"):
        _run(["dpkg", "-x", deb.name, "root"], cwd=folder)
        deb.unlink()
    (folder / "complete").touch()
    return root


def _kernel(cache):
    cached = sorted((cache / "kernels").glob("linux-image-*/complete"))
    try:
        package = _kernel_package()
    except Unsupported:
        if not cached:
            raise
        package = cached[-1].parent.name
    root = _fetch(package, cache / "kernels" / package)
    version = next((root / "boot").glob("vmlinuz-*")).name[len("vmlinuz-"):]
    if not (root / "lib").exists():
        (root / "lib").symlink_to("usr/lib")   # Debian 13 ships modules under /usr/lib
    if not (root / "lib/modules" / version / "modules.dep.bin").exists():
        _run(["depmod", "-b", str(root), version])
    return root, version


def _show_depends(root, version, name):
    done = subprocess.run(["modprobe", "-d", str(root), "-S", version, "--show-depends", name],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return None
    return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("insmod ")]


def _module_files(root, version):
    """[(path, 'required' or 'optional')] in the order in which they are loaded."""
    files = {}
    for name in ORDER:
        needed = "required" if name in REQUIRED_MODULES else "optional"
        paths = _show_depends(root, version, name)
        if paths is None:
            if needed == "required":
                raise Unsupported(f"kernel {version} has no module {name}")
            say(f"kernel {version} has no module {name}: left out")
            continue
        for path in paths:
            files.setdefault(path, needed)
            if needed == "required":
                files[path] = needed
    return list(files.items())


def _plain_module(source, target):
    """Copies a module, uncompressed: busybox's insmod cannot unpack them all."""
    tools = {".xz": "xz", ".zst": "zstd", ".gz": "gzip"}
    tool = tools.get(source.suffix)
    if tool is None:
        shutil.copy(source, target)
        return
    with open(target, "wb") as out:
        subprocess.run([tool, "-dc", str(source)], stdout=out, check=True)


def _build_initramfs(image, busybox, modules):
    tree = image.with_suffix(".tree")
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "bin").mkdir(parents=True)
    (tree / "modules").mkdir()
    shutil.copy(busybox, tree / "bin/busybox")
    lines = []
    for path, needed in modules:
        source = Path(path)
        module = source.name.split(".ko")[0]
        _plain_module(source, tree / "modules" / f"{module}.ko")
        lines.append(f"{module}.ko {needed} {PARAMETERS.get(module, '')}\n")
    (tree / "modules.list").write_text("".join(lines))
    for part, name in (("guest-init", "init"), ("guest-agent", "agent"), ("guest-network", "host-network")):
        shutil.copy(PARTS / part, tree / name)
        os.chmod(tree / name, 0o755)
    partial = image.with_suffix(".new")
    with open(partial, "wb") as out:
        listing = subprocess.run(["find", ".", "-print0"], cwd=tree, stdout=subprocess.PIPE, check=True)
        subprocess.run(["cpio", "--null", "-o", "-H", "newc", "--quiet"], cwd=tree,
                       input=listing.stdout, stdout=out, check=True)
    partial.rename(image)
    shutil.rmtree(tree)


def _busybox(cache):
    root = _fetch("busybox-static", cache / "busybox")
    found = [path for path in (root / "bin/busybox", root / "usr/bin/busybox") if path.exists()]
    if not found:
        raise Unsupported("busybox-static holds no busybox")
    return found[0]


def _fingerprint(version, busybox, modules):
    digest = hashlib.sha256(version.encode())
    for part in ("guest-init", "guest-agent", "guest-network"):
        digest.update((PARTS / part).read_bytes())
    digest.update(repr((modules, PARAMETERS)).encode())
    digest.update(str(os.stat(busybox).st_size).encode())
    return digest.hexdigest()[:16]


def provision():
    """Installs, downloads, builds what is missing. Returns {'kernel', 'initramfs', 'modules', 'release'}."""
    if platform.machine() != "x86_64":
        raise Unsupported(f"the lab's guests are x86-64, this machine is {platform.machine()}")
    if not os.path.exists("/proc/self/cmdline"):
        raise Unsupported("/proc is not mounted here (mount -t proc proc /proc)")
    install_packages()
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root, version = _kernel(cache)
        busybox = _busybox(cache)
        modules = _module_files(root, version)
        image = cache / f"initramfs-{version}-{_fingerprint(version, busybox, modules)}.cpio"
        if not image.exists():
            say(f"building the initial ramdisk for kernel {version} ({len(modules)} modules)")
            for old in cache.glob(f"initramfs-{version}-*.cpio"):
                old.unlink()
            _build_initramfs(image, busybox, modules)
    return {"kernel": root / "boot" / f"vmlinuz-{version}", "initramfs": image,
            "modules": root.resolve() / "lib/modules" / version, "release": version}


def kvm_works():
    """True when a stock kernel can run under KVM here.

    The device node is not enough: a container may hold one it may not use, and a KVM built on software
    paging (module kvm_pvm, no vmx or svm among the processor's flags) makes machines but emulates a
    stock kernel instruction by instruction until it meets one that it cannot.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text()
        if not re.search(r"^flags\s*:.*\b(vmx|svm)\b", flags, re.MULTILINE):
            return False
        node = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        machine = fcntl.ioctl(node, 0xAE01, 0)   # KVM_CREATE_VM, linux/kvm.h
        os.close(machine)
        return True
    except OSError:
        return False
    finally:
        os.close(node)
