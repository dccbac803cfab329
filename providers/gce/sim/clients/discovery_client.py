"""Drives simulated Compute Engine with Google's client for Python, which reads Google's description of the API: the
resources of an internal load balancer.

Usage: discovery_client.py ENDPOINT TOKEN DESCRIPTION
"""

import json
import sys
import uuid

import httplib2
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError

PROJECT, REGION, ZONE = "simulated", "europe-west1", "europe-west1-b"


class Bearer(httplib2.Http):
    """A connection with a token."""

    def __init__(self, token):
        super().__init__()
        self.token = token

    def request(self, uri, method="GET", body=None, headers=None, **kwargs):  # pylint: disable=arguments-differ
        headers = dict(headers or {}, authorization="Bearer " + self.token)
        return super().request(uri, method=method, body=body, headers=headers, **kwargs)


def connect(endpoint, token, path):
    with open(path, encoding="utf-8") as file:
        description = json.load(file)
    description["rootUrl"], description["baseUrl"] = endpoint + "/", endpoint + "/compute/v1/"
    return build_from_document(description, http=Bearer(token))


def check(what, have, want):
    if have != want:
        sys.exit(f"googleapiclient: {what} is {have!r}, want {want!r}")


def wait(gce, request):
    """Executes a request and waits for its operation."""
    op = request.execute()
    while op["status"] != "DONE":
        if "zone" in op:
            op = gce.zoneOperations().wait(project=PROJECT, zone=op["zone"].rsplit("/", 1)[1], operation=op["name"]).execute()
        elif "region" in op:
            op = gce.regionOperations().wait(project=PROJECT, region=REGION, operation=op["name"]).execute()
        else:
            op = gce.globalOperations().wait(project=PROJECT, operation=op["name"]).execute()
    if "error" in op:
        sys.exit(f"googleapiclient: {op['operationType']} failed: {op['error']}")
    return op


def main():
    gce = connect(*sys.argv[1:4])
    region, zone = {"project": PROJECT, "region": REGION}, {"project": PROJECT, "zone": ZONE}
    page = gce.instances().aggregatedList(project=PROJECT, maxResults=2, returnPartialSuccess=True)
    names = []
    while page is not None:
        answer = page.execute()
        for part in answer["items"].values():
            names += [i["name"] for i in part.get("instances", [])]
        page = gce.instances().aggregatedList_next(page, answer)
    check("nodes", sorted(names), ["node-1", "node-2", "node-3"])

    group = {"name": "py"}
    wait(gce, gce.instanceGroups().insert(body=group, **zone))
    wait(gce, gce.instanceGroups().addInstances(instanceGroup="py", body={
        "instances": [{"instance": f"zones/{ZONE}/instances/node-1"}]}, **zone))
    group = gce.instanceGroups().get(instanceGroup="py", **zone).execute()
    check("size", group["size"], 1)
    wait(gce, gce.regionHealthChecks().insert(body={"name": "py", "type": "TCP", "tcpHealthCheck": {"port": 80}}, **region))
    check_url = gce.regionHealthChecks().get(healthCheck="py", **region).execute()["selfLink"]
    body = {"name": "py", "loadBalancingScheme": "INTERNAL", "protocol": "UDP", "healthChecks": [check_url],
            "backends": [{"group": group["selfLink"]}]}
    first = str(uuid.uuid4())
    operations = {wait(gce, gce.regionBackendServices().insert(body=body, requestId=first, **region))["name"] for _ in "ab"}
    check("operations of one request ID", len(operations), 1)
    service = gce.regionBackendServices().get(backendService="py", **region).execute()
    service["sessionAffinity"] = "CLIENT_IP"
    wait(gce, gce.regionBackendServices().update(backendService="py", body=service, **region))
    try:
        gce.regionBackendServices().update(backendService="py", body=service, **region).execute()
        sys.exit("googleapiclient: an old fingerprint was accepted")
    except HttpError as error:
        check("status for an old fingerprint", error.resp.status, 412)
    subnet = gce.subnetworks().get(subnetwork="default", **region).execute()
    wait(gce, gce.addresses().insert(body={"name": "py", "addressType": "INTERNAL", "subnetwork": subnet["selfLink"]}, **region))
    address = gce.addresses().get(address="py", **region).execute()["address"]
    wait(gce, gce.forwardingRules().insert(body={"name": "py", "loadBalancingScheme": "INTERNAL", "IPProtocol": "UDP",
                                                 "ports": ["53"], "IPAddress": address, "backendService": service["selfLink"],
                                                 "subnetwork": subnet["selfLink"]}, **region))
    rule = gce.forwardingRules().get(forwardingRule="py", **region).execute()
    check("address", rule["IPAddress"], address)
    wait(gce, gce.forwardingRules().patch(forwardingRule="py", body={"allowGlobalAccess": True,
                                                                     "fingerprint": rule["fingerprint"]}, **region))
    wait(gce, gce.firewalls().insert(project=PROJECT, body={
        "name": "py", "network": subnet["network"], "allowed": [{"IPProtocol": "tcp", "ports": ["80"]}]}))
    health = gce.regionBackendServices().getHealth(backendService="py", body={"group": group["selfLink"]}, **region).execute()
    check("health", [h["healthState"] for h in health["healthStatus"]], ["HEALTHY"])
    items = gce.forwardingRules().list(filter="name eq p.*", fields="items(name)", **region).execute()["items"]
    check("rules", items, [{"name": "py"}])

    wait(gce, gce.forwardingRules().delete(forwardingRule="py", **region))
    wait(gce, gce.regionBackendServices().delete(backendService="py", **region))
    wait(gce, gce.regionHealthChecks().delete(healthCheck="py", **region))
    wait(gce, gce.instanceGroups().removeInstances(instanceGroup="py", body={
        "instances": [{"instance": f"zones/{ZONE}/instances/node-1"}]}, **zone))
    wait(gce, gce.instanceGroups().delete(instanceGroup="py", **zone))
    wait(gce, gce.firewalls().delete(project=PROJECT, firewall="py"))
    wait(gce, gce.addresses().delete(address="py", **region))
    print("googleapiclient: all calls had their result")


main()
