package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// Reader reads vsphere.conf for the descriptor and the factory.
var Reader common.Reader[Config] = Read

// Read parses, defaults and validates a vsphere.conf, with the environment of the process.
func Read(file string, content []byte) (Config, common.Problems, error) {
	return ReadWith(file, content, os.Environ())
}

// ReadWith is Read with an environment. It returns all errors at once, each with its line. Warnings are about
// settings that have no effect. Nil content means that there is no file: then the environment has all settings.
func ReadWith(file string, content []byte, environment []string) (Config, common.Problems, error) {
	c := Config{}
	f := common.DecodeINIOrYAML(file, content, &c.File)
	r := resolver{config: &c, file: f, env: parseEnvironment(environment), isYAML: !common.IsINI(content)}
	r.resolve()
	if content == nil && len(c.VCenters) == 0 {
		return c, nil, fmt.Errorf("the %s provider requires a configuration file: set --cloud-config to a file with a "+
			"section [VirtualCenter \"address\"]", names.Scheme)
	}
	return c, f.Warnings(), f.Err()
}

func (r *resolver) resolve() {
	r.env.apply(&r.config.File)
	r.resolveNSXT()
	r.resolveLabels()
	r.resolveAddresses()
	r.warnIgnored()
	for _, name := range slices.Sorted(maps.Keys(r.config.File.VirtualCenter)) {
		r.addVCenter(name, *r.config.File.VirtualCenter[name])
	}
	r.addGlobalServer()
	if len(r.config.VCenters) == 0 && r.file.Err() == nil {
		r.file.Errorf(sectionGlobal, "server", `names no vCenter: add a section [VirtualCenter "address"], or set server`)
	}
	sorting.Func(r.config.VCenters, func(a, b VCenter) int { return strings.Compare(a.Name, b.Name) })
	r.config.KeepDeleted = r.env.keepDeleted
}

// addGlobalServer adds the vCenter of [Global], unless a section has its name or its address.
func (r *resolver) addGlobalServer() {
	server := r.config.File.Global.Server
	if server == "" || slices.ContainsFunc(r.config.VCenters, func(v VCenter) bool {
		return v.Name == server || v.Server == server
	}) {
		return
	}
	r.addVCenter(server, VirtualCenter{Server: server})
}

// port returns a port, "" for 0 in a YAML file, where it is a number and means none.
func (r *resolver) port(port string) string {
	if port == "0" && r.isYAML {
		return ""
	}
	return port
}

// addVCenter adds a vCenter with the defaults of [Global].
func (r *resolver) addVCenter(name string, c VirtualCenter) {
	g, section := r.config.File.Global, common.Section(sectionVCenter, name)
	c.Server = cmp.Or(c.Server, name)
	v := VCenter{
		Name: name, Server: c.Server, Port: cmp.Or(r.port(c.Port), r.port(g.Port), defaultPort),
		Insecure: c.Insecure || g.Insecure,
		CAFile:   cmp.Or(c.CAFile, g.CAFile), Thumbprint: cmp.Or(c.Thumbprint, g.Thumbprint),
		Datacenters: firstList(c.Datacenters, g.Datacenters),
		Secret:      SecretRef{Namespace: c.SecretNamespace, Name: c.SecretName},
		Credentials: Credentials{User: cmp.Or(c.User, g.User), Password: cmp.Or(c.Password, g.Password)},
	}
	v.Families = r.parseFamilies(section, firstList(c.IPFamily, g.IPFamily))
	r.checkVCenter(section, v, c)
	if v.Secret == (SecretRef{}) {
		// A directory has precedence over the Secret of [Global].
		v.SecretsDirectory = g.SecretsDirectory
		if v.SecretsDirectory == "" {
			v.Secret = SecretRef{Namespace: g.SecretNamespace, Name: g.SecretName}
		}
	}
	if v.Credentials.User == "" {
		v.Credentials = Credentials{}
	}
	if v.Credentials.Empty() && v.Secret.Name == "" && v.SecretsDirectory == "" {
		if !r.env.exists(DefaultSecretsDirectory) {
			r.file.Errorf(section, "user", "has no credentials: set user and password, secret-name and "+
				"secret-namespace, or secrets-directory in section [Global]")
		}
		v.SecretsDirectory = DefaultSecretsDirectory
	}
	r.config.VCenters = append(r.config.VCenters, v)
}

// firstList returns the first list that is not empty.
func firstList(lists ...List) List {
	for _, list := range lists {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}
