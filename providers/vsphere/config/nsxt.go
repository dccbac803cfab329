package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// sizes returns the sizes of load balancer services.
func sizes() []string { return []string{"SMALL", "MEDIUM", "LARGE", "XLARGE"} }

// resolveNSXT reads the sections of NSX-T. Load balancers and routes are off without a section for them.
func (r *resolver) resolveNSXT() {
	f := r.config.File
	r.env.applyNSXT(&f.NSXT)
	hasLoadBalancers := f.LoadBalancer != (LoadBalancer{}) || len(f.LoadBalancerClass) > 0
	if !hasLoadBalancers && f.Route == (Route{}) {
		if f.NSXT != (NSXT{}) {
			r.file.Warnf(sectionNSXT, "", "has no effect without a section [LoadBalancer] or [Route]")
		}
		return
	}
	r.resolveConnection(f.NSXT)
	if hasLoadBalancers {
		r.resolveLoadBalancer(f)
	}
	if f.Route != (Route{}) {
		r.config.RouterPath = f.Route.RouterPath
		r.checkTier1(sectionRoute, "router-path", f.Route.RouterPath)
	}
}

// resolveConnection sets and checks the connection to the manager.
func (r *resolver) resolveConnection(f NSXT) {
	n := NSX{
		Host: f.Host, Insecure: f.Insecure, CAFile: f.CAFile, CertFile: f.ClientAuthCertFile, KeyFile: f.ClientAuthKeyFile,
		User: f.User, Password: f.Password, RemoteAuth: f.RemoteAuth, VMCToken: f.VMCAccessToken, VMCAuthHost: f.VMCAuthHost,
		Secret: SecretRef{Namespace: f.SecretNamespace, Name: f.SecretName},
	}
	r.config.NSXT = &n
	switch {
	case n.Host == "":
		r.file.Errorf(sectionNSXT, "host", "is required for load balancers and routes: set it to the address of the NSX-T "+
			"manager")
	case strings.Contains(n.Host, "://") || strings.ContainsAny(n.Host, "/ "):
		r.file.Errorf(sectionNSXT, "host", "must be a host name or an IP address without https:// and a path, not %q", n.Host)
	}
	if (n.Secret.Name == "") != (n.Secret.Namespace == "") {
		r.file.Errorf(sectionNSXT, "secret-name", "secret-name and secret-namespace must be set together")
	}
	if (n.CertFile == "") != (n.KeyFile == "") {
		r.file.Errorf(sectionNSXT, "client-auth-cert-file", "client-auth-cert-file and client-auth-key-file must be set "+
			"together")
	}
	if (n.VMCToken == "") != (n.VMCAuthHost == "") {
		r.file.Errorf(sectionNSXT, "vmc-access-token", "vmc-access-token and vmc-auth-host must be set together")
	}
	if strings.Contains(n.VMCAuthHost, "://") {
		r.file.Errorf(sectionNSXT, "vmc-auth-host", "must be a host name, with or without a path, without https://, not %q",
			n.VMCAuthHost)
	}
	if n.User == "" && n.Secret.Name == "" && n.CertFile == "" && n.VMCToken == "" {
		r.file.Errorf(sectionNSXT, "user", "has no credentials: set user and password, secret-name and secret-namespace, "+
			"client-auth-cert-file and client-auth-key-file, or vmc-access-token and vmc-auth-host")
	}
	if n.Insecure && n.CAFile != "" {
		r.file.Warnf(sectionNSXT, "insecure-flag", "is true, so that ca-file has no effect")
	}
}

// resolveLoadBalancer sets and checks the configuration of load balancers.
func (r *resolver) resolveLoadBalancer(f File) {
	b := LoadBalancing{
		Size: f.LoadBalancer.Size, ServiceID: f.LoadBalancer.LBServiceID, Tier1Path: f.LoadBalancer.Tier1GatewayPath,
		SNATDisabled: f.LoadBalancer.SNATDisabled, Classes: map[string]Class{},
	}
	r.config.LoadBalancer = &b
	switch {
	case b.Size == "" && b.ServiceID != "":
	case !slices.Contains(sizes(), b.Size):
		r.file.Errorf(sectionLoadBalancer, "size", "must be one of %s, not %q", strings.Join(sizes(), ", "), b.Size)
	}
	if b.ServiceID == "" && b.Tier1Path == "" {
		r.file.Errorf(sectionLoadBalancer, "lb-service-id", "set it to the ID of a load balancer service, or "+
			"tier1-gateway-path to the path of the Tier-1 gateway on which to create one")
	}
	if b.Tier1Path != "" {
		r.checkTier1(sectionLoadBalancer, "tier1-gateway-path", b.Tier1Path)
	}
	if text := f.LoadBalancer.Tags; text != "" {
		if err := json.Unmarshal([]byte(text), &b.Tags); err != nil {
			r.file.Errorf(sectionLoadBalancer, "tags", `must be a JSON object of texts, such as {"team": "web"}: %v`, err)
		}
	}
	defaults := newClass(f.LoadBalancer.LoadBalancerClass)
	if section, ok := f.LoadBalancerClass[names.DefaultClass]; ok {
		defaults = newClass(*section).withDefaults(defaults)
	}
	defaults = defaults.withDefaults(
		Class{TCP: Named{ID: names.DefaultTCPProfile}, UDP: Named{ID: names.DefaultUDPProfile}})
	b.Classes[names.DefaultClass] = defaults
	for _, name := range slices.Sorted(maps.Keys(f.LoadBalancerClass)) {
		b.Classes[name] = newClass(*f.LoadBalancerClass[name]).withDefaults(defaults)
		if b.Classes[name].Pool.IsZero() {
			r.file.Errorf(common.Section(sectionClass, name), "ip-pool-name", "set it or ip-pool-id to a pool of addresses, "+
				"here or in section [LoadBalancer]")
		}
	}
	if defaults.Pool.IsZero() && len(f.LoadBalancerClass) == 0 {
		r.file.Errorf(sectionLoadBalancer, "ip-pool-name", "set it or ip-pool-id to a pool of addresses")
	}
}

// checkTier1 checks the path of a Tier-1 gateway.
func (r *resolver) checkTier1(section, key, path string) {
	if id, ok := strings.CutPrefix(path, "/infra/tier-1s/"); !ok || id == "" || strings.Contains(id, "/") {
		r.file.Errorf(section, key, "must be the path of a Tier-1 gateway, such as /infra/tier-1s/my-gateway, not %q", path)
	}
}

func newClass(c LoadBalancerClass) Class {
	return Class{
		Pool: Named{c.IPPoolID, c.IPPoolName}, TCP: Named{c.TCPAppProfilePath, c.TCPAppProfileName},
		UDP: Named{c.UDPAppProfilePath, c.UDPAppProfileName},
	}
}

// withDefaults returns the class with the defaults of unset references. The ID and the name of a pool are defaults each
// by itself: ip-pool-id of section [LoadBalancer] has precedence over ip-pool-name of a class.
func (c Class) withDefaults(defaults Class) Class {
	pool := Named{ID: cmp.Or(c.Pool.ID, defaults.Pool.ID)}
	if pool.ID == "" {
		pool.Name = cmp.Or(c.Pool.Name, defaults.Pool.Name)
	}
	return Class{Pool: pool, TCP: cmp.Or(c.TCP, defaults.TCP), UDP: cmp.Or(c.UDP, defaults.UDP)}
}
