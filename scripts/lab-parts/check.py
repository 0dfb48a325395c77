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


def serve_command(program, token_file):
    return f"{shlex.quote(str(program))} serve --bind {ADDRESS['b']} --token-file {shlex.quote(token_file)}"


def check_command(program, token_file, further):
    words = [str(program), "check", ADDRESS["b"], "--token-file", token_file] + list(further)
    if "--output" not in further and not any(word.startswith("--output=") for word in further):
        words += ["--output", "."]
    return " ".join(shlex.quote(word) for word in words)


def check(build, further, plan_of):
    """Exit code of `railgauge check`; its record is copied to the current folder."""
    program = find_program(build)
    here = os.getcwd()

    def place_token(pair):
        """A one-time token, in the folder both hosts see and nobody else may read."""
        token = pair.share / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(16) + "\n")

    def take_records(pair):
        for entry in sorted(pair.out.iterdir()):
            if entry.is_file():
                shutil.copy2(entry, Path(here) / entry.name)
                say(f"record: {entry.name}")

    token = "$LAB_TOKEN_FILE"
    plan = plan_of("cd \"$LAB_OUT\" && exec " + check_command(program, "LAB_TOKEN", further).replace("LAB_TOKEN", f'"{token}"'),
                   "exec " + serve_command(program, "LAB_TOKEN").replace("LAB_TOKEN", f'"{token}"'))
    return run_pair(plan, prepare=place_token, finish=take_records)
