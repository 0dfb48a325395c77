#!/usr/bin/python3
"""Judges records by their schema: schema_check.py [--coverage] FILE_OR_DIRECTORY…

With --self-test, copies of the records with one fault each are judged instead: each fault has to be found.

Each record names its schema; the newest one of that major version in results-schema/ judges it, as draft 2020-12 and as
draft-07 (the schema keeps to what both share). A null that has a `<key>_reason` in the schema must have it in the record,
and a number must not. With --coverage every key that the schema describes must occur in some record.
Exit: 0 all valid, 1 not, 77 no python3-jsonschema here. Whoever imports it judges by faults_of()."""
import json
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "results-schema"
NOT_SHARED = ("prefixItems", "unevaluatedProperties", "unevaluatedItems", "dependentRequired", "dependentSchemas",
              "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "dependencies", "definitions", "additionalItems")


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def parse(text):
    return json.loads(text, parse_constant=refuse_constant)


def load(path):
    return parse(path.read_text(encoding="utf-8"))


def schema_of(record):
    """The newest schema file of the record's major version."""
    name = record.get("schema") if isinstance(record, dict) else record
    match = re.fullmatch(r"https://railgauge\.invalid/schema/record-(\d+)\.(\d+)\.json", str(name))
    if not match:
        raise ValueError(f"names no known schema: {name!r}")
    files = sorted(SCHEMAS.glob(f"record-{match[1]}.*.json"), key=lambda f: int(f.stem.rsplit(".", 1)[1]))
    if not files:
        raise ValueError(f"no schema of major version {match[1]}")
    return files[-1]


def keys_used(node):
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            if key not in ("properties", "$defs"):
                yield from keys_used(value)
            else:
                for inner in value.values():
                    yield from keys_used(inner)
    elif isinstance(node, list):
        for value in node:
            yield from keys_used(value)


class Walk:
    """Goes through a record along its schema: which described keys occur, and whether nulls have their reasons."""

    def __init__(self, schema):
        self.schema = schema
        self.seen = set()
        self.faults = []

    def visit(self, value, node, name, place):
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            node = self.schema["$defs"][name]
        for option in node.get("anyOf", []):
            if value is not None and "$ref" in option:
                self.visit(value, option, name, place)
        if isinstance(value, dict):
            self.visit_object(value, node, name, place)
        elif isinstance(value, list) and "items" in node:
            for index, item in enumerate(value):
                self.visit(item, node["items"], name, f"{place}[{index}]")

    def visit_object(self, value, node, name, place):
        described = node.get("properties", {})
        required = node.get("required", [])
        for key, item in value.items():
            inner = described.get(key, node.get("additionalProperties"))
            if key in described:
                self.seen.add((name, key))
            if isinstance(inner, dict):
                self.visit(item, inner, name, f"{place}.{key}")
        for key in described:
            if not key.endswith("_reason") or key in required:
                continue
            base = key[: -len("_reason")]
            if base in value and (value[base] is None) != (key in value):
                self.faults.append(f"{place}.{base}: a null and its reason go together")

    def never_seen(self):
        objects = {"record": self.schema, **self.schema["$defs"]}
        for name, node in objects.items():
            for key in node.get("properties", {}):
                # A reason needs no example of its own where its key has one: they go together, which visit_object checks.
                base = key[: -len("_reason")] if key.endswith("_reason") else key
                if (name, key) not in self.seen and (name, base) not in self.seen:
                    yield f"{name}.{key} is described, and no record has it"


def faults_of(text, place):
    """What is wrong with one record, given as text; `place` begins each sentence."""
    if jsonschema is None:
        return ["python3-jsonschema is not installed: scripts/packages test"]
    try:
        return list(check_record(parse(text), place, {}))
    except ValueError as error:
        return [f"{place}: {error}"]


def check_record(record, path, walks):
    file = schema_of(record)
    schema = load(file)
    walk = walks.setdefault(file, Walk(schema))
    for validator in (jsonschema.Draft202012Validator, jsonschema.Draft7Validator):
        # draft-07 has no $defs of its own but follows a $ref into it.
        for error in sorted(validator(schema).iter_errors(record), key=str):
            yield f"{path}: {error.json_path if hasattr(error, 'json_path') else list(error.path)}: {error.message[:300]}"
    walk.faults.clear()
    walk.visit(record, schema, "record", "$")
    yield from (f"{path}: {fault}" for fault in walk.faults)


def check_schemas():
    for file in sorted(SCHEMAS.glob("record-*.json")):
        schema = load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        if schema["$id"].rsplit("/", 1)[1] != file.name:
            yield f"{file}: its $id is {schema['$id']}"
        for key in set(keys_used(schema)) & set(NOT_SHARED):
            yield f"{file}: {key} is not in the subset that draft 2020-12 shares with draft-07"


def files_of(arguments):
    for argument in arguments:
        path = pathlib.Path(argument)
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]


def break_record(record):
    """(what, broken copy) for faults that a validator must see."""
    def broken(what, change):
        copy = json.loads(json.dumps(record))
        change(copy)
        return what, copy
    yield broken("missing key", lambda r: r.pop("run_id"))
    yield broken("mistyped key", lambda r: r["verdict"].update(causes="x"))
    yield broken("text for a number", lambda r: r.update(wall_ns="7"))
    yield broken("negative count", lambda r: r["nodes"][0].update(clock_read_cost_ns=-3))
    yield broken("unknown word", lambda r: r["verdict"].update(word="pass"))
    yield broken("null without its reason", lambda r: r["nodes"][0]["facts"].update(kernel_command_line=None, kernel_command_line_reason=None))
    yield broken("null alone", lambda r: r["nodes"][0]["facts"].update(load_average_1min=None) or r["nodes"][0]["facts"].pop("load_average_1min_reason", None))
    yield broken("reason beside a value", lambda r: r["nodes"][0]["facts"].update(kernel_command_line="x", kernel_command_line_reason="y"))
    yield broken("unknown schema", lambda r: r.update(schema="https://example.org/record-1.0.json"))


def self_test(files):
    faults = []
    for path in files:
        for what, copy in break_record(load(path)):
            if not faults_of(json.dumps(copy), what):
                faults.append(f"{path}: {what} was not found")
    print("\n".join(faults) if faults else f"every fault was found in {len(files)} records")
    return 1 if faults or not files else 0


def main():
    if jsonschema is None:
        print("python3-jsonschema is not installed: skipped")
        return 77
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    files = list(files_of(arguments))
    if "--self-test" in sys.argv:
        return self_test(files)
    faults = list(check_schemas())
    walks = {}
    for path in files:
        try:
            faults += check_record(load(path), path, walks)
        except (OSError, ValueError) as error:
            faults.append(f"{path}: {error}")
    if "--coverage" in sys.argv:
        for walk in walks.values():
            faults += walk.never_seen()
    if not files:
        faults.append("no record found in: " + " ".join(arguments))
    print("\n".join(faults) if faults else f"{len(files)} records are valid")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
