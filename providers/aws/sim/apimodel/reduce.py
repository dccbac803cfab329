#!/usr/bin/env python3
"""Writes model.json: what the AWS SDK's service models say about the requests of the simulated operations.

Usage: reduce.py >model.json, run by a Python with botocore (Debian: apt-get install python3-botocore).
botocore holds the models from which AWS generates its SDKs and its API references. Texts of the documentation
are left out.
"""
import glob
import gzip
import json
import os
import re

import botocore

HERE = os.path.dirname(os.path.abspath(__file__))
# The packages of the simulator that register the operations of a service.
PACKAGES = {"ec2": ["ec2"], "elb": ["classic", "elb"], "elbv2": ["nlb", "elb"], "sts": ["sts"]}
# Longer lists, of instance types, grow with each release.
MAX_ENUM = 100
# Go's regular expressions have no \uXXXX, and the models' five digits after it are no valid range in any language.
UNSUPPORTED = re.compile(r"\\u[0-9A-F]{5}")


def model(service):
    path = sorted(glob.glob(f"{botocore.__path__[0]}/data/{service}/*/service-2.json*"))[-1]
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as f:
        return json.load(f)


def operations(service):
    names = set()
    for package in PACKAGES[service]:
        for path in glob.glob(f"{HERE}/../{package}/*.go"):
            with open(path, encoding="utf-8") as f:
                names.update(re.findall(r'core\.(?:Read|Write|Describe)\("(\w+)"', f.read()))
    return names


def wire_name(service, name, member):
    """The name of a member in a request. EC2 has a name of its own for requests or a capital letter."""
    if service != "ec2":
        return member.get("locationName", name)
    location = member.get("locationName", name)
    return member.get("queryName", location[0].upper() + location[1:])


def reduce_shape(service, shape):
    out = {k: shape[k] for k in ("type", "min", "max", "enum") if k in shape}
    if len(out.get("enum", [])) > MAX_ENUM:
        del out["enum"]
    pattern = shape.get("pattern")
    if pattern and not UNSUPPORTED.search(pattern):
        out["pattern"] = re.sub(r"\\u([0-9A-F]{4})", r"\\x{\1}", pattern)
    if shape["type"] == "structure":
        members = shape["members"]
        names = {name: wire_name(service, name, member) for name, member in members.items()}
        out["members"] = {names[name]: member["shape"] for name, member in members.items()}
        out["required"] = [names[name] for name in shape.get("required", [])]
    elif shape["type"] == "list":
        out["item"] = shape["member"]["shape"]
    return {k: v for k, v in out.items() if v != []}


def reduce_service(service):
    full = model(service)
    requests, shapes = {}, {}
    todo = []
    for name in sorted(operations(service) & full["operations"].keys()):
        requests[name] = full["operations"][name]["input"]["shape"] if "input" in full["operations"][name] else ""
        todo.append(requests[name])
    while todo:
        name = todo.pop()
        if not name or name in shapes:
            continue
        shapes[name] = reduce_shape(service, full["shapes"][name])
        todo += [*shapes[name].get("members", {}).values(), *filter(None, [shapes[name].get("item")])]
    return requests, shapes


def lines(mapping, indent):
    """A JSON object with a line for each member."""
    members = (f"{indent}\t{json.dumps(k)}: {json.dumps(mapping[k], sort_keys=True)}" for k in sorted(mapping))
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def service_lines(name):
    requests, shapes = reduce_service(name)
    indent = "\t\t\t"
    return (f'\t\t"{name}": {{\n{indent}"requests": {lines(requests, indent)},\n'
            f'{indent}"shapes": {lines(shapes, indent)}\n\t\t}}')


print(f'{{\n\t"source": "botocore {botocore.__version__}",\n\t"services": {{')
print(",\n".join(map(service_lines, sorted(PACKAGES))))
print("\t}\n}")
