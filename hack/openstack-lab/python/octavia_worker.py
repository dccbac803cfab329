"""Octavia's worker, with a fix for a bug of version 11.0.0.

A load balancer that is created together with its listeners becomes ACTIVE there,
while the listeners and all their children stay PENDING_CREATE: the arguments of a
task flow do not reach its builder, and the flow lacks one of its tasks. Later
versions have neither bug.
"""

import functools
import sys

from octavia.cmd import octavia_worker
from octavia.common import constants
from octavia.controller.worker.v2 import controller_worker
from octavia.controller.worker.v2.flows import load_balancer_flows
from octavia.controller.worker.v2.tasks import amphora_driver_tasks
from octavia.controller.worker.v2.tasks import network_tasks


def keeping_arguments(run_flow):
    """Makes run_flow pass its keyword arguments, except the store, to the builder of the flow."""
    @functools.wraps(run_flow)
    def run(worker, build, *args, **kwargs):
        store = {'store': kwargs.pop('store')} if 'store' in kwargs else {}
        return run_flow(worker, functools.partial(build, **kwargs), *args, **store)
    return run


def with_network_configuration(create_listeners_flow):
    """Adds the task before the first one that needs its result."""
    @functools.wraps(create_listeners_flow)
    def create(flows):
        out = []
        for task in create_listeners_flow(flows):
            if isinstance(task, amphora_driver_tasks.AmphoraePostNetworkPlug):
                out.append(network_tasks.GetAmphoraeNetworkConfigs(
                    requires=constants.LOADBALANCER_ID, provides=constants.AMPHORAE_NETWORK_CONFIG))
            out.append(task)
        return out
    return create


def patch(owner, name, decorator):
    setattr(owner, name, decorator(getattr(owner, name)))


if __name__ == '__main__':
    patch(controller_worker.ControllerWorker, 'run_flow', keeping_arguments)
    patch(load_balancer_flows.LoadBalancerFlows, '_create_listeners_flow', with_network_configuration)
    sys.exit(octavia_worker.main())
