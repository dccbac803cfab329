"""Creates the objects that are missing in the lab's cloud.

    provision.py identity    projects, users, roles, and the catalogue
    provision.py cloud       networks, flavors and images, and the files of clients
    provision.py hypervisor  fails unless Nova has one with an inventory

Passwords and addresses come in the environment; see provision in services.sh.
"""

import os
import sys

import openstack

LAB = os.environ['LAB']
PASSWORD = os.environ['PASSWORD']
KEYSTONE = os.environ['KEYSTONE']
REGION = 'RegionOne'
TENANT = 'k8s'

# The services except Keystone, which registers itself: the type and the user of each.
SERVICES = {'image': 'glance', 'placement': 'placement', 'compute': 'nova', 'network': 'neutron',
            'load-balancer': 'octavia', 'key-manager': 'barbican'}
# The roles that the default policies of Octavia and Barbican require for load balancers and certificates.
TENANT_ROLES = ['member', 'load-balancer_member', 'creator']
OTHER_ROLES = ['service', 'load-balancer_observer', 'load-balancer_global_observer',
               'load-balancer_quota_admin', 'load-balancer_admin']


def connect(user, project):
    return openstack.connect(
        auth_url=KEYSTONE, username=user, password=PASSWORD, project_name=project, user_domain_name='Default',
        project_domain_name='Default', region_name=REGION, identity_api_version='3')


def identity():
    keystone = connect('admin', 'admin').identity
    projects = {name: keystone.find_project(name) or keystone.create_project(name=name, domain_id='default')
                for name in ('service', TENANT)}
    roles = {name: keystone.find_role(name) or keystone.create_role(name=name)
             for name in ['admin'] + TENANT_ROLES + OTHER_ROLES}

    def user(name, project, its_roles):
        account = keystone.find_user(name) or keystone.create_user(
            name=name, password=PASSWORD, domain_id='default')
        for role in its_roles:
            keystone.assign_project_role_to_user(projects[project], account, roles[role])

    user(TENANT, TENANT, TENANT_ROLES)
    for name in SERVICES.values():
        user(name, 'service', ['admin', 'service'])
    registered = {service.type for service in keystone.services()}
    for kind in SERVICES.keys() - registered:
        service = keystone.create_service(type=kind, name=SERVICES[kind])
        url = os.environ[kind.upper().replace('-', '_')]
        for interface in ('public', 'internal', 'admin'):
            keystone.create_endpoint(service_id=service.id, interface=interface, url=url, region_id=REGION)


def cloud():
    admin, tenant = connect('admin', 'admin'), connect(TENANT, TENANT)
    public, _ = network(admin, 'public', '172.24.0.0/16', gateway_ip='172.24.0.1', enable_dhcp=False,
                        of_network={'is_router_external': True, 'provider_network_type': 'flat',
                                    'provider_physical_network': 'outside'})
    # The upper quarter is outside of the allocation pool: it is for addresses that a request names.
    private, subnet = network(tenant, 'private', '10.0.0.0/22', gateway_ip='10.0.0.1',
                              allocation_pools=[{'start': '10.0.0.2', 'end': '10.0.2.255'}])
    router = tenant.network.find_router('router') or tenant.network.create_router(
        name='router', external_gateway_info={'network_id': public.id})
    if not any(tenant.network.ports(device_id=router.id, network_id=private.id)):
        tenant.network.add_interface_to_router(router, subnet_id=subnet.id)
    for number, (name, megabytes, for_all) in enumerate(
            [('m1.tiny', 512, True), ('m1.small', 2048, True), ('amphora', 1024, False)], start=1):
        # Extra specs would need another request, with a version that the SDK does not negotiate.
        if not admin.compute.find_flavor(name, get_extra_specs=False):
            admin.compute.create_flavor(name=name, id=str(number), vcpus=1, ram=megabytes, disk=1, is_public=for_all)
    image(admin, 'tiny', visibility='public')
    amphorae(connect('octavia', 'service'))
    write_client_files({'PROJECT_ID': tenant.current_project_id, 'PUBLIC_NETWORK': public.id,
                      'PRIVATE_NETWORK': private.id, 'PRIVATE_SUBNET': subnet.id, 'ROUTER': router.id})


def network(conn, name, cidr, of_network=None, **of_subnet):
    """A network with one IPv4 subnet."""
    found = conn.network.find_network(name) or conn.network.create_network(name=name, **(of_network or {}))
    subnets = list(conn.network.subnets(network_id=found.id))
    return found, subnets[0] if subnets else conn.network.create_subnet(
        name=name + '-subnet', network_id=found.id, ip_version=4, cidr=cidr, **of_subnet)


def image(conn, name, **attributes):
    """An image of a single byte: the fake hypervisor does not read it."""
    if conn.image.find_image(name):
        return
    path = os.path.join(LAB, 'state', 'image')
    with open(path, 'wb') as file:
        file.write(b'\0')
    conn.create_image(name, filename=path, disk_format='raw', container_format='bare', wait=True,
                      use_import=False, validate_checksum=False, **attributes)


def amphorae(octavia):
    """What Octavia boots its amphorae from and connects them to, written into its configuration."""
    management, _ = network(octavia, 'management', '192.168.0.0/20', gateway_ip=None)
    group = octavia.network.find_security_group('amphorae') or octavia.network.create_security_group(name='amphorae')
    image(octavia, 'amphora', visibility='private', tags=['amphora'])
    with open(os.path.join(LAB, 'etc', 'amphorae.conf'), 'w') as file:
        file.write('[controller_worker]\namp_flavor_id = 3\namp_image_owner_id = %s\n'
                   'amp_boot_network_list = %s\namp_secgroup_list = %s\n'
                   % (octavia.current_project_id, management.id, group.id))


def write_client_files(ids):
    """openrc and openrc-admin for shells, and cloud.conf for a cloud controller manager of the tenant."""
    for name, user in (('openrc', TENANT), ('openrc-admin', 'admin')):
        variables = {'OS_AUTH_URL': KEYSTONE, 'OS_IDENTITY_API_VERSION': '3', 'OS_REGION_NAME': REGION,
                     'OS_USERNAME': user, 'OS_PASSWORD': PASSWORD, 'OS_PROJECT_NAME': user,
                     'OS_USER_DOMAIN_NAME': 'Default', 'OS_PROJECT_DOMAIN_NAME': 'Default'}
        variables.update({'LAB_' + key: value for key, value in ids.items()})
        with open(os.path.join(LAB, name), 'w') as file:
            file.writelines("export %s='%s'\n" % pair for pair in variables.items())
    with open(os.path.join(LAB, 'cloud.conf'), 'w') as file:
        file.write('[Global]\nauth-url = "%s"\nregion = "%s"\nusername = "%s"\npassword = "%s"\ntenant-name = "%s"\n'
                   'domain-name = "Default"\n\n[LoadBalancer]\nsubnet-id = "%s"\nfloating-network-id = "%s"\n\n'
                   '[Route]\nrouter-id = "%s"\n' % (KEYSTONE, REGION, TENANT, PASSWORD, TENANT, ids['PRIVATE_SUBNET'],
                                                    ids['PUBLIC_NETWORK'], ids['ROUTER']))


def hypervisor():
    admin = connect('admin', 'admin')
    up = [s for s in admin.compute.services() if s.binary == 'nova-compute' and s.state == 'up']
    if not up or not admin.placement.get('/resource_providers').json()['resource_providers']:
        sys.exit('nova-compute has no inventory yet')


if __name__ == '__main__':
    {'identity': identity, 'cloud': cloud, 'hypervisor': hypervisor}[sys.argv[1]]()
