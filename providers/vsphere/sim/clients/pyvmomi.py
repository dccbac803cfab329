"""Reads a vCenter with pyVmomi. Arguments: the URL of a simulator with three machines, and its cloud.conf."""

import configparser
import ssl
import sys
import urllib.parse

from pyVim.connect import Disconnect, SmartConnect
from pyVmomi import vim

NODES = {"node-1": "10.0.0.1", "node-2": "10.0.0.2", "node-3": "10.0.0.3"}


def connect(url, user, password):
    context = ssl._create_unverified_context()  # The simulator's certificate is signed by nobody.
    return SmartConnect(host=url.hostname, port=url.port, user=user, pwd=password, sslContext=context)


def main():
    url = urllib.parse.urlparse(sys.argv[1])
    config = configparser.ConfigParser(interpolation=None)
    config.read(sys.argv[2])
    user, password = config["Global"]["user"], config["Global"]["password"].strip('"')

    service = connect(url, user, password)
    content = service.RetrieveContent()
    assert content.about.apiType == "VirtualCenter", content.about
    assert content.sessionManager.currentSession.userName == user

    view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
    found = {vm.name: vm for vm in view.view}
    assert sorted(found) == sorted(NODES), found
    for name, address in NODES.items():
        vm = found[name]
        assert vm.guest.hostName == name and vm.summary.guest.hostName == name, vm.guest
        assert [list(nic.ipAddress) for nic in vm.guest.net] == [[address]], vm.guest.net
        assert vm.summary.runtime.powerState == vm.runtime.powerState == "poweredOn", vm.summary.runtime
        assert vm.summary.runtime.host == vm.runtime.host, vm.summary.runtime
        assert isinstance(vm.runtime.host.parent, vim.ClusterComputeResource), vm.runtime.host.parent
        assert vm.summary.config.uuid == vm.config.uuid, vm.config
        index = content.searchIndex
        assert index.FindByUuid(None, vm.config.uuid, True, False) == vm
        assert index.FindByDnsName(None, name, True) == vm
        assert index.FindByIp(None, address, True) == vm
    view.Destroy()
    Disconnect(service)

    try:
        connect(url, user, "wrong")
    except vim.fault.InvalidLogin:
        pass
    else:
        sys.exit("pyvmomi: a wrong password was accepted")
    print(f"pyvmomi: {len(NODES)} machines read by API version {content.about.apiVersion}")


main()
