"""JSON Schema and reader agree: both are asked about the same fixtures of tests/unit.

The reader's half is tests/unit/job/fixtures_test.cpp and tests/unit/policies/fixtures_test.cpp.
"""
import json
import re

import jsonschema
import pytest
import tree
import yaml

SCHEMAS = {"job": "supervisor/job/schema/job.json", "policies": "policies/schema/policy.json"}


class Yaml12Loader(yaml.SafeLoader):
    """The core schema of YAML 1.2: without base 60, without yes and no, without dates."""


Yaml12Loader.yaml_implicit_resolvers = {}
for tag, pattern in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?",
}.items():
    Yaml12Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), None)


def cases(verdict):
    for room in SCHEMAS:
        text = (tree.ROOT / f"tests/unit/{room}/fixtures/{verdict}.txt").read_text(encoding="utf-8")
        for part in text.split("=== ")[1:]:
            title, body = part.split("\n", 1)
            yield pytest.param(room, body, id=f"{room}: {title}")


def schema(room):
    return json.loads((tree.ROOT / SCHEMAS[room]).read_text(encoding="utf-8"))


def validator(room):
    policy = schema("policies")
    resolver = jsonschema.RefResolver.from_schema(schema(room), store={policy["$id"]: policy})
    return jsonschema.Draft202012Validator(schema(room), resolver=resolver)


@pytest.mark.parametrize("room", SCHEMAS)
def test_the_schema_is_a_schema(room):
    jsonschema.Draft202012Validator.check_schema(schema(room))


@pytest.mark.parametrize("room, text", cases("pass"))
def test_the_schema_accepts_what_the_reader_accepts(room, text):
    errors = [error.message for error in validator(room).iter_errors(yaml.load(text, Yaml12Loader))]
    assert errors == [], text


@pytest.mark.parametrize("room, text", cases("fail"))
def test_the_schema_refuses_what_the_reader_refuses(room, text):
    assert not validator(room).is_valid(yaml.load(text, Yaml12Loader)), text


def keys_of(node):
    """Every key that the schema knows, as the reader would name it."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for value in node.values():
            yield from keys_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from keys_of(value)


@pytest.mark.parametrize("room, sources", [
    ("job", ["read_agent.cpp", "read_sections.cpp", "read_secret.cpp", "read_source.cpp", "read_terms.cpp",
             "job_reader.cpp", "fields.cpp"]),
    ("policies", ["policy_reader.cpp", "rule_reader.cpp"]),
])
def test_schema_and_reader_know_the_same_keys(room, sources):
    folder = (tree.ROOT / SCHEMAS[room]).parent.parent
    text = "".join((folder / source).read_text(encoding="utf-8") for source in sources)
    call = r'fields\.(?:find|need|text|needText|texts|boolean|integer|size|duration|mode)\(\s*"(\w+)"'
    helper = (r'(?:readPath|readFilePath|readRules|readPatterns|readWord|readVaultPath|readNumber<[\w:]+>)'
              r'\(\s*fields,\s*"(\w+)"')
    asked = set(re.findall(call, text)) | set(re.findall(helper, text)) | {"version"}
    assert asked == set(keys_of(schema(room)))
