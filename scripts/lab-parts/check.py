"""lab check: railgauge's main job between the two hosts, B serving."""
import os
import secrets
import shlex
import shutil
from pathlib import Path

from pair import ADDRESS
from provision import say
from run import run_pair

ROOT = Path(__file__).resolve().parents[2]


def find_program(given):
    """The railgauge to run: a program, a build folder, or the first one found under build/."""
    given = given or os.environ.get("RAILGAUGE")
    if given:
        candidates = [Path(given), Path(given) / "bench/railgauge"]
    else:
        candidates = [ROOT / "build/release/bench/railgauge"] + sorted(ROOT.glob("build/*/bench/railgauge"))
        candidates.append(ROOT / "build/bench/railgauge")
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    raise ValueError("no railgauge built: looked at " + ", ".join(str(path) for path in candidates[:4]))


def quoted(words):
    return " ".join(shlex.quote(str(word)) for word in words)


def take_output(further):
    """(--output's value or None, the other words): inside, the record goes to the shared folder."""
    rest, given, words = [], None, iter(further)
    for word in words:
        if word == "--output":
            given = next(words, None)
        elif word.startswith("--output="):
            given = word.partition("=")[2]
        else:
            rest.append(word)
    return given, rest


def place_token(pair):
    """A token for one run in the folder that both hosts see and no other user may read."""
    token = pair.share / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(16) + "\n")


def copy_records(pair, given):
    """A lone record may be given a name by --output FILE; else --output is the folder, default the current one."""
    records = sorted(entry for entry in pair.out.iterdir() if entry.is_file())
    for record in records:
        target = Path(given or os.getcwd())
        if not target.suffix == ".json":
            target.mkdir(parents=True, exist_ok=True)
            target = target / record.name
        shutil.copy2(record, target)
        say(f"record: {target}")


def check(build, further, plan_of):
    """Exit code of `railgauge check`; its record is copied out. `further` goes to it as it stands."""
    program = find_program(build)
    given, rest = take_output(further)
    token = '--token-file "$LAB_TOKEN_FILE"'
    plan = plan_of(f'exec {quoted([program, "check", ADDRESS["b"]])} {token} --output "$LAB_OUT" {quoted(rest)}',
                   f'exec {quoted([program, "serve", "--bind", ADDRESS["b"]])} {token} --max-runs 1')
    return run_pair(plan, prepare=place_token, finish=lambda pair: copy_records(pair, given))
