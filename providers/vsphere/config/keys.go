package config

import (
	"io"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Show writes the effective configuration of a valid file, without secrets.
func Show(w io.Writer, file string, content []byte) error {
	cfg, _, err := Read(file, content)
	if err != nil {
		return err
	}
	return common.WriteEffective(w, cfg.File)
}

// row documents one key of a section.
type row struct{ key, typ, defaultValue, doc string }

// secretType is the type of keys with secrets.
const secretType = "secret"

func sectionKeys(name string, rows ...row) []provider.ConfigKey {
	keys := make([]provider.ConfigKey, 0, len(rows))
	for _, r := range rows {
		key := provider.ConfigKey{Section: name, Key: r.key, Type: r.typ, Default: r.defaultValue, Doc: r.doc}
		if r.typ == secretType {
			key.Type, key.Secret = "string", true
		}
		keys = append(keys, key)
	}
	return keys
}

// Keys documents every key of vsphere.conf, in the order of the reference page.
func Keys() []provider.ConfigKey {
	keys := sectionKeys(sectionGlobal, append(accessRows("The default of all vCenters. "),
		row{"secrets-directory", "path", DefaultSecretsDirectory + " if it exists and nothing else is set",
			"A directory with one file for each key of the Secret. It has precedence over the Secret of this section, and is " +
				"read at each login."},
		row{"api-disable", "bool", "", "Has no effect: the gRPC API does not exist any more."},
		row{"api-binding", "string", "", "Has no effect: the gRPC API does not exist any more."})...)
	keys = append(keys, sectionKeys(common.Section(sectionVCenter, "NAME"), accessRows("")...)...)
	keys = append(keys, sectionKeys(sectionLabels,
		row{"region", "string", "", "The category of the tags that become the regions of nodes. Needs zone too. A node " +
			"without such a tag on its host, its resource pool, itself or an object above one of them is not initialized."},
		row{"zone", "string", "", "The category of the tags that become the zones of nodes. The nearest tag decides."})...)
	keys = append(keys, sectionKeys(sectionNodes, nodeRows()...)...)
	return append(keys, nsxKeys()...)
}

// accessRows documents the keys that [Global] and the sections of vCenters have in common.
func accessRows(prefix string) []row {
	return []row{
		{"server", "host", "the name of the section", prefix + "The address of the vCenter, without https://. In [Global] " +
			"it adds a vCenter. YAML files need it in each vCenter."},
		{"port", "integer", defaultPort, "The TCP port."},
		{"user", "string", "", "The user, as user@domain. Like all credentials it is read again at each login."},
		{"password", secretType, "", "The password. In the INI form, put it in double quotes and double each backslash."},
		{"insecure-flag", "bool", "false", "Accepts every certificate, which lets anyone on the way read the password."},
		{"datacenters", "list", "all", "The datacenters with nodes: names, which may contain * and ?, paths such as " +
			"/folder/dc, or references such as Datacenter:datacenter-3. Other machines are not nodes of this cluster."},
		{"soap-roundtrip-count", "integer", "", "Has no effect: failed calls are retried by the class of their error."},
		{"ca-file", "path", "the system's", "Certificate authorities to trust, in PEM format. Read again when it changes."},
		{"thumbprint", "hexadecimal", "", "The SHA-1 or SHA-256 thumbprint of a certificate to accept in addition."},
		{"secret-name", "string", "", "A Secret with the keys SERVER.username and SERVER.password. It is read at each " +
			"login; the manager needs permission to get it, and no other permission for Secrets."},
		{"secret-namespace", "string", "", "The namespace of the Secret."},
		{"ip-family", "list of ipv4, ipv6", "ipv4", "The IP families of nodes, in the order of their addresses."},
	}
}

func nodeRows() []row {
	const precedence = " A rule by range has precedence over one by network. Without a result for both types, the first " +
		"address is both."
	return []row{
		{"internal-network-subnet-cidr", "list of CIDR", "", "The internal address of a node is in the first of these " +
			"ranges that has one of its addresses." + precedence},
		{"external-network-subnet-cidr", "list of CIDR", "", "The same for the external address."},
		{"internal-vm-network-name", "string", "", "The internal address of a node is the first one on this port group."},
		{"external-vm-network-name", "string", "", "The same for the external address."},
		{"exclude-internal-network-subnet-cidr", "list of CIDR", "", "Ranges of addresses that are never internal, such as " +
			"that of the control plane's virtual IP address."},
		{"exclude-external-network-subnet-cidr", "list of CIDR", "", "The same for the external address."},
	}
}

// nsxKeys documents the keys of NSX-T.
func nsxKeys() []provider.ConfigKey {
	const pair = " Needs the other one too."
	keys := sectionKeys(sectionNSXT,
		row{"host", "host", "", "The address of the NSX-T manager, without https://. Needed for load balancers and routes. " +
			"The environment variable NSXT_MANAGER_HOST replaces it; so do NSXT_USERNAME, NSXT_PASSWORD, NSXT_CA_FILE, " +
			"NSXT_ALLOW_UNVERIFIED_SSL, NSXT_CLIENT_AUTH_CERT_FILE, NSXT_CLIENT_AUTH_KEY_FILE, NSXT_SECRET_NAME and " +
			"NSXT_SECRET_NAMESPACE the other keys."},
		row{"user", "string", "", "The user, with a role that can change load balancers, IP pools, groups and static " +
			"routes."},
		row{"password", secretType, "", "The password."},
		row{"remote-auth", "bool", "false", "Logs in as a user of VMware Identity Manager."},
		row{"insecure-flag", "bool", "false", "Accepts every certificate, which lets anyone on the way read the password."},
		row{"ca-file", "path", "the system's",
			"Certificate authorities to trust, in PEM format. Read again when it changes."},
		row{"client-auth-cert-file", "path", "", "The certificate of a principal identity, in PEM format, instead of a " +
			"user." + pair},
		row{"client-auth-key-file", "path", "", "The private key of that certificate." + pair},
		row{"vmc-access-token", secretType, "", "A refresh token of VMware Cloud on AWS. It is exchanged for access " +
			"tokens, again before each one expires."},
		row{"vmc-auth-host", "host", "", "The host that exchanges the token, with or without a path."},
		row{"secret-name", "string", "", "A Secret with the keys username and password. It is read again when the manager " +
			"rejects them."},
		row{"secret-namespace", "string", "", "The namespace of the Secret."})
	keys = append(keys, sectionKeys(sectionLoadBalancer, append([]row{
		{"size", "SMALL, MEDIUM, LARGE or XLARGE", "", "The size of the load balancer service that is created. It limits " +
			"the virtual servers, one for each port of a Service. Required with tier1-gateway-path."},
		{"lb-service-id", "string", "", "The ID of an existing load balancer service. It is never deleted."},
		{"tier1-gateway-path", "path", "", "The Tier-1 gateway, such as /infra/tier-1s/NAME, with the load balancer " +
			"service. One is created if the gateway has none, and deleted after its last virtual server."},
		{"snat-disabled", "bool", "false", "New pools keep the addresses of clients. Nodes need a route back through the " +
			"gateway."},
		{"tags", "JSON object of texts", "", "Further tags of all objects; a map in YAML. The tag owner replaces the name " +
			"vsphere-cloud-controller-manager, by which objects are found: it must not change."},
	}, classRows("")...)...)...)
	classes := common.Section(sectionClass, "NAME")
	keys = append(keys, sectionKeys(classes, classRows("The default is that of [LoadBalancer]. ")...)...)
	return append(keys, sectionKeys(sectionRoute,
		row{"router-path", "path", "", "The Tier-1 gateway, such as /infra/tier-1s/NAME, that gets a static route to each " +
			"node's pods."})...)
}

// classRows documents the keys that [LoadBalancer] and the sections of classes have in common.
func classRows(prefix string) []row {
	return []row{
		{"ip-pool-name", "string", "", prefix + "The name of the pool with the addresses of load balancers. Live load " +
			"balancers keep their addresses."},
		{"ip-pool-id", "string", "", prefix + "The same by ID. It has precedence over the name."},
		{"tcp-app-profile-name", "string", "", prefix + "The name of the fast TCP application profile of virtual servers."},
		{"tcp-app-profile-path", "path", "/infra/lb-app-profiles/default-tcp-lb-app-profile", prefix + "The same by path. " +
			"It has precedence over the name."},
		{"udp-app-profile-name", "string", "", prefix + "The name of the fast UDP application profile of virtual servers."},
		{"udp-app-profile-path", "path", "/infra/lb-app-profiles/default-udp-lb-app-profile", prefix + "The same by path. " +
			"It has precedence over the name."},
	}
}
