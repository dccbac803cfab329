// Package vm has the simulated projects, regions and zones, instances and their groups, and routes to instances.
package vm

import (
	"maps"
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// Project is a project.
type Project struct {
	core.Meta

	DefaultNetworkTier    string   `json:"defaultNetworkTier"`
	DefaultServiceAccount string   `json:"defaultServiceAccount"`
	XPNProjectStatus      string   `json:"xpnProjectStatus" enum:"HOST|UNSPECIFIED_XPN_PROJECT_STATUS"`
	Quotas                []Quota  `json:"quotas"`
	CommonMetadata        Metadata `json:"commonInstanceMetadata"`
}

// Quota is a limit.
type Quota struct {
	Metric string  `json:"metric"`
	Limit  float64 `json:"limit"`
	Usage  float64 `json:"usage"`
}

// Region is a region.
type Region struct {
	core.Meta

	Status string   `json:"status" enum:"DOWN|UP"`
	Zones  []string `json:"zones"`
	Quotas []Quota  `json:"quotas"`
}

// Zone is a zone.
type Zone struct {
	core.Meta

	Status string `json:"status" enum:"DOWN|UP"`
	Region string `json:"region"`
}

// Methods returns all methods of the package, and those of the ones below.
func (s *State) Methods() []core.Method {
	project := core.Method{ID: "projects.get", Verb: http.MethodGet, Permission: "projects.get",
		Do: func(k *core.Call) (any, error) { return core.Get[*Project](s.Core(), core.Ref{Project: k.Project()}) }}
	regions := core.Collection[*Region]{State: s.Core(), Name: "regions"}
	zones := core.Collection[*Zone]{State: s.Core(), Name: "zones", Show: s.showZone}
	instances := core.Collection[*Instance]{State: s.Core(), Name: "instances", Scope: "zones"}
	return slices.Concat(s.State.Methods(), []core.Method{project}, regions.Methods(), zones.Methods(),
		instances.Methods(s.updateInterface(instances)), s.groupMethods(), s.routes().Methods())
}

// showZone shows a zone that does not answer as down.
func (s *State) showZone(z *Zone) *Zone {
	if !slices.Contains(s.Disrupted, z.Name) {
		return z
	}
	view := *z
	view.Status = "DOWN"
	return &view
}

// AddPlaces adds all projects with their regions and zones.
func (s *State) AddPlaces() {
	o := s.Options
	var quotas []Quota
	for _, name := range slices.Sorted(maps.Keys(o.Quotas)) {
		quotas = append(quotas, Quota{Metric: name, Limit: float64(o.Quotas[name])})
	}
	for _, name := range o.Projects() {
		p := &Project{DefaultNetworkTier: vpc.TierPremium, XPNProjectStatus: "UNSPECIFIED_XPN_PROJECT_STATUS",
			DefaultServiceAccount: o.Number(name) + "-compute@developer.gserviceaccount.com", Quotas: quotas,
			CommonMetadata: Metadata{Kind: "compute#metadata", Fingerprint: core.Fingerprint(name)}}
		if name == o.NetworkProject && name != o.Project {
			p.XPNProjectStatus = "HOST"
		}
		s.Add(p, "compute#project", core.Ref{Project: name})
		p.Name = name
		for _, region := range o.Regions() {
			r := &Region{Status: "UP", Quotas: quotas}
			s.Add(r, "compute#region", core.Ref{Project: name, Collection: "regions", Name: region})
			for _, zone := range o.AllZones() {
				if core.RegionOf(zone) != region {
					continue
				}
				z := &Zone{Status: "UP", Region: r.SelfLink}
				s.Add(z, "compute#zone", core.Ref{Project: name, Collection: "zones", Name: zone})
				r.Zones = append(r.Zones, z.SelfLink)
			}
		}
	}
}
