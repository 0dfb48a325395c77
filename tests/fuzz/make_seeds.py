#!/usr/bin/env python3
"""Writes the seed corpora of this folder anew: small, readable inputs from which the fuzzers start."""
import hashlib
import json
import pathlib

HERE = pathlib.Path(__file__).parent / "corpus"
RAW, SEALED, ALTERED, SERVER, CLIENT = range(5)
TYPES = "heartbeat welcome busy facts prepare prepared connect connected start done result stop failure bye join roster step arrive release".split()


def frame(type_number, body, sequence=0):
    head = b"RGF1" + len(body).to_bytes(4, "big") + bytes([type_number, 0, 0, 0]) + sequence.to_bytes(8, "big")
    return head + body + hashlib.blake2b(head + body, key=bytes(32), digest_size=32).digest()


def hello(role, flags=1, major=1, minor=0):
    return (b"RAILGAUG" + major.to_bytes(2, "big") + minor.to_bytes(2, "big") + bytes([role, flags, 0, 0]) + bytes(range(32))).ljust(128, b"\0")


OFFER = {
    "device": "mlx5_3", "port": 2, "link_layer": "Ethernet", "transport": "InfiniBand", "lid": 49151, "gid_index": 3,
    "gid": "0000:0000:0000:0000:0000:ffff:0a00:0002", "gid_type": "RoCE v2", "gid_choice_reason": "same subnet",
    "active_mtu_bytes": 4096, "max_responder_reads": 16, "rdma_cm_address": "10.0.0.2", "rdma_cm_port": 40123,
    "qps": [[11259375, 1193046, 139637976727552, 1073741824, 4294967294], [17, 16777215, 5, 6, 9]],
    "data_addresses": ["10.0.0.2", "fe80::1%eth0"], "data_port": 65535, "data_nonce": "f1e2d3c4b5a6978879",
    "simulated": True, "software": False,
}
OFFER["data_nonce"] = OFFER["data_nonce"].ljust(32, "0")
FAILURE = {"kind": "verbs", "code": -22, "stage": "prepare", "text": "ibv_create_qp \"mlx5_1\"\n: no room"}

MEMBER = {
    "rank": 3, "world": 8, "hostname": "gpu-a07", "boot_id": "8f3c", "pid": 4711, "tool_version": "1.2.3", "nccl_version": "2.27.5",
    "cuda_driver_version": None, "gpu_pci_address": "0000:41:00.0", "gpu_uuid": None, "launcher": "slurm", "job": "51234.2",
}

SEEDS = {
    "raw_two_frames": bytes([RAW, 100]) + frame(9, b"") + frame(12, b'{"reason":"Ctrl-C"}', 1),
    "raw_http": bytes([RAW, 3]) + b"GET / HTTP/1.1\r\n\r\n",
    "raw_huge_length": bytes([RAW, 255]) + b"RGF1\xff\xff\xff\xff\x0b\0\0\0" + bytes(8),
    "sealed_offer": bytes([SEALED, TYPES.index("prepared")]) + json.dumps(OFFER).encode(),
    "sealed_failure": bytes([SEALED, TYPES.index("failure")]) + json.dumps(FAILURE).encode(),
    "sealed_busy": bytes([SEALED, TYPES.index("busy")]) + b'{"text":"busy with x for y, for about 7 s more"}',
    "sealed_stop_escapes": bytes([SEALED, TYPES.index("stop")]) + b'{"reason":"\\u00fc\\"\\\\ \xc3\xbc"}',
    "sealed_join": bytes([SEALED, TYPES.index("join")]) + json.dumps(MEMBER).encode(),
    "sealed_roster": bytes([SEALED, TYPES.index("roster")]) + json.dumps({"members": [MEMBER, MEMBER], "blob": "00ff7e"}).encode(),
    "sealed_step": bytes([SEALED, TYPES.index("step")]) + b'{"text":"ncclCommInitRank"}',
    "sealed_arrive": bytes([SEALED, TYPES.index("arrive")]) + b'{"kind":"gather","name":"times","text":"[5,7]","budget_ms":20000}',
    "sealed_release": bytes([SEALED, TYPES.index("release")]) + b'{"text":"{}"}',
    "sealed_deep": bytes([SEALED, TYPES.index("result")]) + b"[" * 17 + b"]" * 17,
    "altered_failure": bytes([ALTERED, TYPES.index("failure"), 0, 7, 64]) + json.dumps(FAILURE).encode(),
    "server_meets_client": bytes([SERVER, 90]) + hello(1) + b"RAILPROF" + bytes(40),
    "server_meets_version_2": bytes([SERVER, 255]) + hello(1, major=2),
    "server_meets_tls": bytes([SERVER, 255]) + b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "client_meets_server": bytes([CLIENT, 90]) + hello(2) + b"RAILPROF" + bytes(40),
    "client_refused": bytes([CLIENT, 200]) + hello(2) + b"RAILPROF\x01" + bytes(39),
}

folder = HERE / "frame_codec_fuzz"
folder.mkdir(parents=True, exist_ok=True)
for name, content in SEEDS.items():
    (folder / name).write_bytes(content)
