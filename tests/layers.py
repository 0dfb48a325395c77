#!/usr/bin/env python3
"""Who may include whom (design: one direction of data, no cycles). Reads the #include lines of lib/, cuda/ and bench/ and fails on
an edge that the table does not allow, on a third-party header or a verbs name outside its folder, and on a folder the table
does not know."""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "stats": {"base"},
    "host": {"base"},
    "rates": {"base", "host"},  # host: the plain structs of facts.h only
    "memory": {"base"},
    "plan": {"base"},
    "transport": {"base"},
    "tcp": {"transport", "base"},
    "verbs": {"transport", "memory", "base", "host"},  # host: describes devices in the structs of facts.h
    "loops": {"transport", "stats", "base"},
    "results": {"base", "host", "stats", "plan", "rates"},
    "control": {"base", "transport"},  # transport: offer.h only
    "cluster": {"results", "control", "base"},
    "report": {"results", "rates", "stats", "host", "plan", "base"},
    "cuda": {"memory", "transport", "host", "base"},  # the top-level folder
}
DATA_ONLY = {("rates", "host"): {"host/facts.h"}, ("verbs", "host"): {"host/facts.h"}, ("control", "transport"): {"transport/offer.h"}}
OWNERS = {  # third-party header → the only folders that may see it
    r"infiniband/|rdma/": {"lib/verbs", "tests"},
    r"nlohmann/": {"lib/results", "lib/control", "tests"},
    r"CLI/": {"bench", "tests"},
    r"sodium": {"lib/control", "lib/results", "tests"},
    r"benchmark/": {"bench/micro"},
    r"(?:cuda|cuda_runtime|cuda_runtime_api|nvml|nccl)\.h$": {"tests"},  # a build needs no toolkit (cuda/cuda_abi.h)
}
# Names of libibverbs and librdmacm in code, whoever included their headers; comments and messages may have them.
VERBS_NAME = re.compile(r"\b(?:ibv|IBV|rdma_cm|RDMA_CM|RDMA_PS)_\w+")
OWN_NAMES = {"rdma_cm_address", "rdma_cm_port"}
TEXT_OR_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def folder_of(path, root):
    parts = path.relative_to(root).parts
    return "/".join(parts[:2]) if parts[0] in ("lib",) or parts[:2] == ("bench", "micro") else parts[0]


def faults_of(path, root):
    folder = folder_of(path, root)
    module = folder.split("/")[1] if folder.startswith("lib/") else "cuda" if folder == "cuda" else None
    if module is not None and module not in ALLOWED:
        yield f"{path}: lib/{module} is not in the table of tests/layers.py"
        return
    source = path.read_text(encoding="utf-8")
    if folder != "lib/verbs":
        for name in sorted(set(VERBS_NAME.findall(TEXT_OR_COMMENT.sub(" ", source))) - OWN_NAMES):
            yield f"{path}: {name} may only be named in lib/verbs"
    for header in INCLUDE.findall(source):
        for pattern, owners in OWNERS.items():
            if re.match(pattern, header) and folder not in owners:
                yield f"{path}: <{header}> may only be seen by {', '.join(sorted(owners))}"
        target = header.split("/")[0]
        if module is None or target == module or "/" not in header:  # <memory> is no folder of ours
            continue
        if target == "bench":
            yield f"{path}: {module} must not include {header}"
        elif target in ALLOWED:
            if target not in ALLOWED[module]:
                yield f"{path}: {module} must not include {header}"
            elif header not in DATA_ONLY.get((module, target), {header}):
                yield f"{path}: {module} may only include {', '.join(DATA_ONLY[(module, target)])} of {target}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    files = [p for top in ("lib", "cuda", "bench") for p in sorted((root / top).rglob("*")) if p.suffix in (".h", ".cc", ".cu")]
    faults = [fault for p in files for fault in faults_of(p, root)]
    print("\n".join(faults) if faults else f"{len(files)} files keep the layers")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
