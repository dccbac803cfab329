"""Drives simulated Compute Engine with libcloud's driver: the resources of an external load balancer, and routes.

Usage: libcloud_gce.py ENDPOINT TOKEN
"""

import json
import os
import sys
import tempfile
from urllib.parse import urlparse

from libcloud.common.google import InvalidRequestError, ResourceNotFoundError
from libcloud.compute.drivers.gce import GCEConnection, GCENodeDriver

PROJECT, REGION, ZONE = "simulated", "europe-west1", "europe-west1-b"


def connect(endpoint, token):
    """Returns a driver for an endpoint, with a token in the file in which the driver keeps it."""
    url = urlparse(endpoint)

    class Connection(GCEConnection):
        """The driver's connection, with the host and the port of the endpoint."""

        host, poll_interval = url.hostname, 0.05

        def connect(self, *args, **kwargs):
            self.port = url.port
            super().connect(*args, **kwargs)

    GCENodeDriver.connectionCls = Connection
    path = os.path.join(tempfile.mkdtemp(), "token")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"access_token": token, "token_type": "Bearer", "expires_in": 3600,
                   "expire_time": "2999-01-01T00:00:00Z"}, file)
    return GCENodeDriver("ccm@simulated.iam.gserviceaccount.com", "unused", project=PROJECT, datacenter=ZONE,
                         auth_type="IA", credential_file=path, secure=False)


def check(what, have, want):
    if have != want:
        sys.exit(f"libcloud: {what} is {have!r}, want {want!r}")


def main():
    gce = connect(sys.argv[1], sys.argv[2])
    gce._ex_populate_volume_dict = lambda: None  # Disks are not simulated.
    check("zones", sorted(z.name for z in gce.ex_list_zones()), [f"{REGION}-{x}" for x in "bcd"])
    check("nodes", sorted(n.name for n in gce.list_nodes(ex_zone="all")), ["node-1", "node-2", "node-3"])
    check("network", gce.ex_get_network("default").name, "default")
    check("subnet", gce.ex_get_subnetwork("default", REGION).cidr, "10.132.0.0/18")

    health = gce.ex_create_healthcheck("lc", port=10256, path="/healthz", interval=8, timeout=1)
    pool = gce.ex_create_targetpool("lc", region=REGION, healthchecks=["lc"], session_affinity="CLIENT_IP")
    check("addition", pool.add_node(gce.ex_get_node("node-1", ZONE)), True)
    check("members", [n.name for n in gce.ex_get_targetpool("lc", REGION).nodes], ["node-1"])
    address = gce.ex_create_address("lc", region=REGION)
    rule = gce.ex_create_forwarding_rule("lc", target=pool, region=REGION, protocol="TCP", port_range="80-443",
                                         address=address)
    check("address of the rule", rule.address, address.address)
    check("users", len(gce.ex_get_address("lc", REGION).extra["users"]), 1)
    firewall = gce.ex_create_firewall("lc", [{"IPProtocol": "tcp", "ports": ["80", "443"]}], network="default",
                                      source_ranges=["0.0.0.0/0"], target_tags=["nodes"])
    firewall.source_ranges = ["192.0.2.0/24"]
    gce.ex_update_firewall(firewall)
    check("source ranges", gce.ex_get_firewall("lc").source_ranges, ["192.0.2.0/24"])
    check("health", len(pool.get_health(gce.ex_get_node("node-1", ZONE))), 1)

    try:
        gce.ex_destroy_targetpool(pool)
        sys.exit("libcloud: a target pool in use was deleted")
    except InvalidRequestError:
        pass

    group = gce.ex_create_instancegroup("lc", ZONE, network=gce.ex_get_network("default"))
    gce.ex_instancegroup_add_instances(group, [gce.ex_get_node("node-1", ZONE)])
    check("group", [n.name for n in gce.ex_instancegroup_list_instances(gce.ex_get_instancegroup("lc", ZONE))], ["node-1"])
    gce.ex_create_route("lc", "10.244.9.0/24", network="default", next_hop=gce.ex_get_node("node-2", f"{REGION}-c"))
    check("routes", [r.dest_range for r in gce.ex_list_routes()], ["10.244.9.0/24"])

    gce.ex_destroy_route(gce.ex_get_route("lc"))
    gce.ex_destroy_instancegroup(gce.ex_get_instancegroup("lc", ZONE))
    gce.ex_destroy_firewall(firewall)
    gce.ex_destroy_forwarding_rule(rule)
    gce.ex_destroy_targetpool(pool)
    gce.ex_destroy_healthcheck(health)
    gce.ex_destroy_address(address)
    try:
        gce.ex_get_forwarding_rule("lc", REGION)
        sys.exit("libcloud: a forwarding rule that was deleted exists")
    except ResourceNotFoundError:
        pass
    print("libcloud: all calls had their result")


main()
