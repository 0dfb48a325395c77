"""railgauge as the cases use it: serving in B, measuring in A, and its record taken apart."""
import json
import re
import secrets
import shlex

from harness import B, Result, check

PORT = 18650


def token_file(hosts):
    path = hosts.pair.share / "token"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(16) + "\n")
    return path


def serve(hosts, options="--max-runs 1"):
    """B serves; the job once it listens."""
    command = f"exec {shlex.quote(hosts.railgauge)} serve --bind {B} --token-file {token_file(hosts)} {options}"
    job = hosts.start("b", command)
    hosts.listening("b", PORT)
    return job


def client_command(hosts, words, folder="client"):
    hosts.ok("a", f"mkdir -p $LAB_OUT/{folder}")
    first, _, rest = words.partition(" ")
    return f"exec {shlex.quote(hosts.railgauge)} {first} {B} --token-file {token_file(hosts)} --output $LAB_OUT/{folder} {rest}"


def measure(hosts, words, limit_s=None, folder="client"):
    """railgauge WORDS in A, to its end."""
    return hosts.run("a", client_command(hosts, words, folder), limit_s)


def start_measuring(hosts, words, folder="client"):
    """railgauge WORDS in A; the job, once data flows."""
    job = hosts.start("a", client_command(hosts, words, folder))
    hosts.data_flows("a")
    check(job.exit_code() is None, f"ended before the fault: {job.output('out')}{job.output('err')}")
    return job


def record_of(hosts, result, folder="client"):
    """The one record that the client wrote, in accord with its exit code; `run` judges by the schema what a case wrote."""
    files = sorted((hosts.pair.out / folder).glob("*.json"))
    check(len(files) == 1, f"one record expected, found {[path.name for path in files]}\n{result.text}")
    text = files[0].read_text()
    check(token_file(hosts).read_text().strip() not in text, "the token stands in the record")
    record = json.loads(text)
    check(record["exit_code"] == result.code, f"exit code {result.code}, the record says {record['exit_code']}")
    check(record["simulated"] is False, "rxe is not a stand-in library")
    return record


def all_text(record):
    """Every sentence of a record that says why something is as it is."""
    parts = list(record["warnings"]) + [record["verdict"]["cause"]] + [(record.get("error") or {}).get("text", "")]
    for measurement in record["measurements"]:
        parts += [measurement["reason"], measurement["verdict"]["cause"], (measurement.get("error") or {}).get("text", "")]
        for side in measurement["sides"]:
            parts += side["warnings"] + side["events"] + side["choices"] + [(side.get("error") or {}).get("text", "")]
    return "\n".join(part for part in parts if part)


def names(record, *patterns):
    """Asserts that the record itself, not only the screen, names the cause."""
    text = all_text(record)
    for pattern in patterns:
        check(re.search(pattern, text, re.IGNORECASE), f"the record does not name \"{pattern}\":\n{text}")


def rdma_rows(record):
    return [m for m in record["measurements"] if m["plan"]["transport"] == "rdma"]


def server_ended(hosts, job, limit_s=20) -> Result:
    """A server for one client ends well, whatever became of that client."""
    return hosts.finish(job, limit_s).ended(0)
