"""Neutron without agents: the reports of agents come immediately.

Requests, checks and records are Neutron's own. Without this, every port would
stay unbound and every floating IP DOWN, because no agent wires them.
"""

from neutron.services.l3_router import l3_router_plugin
from neutron_lib import constants
from neutron_lib import context
from neutron_lib.api.definitions import portbindings
from neutron_lib.callbacks import events
from neutron_lib.callbacks import registry
from neutron_lib.callbacks import resources
from neutron_lib.plugins import directory
from neutron_lib.plugins.ml2 import api


class Ports(api.MechanismDriver):
    """Binds every port on the requested host."""

    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self):
        """Needs no preparation."""

    def bind_port(self, context):
        segment = context.segments_to_bind[0]
        context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OVS,
                            {portbindings.CAP_PORT_FILTER: True},
                            constants.PORT_STATUS_ACTIVE)

    def create_port_postcommit(self, context):
        report_router_port(context.current)

    def update_port_postcommit(self, context):
        report_router_port(context.current)


def report_router_port(port):
    """Reports a router's port as active: routers have no host, so that no driver binds these."""
    owners = (constants.DEVICE_OWNER_ROUTER_INTF, constants.DEVICE_OWNER_ROUTER_GW)
    if port['device_owner'] in owners and port['status'] != constants.PORT_STATUS_ACTIVE:
        directory.get_plugin().update_port_status(
            context.get_admin_context(), port['id'], constants.PORT_STATUS_ACTIVE)


@registry.has_registry_receivers
class Routers(l3_router_plugin.L3RouterPlugin):
    """Reports floating IPs as active while they have a port."""

    @registry.receives(resources.FLOATING_IP, (events.AFTER_CREATE, events.AFTER_UPDATE))
    def report_floating_ip(self, resource, event, trigger, payload):
        has_port = bool(payload.latest_state['port_id'])
        self.update_floatingip_status(
            payload.context.elevated(), payload.resource_id,
            constants.FLOATINGIP_STATUS_ACTIVE if has_port else constants.FLOATINGIP_STATUS_DOWN)
