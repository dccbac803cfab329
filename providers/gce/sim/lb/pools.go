package lb

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
)

// Pool is a target pool.
type Pool struct {
	core.Meta

	Region          string   `json:"region"`
	Instances       []string `json:"instances,omitempty"`
	HealthChecks    []string `json:"healthChecks,omitempty"`
	SessionAffinity string   `json:"sessionAffinity" enum:"CLIENT_IP|CLIENT_IP_NO_DESTINATION|CLIENT_IP_PORT_PROTO|CLIENT_IP_PROTO|GENERATED_COOKIE|HEADER_FIELD|HTTP_COOKIE|NONE|STRONG_COOKIE_AFFINITY"`
	BackupPool      string   `json:"backupPool,omitempty"`
	FailoverRatio   *float64 `json:"failoverRatio,omitempty"`
}

// References implements core.Entity.
func (p *Pool) References() []string {
	if p.BackupPool == "" {
		return p.HealthChecks
	}
	return append([]string{p.BackupPool}, p.HealthChecks...)
}

func (p *Pool) remove(instance string) {
	p.Instances = slices.DeleteFunc(p.Instances, func(url string) bool { return url == instance })
}

var pools = core.Collection[*State, *Pool]{Service: "targetPools", Name: "targetPools", Kind: "targetPool",
	Scope: "regions", New: func() *Pool { return &Pool{} }, Quota: core.QuotaTargetPools, Insert: (*State).insertPool}

func poolMethods() []core.Method[*State] {
	return pools.Methods(
		core.Method[*State]{ID: "addInstance", Mutating: true, Permission: "addInstance", Do: addInstance},
		core.Method[*State]{ID: "removeInstance", Mutating: true, Permission: "removeInstance", Do: removeInstance},
		core.Method[*State]{ID: "addHealthCheck", Mutating: true, Permission: "addHealthCheck", Do: addHealthCheck},
		core.Method[*State]{ID: "removeHealthCheck", Mutating: true, Permission: "removeHealthCheck",
			Do: removeHealthCheck},
		core.Method[*State]{ID: "getHealth", Permission: "get", Do: poolHealth})
}

func (s *State) pools() []*Pool { return core.All[*Pool](s.Core(), "targetPools") }

func (s *State) insertPool(k *core.Call, p *Pool) error {
	p.Region, p.SessionAffinity = regionURL(k), cmp.Or(p.SessionAffinity, "NONE")
	if !slices.Contains([]string{"NONE", "CLIENT_IP", "CLIENT_IP_PROTO"}, p.SessionAffinity) {
		return core.Invalid("resource.sessionAffinity", p.SessionAffinity, "Must be NONE, CLIENT_IP or CLIENT_IP_PROTO.")
	}
	members := map[string]bool{}
	for n, url := range p.Instances {
		i, err := s.poolMember(k, url)
		if err != nil {
			return err
		}
		if members[i.SelfLink] {
			return core.Invalid("resource.instances", url, "The instance is named twice.")
		}
		p.Instances[n], members[i.SelfLink] = i.SelfLink, true
	}
	if len(p.HealthChecks) > 1 {
		return core.Invalid("resource.healthChecks", "", "At most one health check may be specified.")
	}
	for n, url := range p.HealthChecks {
		c, err := s.legacyCheck(k, url)
		if err != nil {
			return err
		}
		p.HealthChecks[n] = c.SelfLink
	}
	return s.checkBackup(k, p)
}

// checkBackup checks the pool that takes over, and the ratio of healthy instances below which it does.
func (s *State) checkBackup(k *core.Call, p *Pool) error {
	if (p.BackupPool == "") != (p.FailoverRatio == nil) {
		return core.Invalid("resource.failoverRatio", "", "If set, backupPool must also be set.")
	}
	if p.BackupPool == "" {
		return nil
	}
	if *p.FailoverRatio < 0 || *p.FailoverRatio > 1 {
		return core.Invalid("resource.failoverRatio", "", "Must be in [0, 1].")
	}
	r, err := core.ResolveURL("resource.backupPool", p.BackupPool, "targetPools", k.Target)
	if err != nil {
		return err
	}
	backup, err := core.Use[*Pool](s.Core(), r)
	if err == nil {
		p.BackupPool = backup.SelfLink
	}
	return err
}

// poolMember resolves the reference to an instance in the region of a pool.
func (s *State) poolMember(k *core.Call, url string) (*vm.Instance, error) {
	i, err := s.UseInstance(k, "resource.instances", url)
	if err != nil {
		return nil, err
	}
	if i.Ref().Region() != k.Params["region"] {
		return nil, core.Invalid("resource.instances", url, "The instance must be in the region of the target pool.")
	}
	return i, nil
}

// legacyCheck resolves the reference to a health check of a pool, which is a legacy one.
func (s *State) legacyCheck(k *core.Call, url string) (*LegacyCheck, error) {
	r, err := core.ResolveURL("resource.healthChecks", url, "httpHealthChecks", k.Target)
	if err != nil {
		return nil, err
	}
	if err := k.Permit("httpHealthChecks.useReadOnly", r); err != nil {
		return nil, err
	}
	return core.Use[*LegacyCheck](s.Core(), r)
}

// poolAndMembers returns the pool of a call and the instances in its body, which exist.
func (s *State) poolAndMembers(k *core.Call) (*Pool, []*vm.Instance, error) {
	p, err := pools.Find(s, k)
	if err != nil {
		return nil, nil, err
	}
	var in vm.References
	if err := core.Decode(k, &in); err != nil {
		return nil, nil, err
	}
	if len(in.Instances) == 0 {
		return nil, nil, core.Required("resource.instances")
	}
	var out []*vm.Instance
	for _, ref := range in.Instances {
		i, err := s.poolMember(k, ref.Instance)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, i)
	}
	return p, out, nil
}

// addInstance adds instances to a pool; those that it has are no error.
func addInstance(s *State, k *core.Call) (any, error) {
	p, list, err := s.poolAndMembers(k)
	if err != nil {
		return nil, err
	}
	return s.Start(k, p, "addInstance", true, func() {
		for _, i := range list {
			found, err := core.Get[*vm.Instance](s.Core(), i.Ref())
			if err == nil && found == i && !slices.Contains(p.Instances, i.SelfLink) {
				p.Instances = append(p.Instances, i.SelfLink)
			}
		}
	})
}

// removeInstance removes instances from a pool; those that it does not have are no error.
func removeInstance(s *State, k *core.Call) (any, error) {
	p, list, err := s.poolAndMembers(k)
	if err != nil {
		return nil, err
	}
	return s.Start(k, p, "removeInstance", true, func() {
		for _, i := range list {
			p.remove(i.SelfLink)
		}
	})
}

// poolAndCheck returns the pool of a call and the health check in its body.
func (s *State) poolAndCheck(k *core.Call) (*Pool, *LegacyCheck, error) {
	p, err := pools.Find(s, k)
	if err != nil {
		return nil, nil, err
	}
	var in struct {
		HealthChecks []struct {
			HealthCheck string `json:"healthCheck"`
		} `json:"healthChecks"`
	}
	if err := core.Decode(k, &in); err != nil {
		return nil, nil, err
	}
	if len(in.HealthChecks) != 1 {
		return nil, nil, core.Invalid("resource.healthChecks", "", "Exactly one health check must be specified.")
	}
	c, err := s.legacyCheck(k, in.HealthChecks[0].HealthCheck)
	return p, c, err
}

// addHealthCheck adds the health check of a pool. Only one may be specified.
func addHealthCheck(s *State, k *core.Call) (any, error) {
	p, c, err := s.poolAndCheck(k)
	if err != nil {
		return nil, err
	}
	if len(p.HealthChecks) > 0 && !slices.Contains(p.HealthChecks, c.SelfLink) {
		return nil, core.Invalid("resource.healthChecks", c.SelfLink, "The target pool has a health check, of at most one.")
	}
	return s.Start(k, p, "addHealthCheck", false, func() { p.HealthChecks = []string{c.SelfLink} })
}

func removeHealthCheck(s *State, k *core.Call) (any, error) {
	p, c, err := s.poolAndCheck(k)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(p.HealthChecks, c.SelfLink) {
		return nil, core.Invalid("resource.healthChecks", c.SelfLink, "The target pool does not have the health check.")
	}
	return s.Start(k, p, "removeHealthCheck", false, func() { p.HealthChecks = nil })
}
