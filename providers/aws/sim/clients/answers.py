"""Compares what went over the wire with what AWS documents.

Usage: answers.py WORK EXCEPTIONS, run by the Python of Debian's awscli package, which holds both
halves of the documentation: the model of each service, from which the API reference is made, and
the examples of the command reference.

Two things are an error: an element in an answer that the model does not have, because every client
would drop it without a word, and a field that an example shows and no answer of that operation had.
EXCEPTIONS lists those that are none, as SERVICE.COMMAND.FIELD in regular expressions, with the reasons.
"""
import ast
import collections
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree as xml

import awscli

HOME = os.path.dirname(awscli.__file__)


def model(service):
    return json.load(open(sorted(glob.glob(f"{HOME}/botocore/data/{service}/*/service-2.json"))[-1]))


def bodies(log):
    """The documents in a log of the command line, with whether they are errors."""
    text = open(log, errors="replace").read()
    for literal in re.findall(r"Response body:\n(b'.*'|b\".*\")$", text, re.M):
        body = ast.literal_eval(literal)
        if body.lstrip().startswith(b"<?xml"):
            yield xml.fromstring(body)


def local(element):
    return element.tag.rsplit("}", 1)[-1]


class Walk:
    """Notes the fields of an answer by the names that the command line gives them, and what the model does not know."""

    def __init__(self, shapes):
        self.shapes, self.fields, self.unknown = shapes, set(), set()

    def value(self, element, name, path):
        shape = self.shapes[name]
        if shape["type"] == "structure":
            self.structure(element, shape, path)
        elif shape["type"] == "list":
            item = "item" if "locationName" not in shape["member"] else shape["member"]["locationName"]
            for child in element:
                if local(child) not in (item, "member"):
                    self.unknown.add(f"{path}.{local(child)}")
                else:
                    self.value(child, shape["member"]["shape"], path + "[]")

    def structure(self, element, shape, path):
        members = {m.get("locationName", name): (name, m) for name, m in shape["members"].items()}
        for child in element:
            if local(child) not in members:
                self.unknown.add(f"{path}.{local(child)}".lstrip("."))
                continue
            name, member = members[local(child)]
            here = f"{path}.{name}" if path else name
            self.fields.add(here)
            self.value(child, member["shape"], here)


def examples(service, command):
    """The fields that the command reference's examples show."""
    fields, path = set(), f"{HOME}/examples/{service}/{command}.rst"
    if not os.path.exists(path):
        return fields
    for block in re.findall(r"^( +)\{\n((?:\1.*\n|\n)*)", open(path).read(), re.M):
        try:
            walk_json(json.loads("{" + block[1]), "", fields)
        except ValueError:
            pass  # An example that was shortened by hand.
    return fields


def walk_json(value, path, fields):
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{path}.{key}" if path else key
            fields.add(here)
            walk_json(inner, here, fields)
    elif isinstance(value, list):
        for inner in value:
            walk_json(inner, path + "[]", fields)


def main(work, exceptions):
    patterns = [line.split("#")[0].strip() for line in open(exceptions)]
    excused = [re.compile(pattern) for pattern in patterns if pattern]

    def odd(service, command, fields):
        return sorted(f for f in fields if not any(e.fullmatch(f"{service}.{command}.{f}") for e in excused))

    seen = collections.defaultdict(set)
    problems, models = [], {}
    for log in glob.glob(f"{work}/**/wire.*", recursive=True):
        service, command = os.path.basename(log).split(".")[1:3]
        m = models.setdefault(service, model(service))
        for document in bodies(log):
            name = local(document).removesuffix("Response")
            if name not in m["operations"]:
                continue  # An error, or the operation of a waiter that another service has too.
            output = m["operations"][name].get("output", {})
            walk = Walk(m["shapes"])
            root = next((c for c in document if local(c) == name + "Result"), document)
            if "shape" in output:
                body = [c for c in root if local(c) not in ("requestId", "ResponseMetadata")]
                copy = xml.Element("root")
                copy.extend(body)
                walk.structure(copy, m["shapes"][output["shape"]], "")
            problems += [f"{service} {command}: the API reference knows no {u}" for u in odd(service, command, walk.unknown)]
            seen[service, command] |= walk.fields
    for (service, command), fields in sorted(seen.items()):
        for field in odd(service, command, examples(service, command) - fields):
            problems.append(f"{service} {command}: the command reference shows {field}, which no answer had")
    for problem in sorted(set(problems)):
        print("FAIL", problem, file=sys.stderr)
    print(f"{len(seen)} commands: {sum(map(len, seen.values()))} fields compared with AWS' documentation, {len(set(problems))} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
