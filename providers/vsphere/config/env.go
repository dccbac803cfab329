package config

import (
	"cmp"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// envSkipDeletion keeps the nodes of deleted machines if it is set, to any value but false.
const envSkipDeletion = "SKIP_NODE_DELETION"

// vcenterVariable matches a variable with the address of a further vCenter: VSPHERE_VCENTER_<id>.
var vcenterVariable = regexp.MustCompile(`\AVSPHERE_VCENTER_([A-Za-z0-9_]+)\z`)

// environment has the settings of environment variables. A setting of the file has precedence over them.
type environment struct {
	vars        map[string]string
	keepDeleted bool
	// exists reports whether a directory exists.
	exists func(string) bool
}

func parseEnvironment(list []string) environment {
	e := environment{vars: map[string]string{}, exists: func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.IsDir()
	}}
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok {
			e.vars[name] = value
		}
	}
	value, set := e.vars[envSkipDeletion]
	e.keepDeleted = set && !strings.EqualFold(value, "false")
	return e
}

// apply fills in the settings that the file does not have.
func (e environment) apply(f *File) {
	g := &f.Global
	for name, field := range map[string]*string{
		"VSPHERE_VCENTER": &g.Server, "VSPHERE_VCENTER_PORT": &g.Port, "VSPHERE_USER": &g.User,
		"VSPHERE_CAFILE": &g.CAFile, "VSPHERE_THUMBPRINT": &g.Thumbprint, "VSPHERE_SECRET_NAME": &g.SecretName,
		"VSPHERE_SECRET_NAMESPACE": &g.SecretNamespace, "VSPHERE_SECRETS_DIRECTORY": &g.SecretsDirectory,
		"VSPHERE_LABEL_REGION": &f.Labels.Region, "VSPHERE_LABEL_ZONE": &f.Labels.Zone,
		"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME": &f.Nodes.InternalNetwork,
		"VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME": &f.Nodes.ExternalNetwork,
	} {
		if *field == "" {
			*field = e.vars[name]
		}
	}
	for name, field := range map[string]*List{
		"VSPHERE_DATACENTER": &g.Datacenters, "VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR": &f.Nodes.InternalCIDR,
		"VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR": &f.Nodes.ExternalCIDR,
	} {
		if len(*field) == 0 {
			_ = field.UnmarshalText([]byte(e.vars[name])) // A List accepts every text.
		}
	}
	if g.Password == "" {
		g.Password = common.Secret(e.vars["VSPHERE_PASSWORD"])
	}
	g.Insecure = g.Insecure || isTrue(e.vars["VSPHERE_INSECURE"])
	e.addVCenters(f)
}

// applyNSXT replaces settings of the section [NSXT]: these variables have precedence over the file.
func (e environment) applyNSXT(n *NSXT) {
	for name, field := range map[string]*string{
		"NSXT_MANAGER_HOST": &n.Host, "NSXT_USERNAME": &n.User, "NSXT_CA_FILE": &n.CAFile,
		"NSXT_CLIENT_AUTH_CERT_FILE": &n.ClientAuthCertFile, "NSXT_CLIENT_AUTH_KEY_FILE": &n.ClientAuthKeyFile,
		"NSXT_SECRET_NAME": &n.SecretName, "NSXT_SECRET_NAMESPACE": &n.SecretNamespace,
	} {
		*field = cmp.Or(e.vars[name], *field)
	}
	if password := e.vars["NSXT_PASSWORD"]; password != "" {
		n.Password = common.Secret(password)
	}
	if value, set := e.vars["NSXT_ALLOW_UNVERIFIED_SSL"]; set {
		n.Insecure = isTrue(value)
	}
}

// addVCenters adds the vCenters of variables VSPHERE_VCENTER_<id>, with their settings in VCENTER_<id>_….
func (e environment) addVCenters(f *File) {
	for _, name := range slices.Sorted(maps.Keys(e.vars)) {
		m := vcenterVariable.FindStringSubmatch(name)
		if m == nil || name == "VSPHERE_VCENTER_PORT" || e.vars[name] == "" {
			continue
		}
		get := func(key string) string { return e.vars["VCENTER_"+m[1]+"_"+key] }
		server := e.vars[name]
		if f.VirtualCenter == nil {
			f.VirtualCenter = map[string]*VirtualCenter{}
		}
		if _, exists := f.VirtualCenter[server]; exists {
			continue
		}
		v := &VirtualCenter{
			Server: cmp.Or(get("SERVER"), server), Port: get("PORT"), User: get("USERNAME"),
			Password: common.Secret(get("PASSWORD")), Insecure: isTrue(get("INSECURE")), CAFile: get("CAFILE"),
			Thumbprint: get("THUMBPRINT"), SecretName: get("SECRET_NAME"), SecretNamespace: get("SECRET_NAMESPACE"),
		}
		_ = v.Datacenters.UnmarshalText([]byte(get("DATACENTERS"))) // A List accepts every text.
		_ = v.IPFamily.UnmarshalText([]byte(get("IP_FAMILY")))
		f.VirtualCenter[server] = v
	}
}

func isTrue(text string) bool {
	value, err := strconv.ParseBool(text)
	return err == nil && value
}
