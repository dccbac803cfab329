package lb

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
)

// Pool is a target pool.
type Pool struct {
	core.Meta

	Region          string   `json:"region" set:"output"`
	Instances       []string `json:"instances,omitempty" link:"instances.use" outlived:"true" most:"200"`
	HealthChecks    []string `json:"healthChecks,omitempty" link:"httpHealthChecks.useReadOnly" most:"1"`
	SessionAffinity string   `json:"sessionAffinity" enum:"CLIENT_IP|CLIENT_IP_NO_DESTINATION|CLIENT_IP_PORT_PROTO|CLIENT_IP_PROTO|GENERATED_COOKIE|HEADER_FIELD|HTTP_COOKIE|NONE|STRONG_COOKIE_AFFINITY" default:"NONE" simulated:"NONE|CLIENT_IP|CLIENT_IP_PROTO"`
	BackupPool      string   `json:"backupPool,omitempty" link:"targetPools"`
	FailoverRatio   *float64 `json:"failoverRatio,omitempty" range:"0-1"`
}

func (p *Pool) remove(instance string) {
	p.Instances = slices.DeleteFunc(p.Instances, func(url string) bool { return url == instance })
}

func (s *State) pools() []*Pool { return core.All[*Pool](s.Core(), "targetPools") }

func insertPool(_ *core.Call, p *Pool) error {
	if url := core.Repeated(p.Instances); url != "" {
		return core.Invalid("resource.instances", url, "The instance is named twice.")
	}
	if (p.BackupPool == "") != (p.FailoverRatio == nil) {
		return core.Invalid("resource.failoverRatio", "", "If set, backupPool must also be set.")
	}
	return nil
}

// addInstance adds instances to a pool; those that it has are no error.
func (s *State) addInstance(k *core.Call, p *Pool, in *vm.Members) (any, error) {
	list := core.AllAt[*vm.Instance](s.Core(), in.URLs())
	return s.Start(k, p, "addInstance", true, func() {
		for _, i := range list {
			if s.StillExists(i) && !slices.Contains(p.Instances, i.SelfLink) {
				p.Instances = append(p.Instances, i.SelfLink)
			}
		}
	})
}

// removeInstance removes instances from a pool; those that it does not have are no error.
func (s *State) removeInstance(k *core.Call, p *Pool, in *vm.Members) (any, error) {
	return s.Start(k, p, "removeInstance", true, func() {
		for _, url := range in.URLs() {
			p.remove(url)
		}
	})
}

// poolCheck names the health check of a pool in a request.
type poolCheck struct {
	HealthChecks []struct {
		HealthCheck string `json:"healthCheck" set:"required" link:"httpHealthChecks.useReadOnly"`
	} `json:"healthChecks" set:"required" most:"1"`
}

// addHealthCheck adds the health check of a pool. Only one may be specified.
func (s *State) addHealthCheck(k *core.Call, p *Pool, in *poolCheck) (any, error) {
	check := in.HealthChecks[0].HealthCheck
	if len(p.HealthChecks) > 0 && !slices.Contains(p.HealthChecks, check) {
		return nil, core.Invalid("resource.healthChecks", check, "The target pool has a health check, of at most one.")
	}
	return s.Start(k, p, "addHealthCheck", false, func() { p.HealthChecks = []string{check} })
}

func (s *State) removeHealthCheck(k *core.Call, p *Pool, in *poolCheck) (any, error) {
	check := in.HealthChecks[0].HealthCheck
	if !slices.Contains(p.HealthChecks, check) {
		return nil, core.Invalid("resource.healthChecks", check, "The target pool does not have the health check.")
	}
	return s.Start(k, p, "removeHealthCheck", false, func() { p.HealthChecks = nil })
}
