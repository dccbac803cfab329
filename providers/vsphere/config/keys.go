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
	return common.Effective(w, cfg.File)
}

// row documents one key of a section.
type row struct{ key, kind, value, doc string }

// secretKind is the type of keys with secrets.
const secretKind = "secret"

func section(name string, rows ...row) []provider.ConfigKey {
	keys := make([]provider.ConfigKey, 0, len(rows))
	for _, r := range rows {
		key := provider.ConfigKey{Section: name, Key: r.key, Type: r.kind, Default: r.value, Doc: r.doc}
		if r.kind == secretKind {
			key.Type, key.Secret = "string", true
		}
		keys = append(keys, key)
	}
	return keys
}

// Keys documents every key of vsphere.conf, in the order of the reference page.
func Keys() []provider.ConfigKey {
	keys := section(sectionGlobal, append(accessRows("The default of all vCenters. "),
		row{"secrets-directory", "path", DefaultSecretsDirectory + " if it exists and nothing else is set",
			"A directory with one file for each key of the Secret. It has precedence over the Secret of this section, and is " +
				"read at each login."},
		row{"api-disable", "bool", "", "Has no effect: the gRPC API does not exist any more."},
		row{"api-binding", "string", "", "Has no effect: the gRPC API does not exist any more."})...)
	keys = append(keys, section(common.Section(sectionCenter, "NAME"), accessRows("")...)...)
	keys = append(keys, section(sectionLabels,
		row{"region", "string", "", "The category of the tags that become the regions of nodes. Needs zone too. A node " +
			"without such a tag on its host, its resource pool, itself or an object above one of them is not initialized."},
		row{"zone", "string", "", "The category of the tags that become the zones of nodes. The nearest tag decides."})...)
	keys = append(keys, section(sectionNodes, nodeRows()...)...)
	return append(keys, nsxKeys()...)
}

// accessRows are the keys that [Global] and the sections of vCenters have in common.
func accessRows(prefix string) []row {
	return []row{
		{"server", "host", "the name of the section", prefix + "The address of the vCenter, without https://. In [Global] it " +
			"adds a vCenter. YAML files need it in each vCenter."},
		{"port", "integer", defaultPort, "The TCP port."},
		{"user", "string", "", "The user, as user@domain. Like all credentials it is read again at each login."},
		{"password", secretKind, "", "The password. In the INI form, put it in double quotes and double each backslash."},
		{"insecure-flag", "bool", "false", "Accepts every certificate, which lets anyone on the way read the password."},
		{"datacenters", "list", "all", "The datacenters with nodes: names, which may contain * and ?, paths such as " +
			"/folder/dc, or references such as Datacenter:datacenter-3. Other machines are not nodes of this cluster."},
		{"soap-roundtrip-count", "integer", "", "Has no effect: failed calls are repeated as long as that can help."},
		{"ca-file", "path", "the system's", "Certificate authorities to trust, in PEM format. Read again at each login."},
		{"thumbprint", "hexadecimal", "", "The SHA-1 or SHA-256 thumbprint of a certificate to accept in addition."},
		{"secret-name", "string", "", "A Secret with the keys SERVER.username and SERVER.password. It is read at each " +
			"login; the manager needs permission to get it, and no other permission for Secrets."},
		{"secret-namespace", "string", "", "The namespace of the Secret."},
		{"ip-family", "list of ipv4, ipv6", "ipv4", "The IP families of nodes, in the order of their addresses."},
	}
}

func nodeRows() []row {
	const rest = " A rule by range has precedence over one by network. Without a result for both types, the first " +
		"address is both."
	return []row{
		{"internal-network-subnet-cidr", "list of CIDR", "", "The internal address of a node is in the first of these " +
			"ranges that has one of its addresses." + rest},
		{"external-network-subnet-cidr", "list of CIDR", "", "The same for the external address."},
		{"internal-vm-network-name", "string", "", "The internal address of a node is the first one on this port group."},
		{"external-vm-network-name", "string", "", "The same for the external address."},
		{"exclude-internal-network-subnet-cidr", "list of CIDR", "", "Ranges of addresses that are never internal, such as " +
			"that of the control plane's virtual IP address."},
		{"exclude-external-network-subnet-cidr", "list of CIDR", "", "The same for the external address."},
	}
}

// nsxKeys documents the keys of NSX-T, which are refused.
func nsxKeys() []provider.ConfigKey {
	const refused = "Not supported: a file with this section is invalid."
	rows := func(kind string, keys ...string) []row {
		var out []row
		for _, key := range keys {
			out = append(out, row{key, kind, "", refused})
		}
		return out
	}
	profile := []string{"ip-pool-name", "ip-pool-id", "tcp-app-profile-name", "tcp-app-profile-path",
		"udp-app-profile-name", "udp-app-profile-path"}
	keys := section(sectionNSXT, append(rows("string", "host", "user", "ca-file", "client-auth-cert-file",
		"client-auth-key-file", "vmc-auth-host", "secret-name", "secret-namespace"),
		append(rows(secretKind, "password", "vmc-access-token"), rows("bool", "insecure-flag", "remote-auth")...)...)...)
	keys = append(keys, section(sectionBalance, append(rows("string", append([]string{"size", "lb-service-id",
		"tier1-gateway-path", "tags"}, profile...)...), rows("bool", "snat-disabled")...)...)...)
	keys = append(keys, section(common.Section(sectionClass, "NAME"), rows("string", profile...)...)...)
	return append(keys, section(sectionRoute, rows("string", "router-path")...)...)
}
