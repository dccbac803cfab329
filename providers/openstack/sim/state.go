package sim

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// state has all objects, by ID.
type state struct {
	projects  map[string]*project
	users     map[string]*user
	appCreds  map[string]*appCred
	trusts    map[string]*trust
	tokens    map[string]*token
	servers   map[string]*server
	flavors   map[string]*flavor
	networks  map[string]*network
	subnets   map[string]*subnet
	ports     map[string]*port
	routers   map[string]*router
	addresses map[string]*floatingIP
	groups    map[string]*securityGroup
	rules     map[string]*securityRule
	balancers map[string]*balancer
	listeners map[string]*listener
	pools     map[string]*pool
	monitors  map[string]*monitor
	lbFlavors map[string]*lbFlavor
	secrets   map[string]*secret
	// containers are Barbican's.
	containers map[string]*secret
	// changes of load balancers that have not ended, and how future ones will.
	changes      []*pendingChange
	outcomeRules []*outcomeRule
	// used are the addresses taken in each subnet.
	used map[string]map[netip.Addr]bool
	// foreign are destinations of routes that were made by the console.
	foreign map[string]bool
	// clusterProject, clusterRouter and clusterNetwork are those in which machines are launched.
	clusterProject, clusterRouter, clusterNetwork string
	launched                                      int
	// exhausted are subnets without free addresses.
	exhausted map[string]bool
	// tokensEndAfter is after how many more calls with a token all tokens end; 0 is never.
	tokensEndAfter int
	// made counts objects in the order of creation.
	made int
}

func newState() *state {
	return &state{
		projects: map[string]*project{}, users: map[string]*user{}, appCreds: map[string]*appCred{},
		trusts: map[string]*trust{},
		tokens: map[string]*token{}, servers: map[string]*server{}, flavors: map[string]*flavor{},
		networks: map[string]*network{},
		subnets:  map[string]*subnet{}, ports: map[string]*port{}, routers: map[string]*router{},
		addresses: map[string]*floatingIP{},
		groups:    map[string]*securityGroup{}, rules: map[string]*securityRule{},
		balancers: map[string]*balancer{}, listeners: map[string]*listener{}, pools: map[string]*pool{},
		monitors:  map[string]*monitor{},
		lbFlavors: map[string]*lbFlavor{}, secrets: map[string]*secret{}, containers: map[string]*secret{},
		used: map[string]map[netip.Addr]bool{}, foreign: map[string]bool{}, exhausted: map[string]bool{},
	}
}

// object is embedded in all objects. seq is the number of its creation.
type object struct {
	ID  string `json:"id"`
	seq int
}

func (o *object) meta() *object { return o }

// entity is a pointer to a struct that embeds object.
type entity interface{ meta() *object }

// neutronObject is embedded in all objects of Neutron.
type neutronObject struct {
	object
	Name        string   `json:"name"`
	Project     string   `json:"project_id"`
	Tenant      string   `json:"tenant_id"`
	Description string   `json:"description"`
	Created     string   `json:"created_at"`
	Updated     string   `json:"updated_at"`
	Revision    int      `json:"revision_number"`
	Tags        []string `json:"tags"`
}

func (n *neutronObject) common() *neutronObject { return n }

// neutronEntity is a pointer to a struct that embeds neutronObject.
type neutronEntity interface {
	entity
	common() *neutronObject
}

// neutronTime and octaviaTime are the time formats of the services.
const (
	neutronTime = "2006-01-02T15:04:05Z"
	octaviaTime = "2006-01-02T15:04:05"
)

// newNeutron returns the common fields of a new Neutron object.
func (t *tx) newNeutron(project, name string) neutronObject {
	now := t.now.UTC().Format(neutronTime)
	return neutronObject{object: object{ID: t.newID(), seq: t.next()}, Name: name, Project: project, Tenant: project,
		Created: now, Updated: now, Revision: 1, Tags: []string{}}
}

// markUpdated updates the revision and the time of the last change.
func (t *tx) markUpdated(n *neutronObject) {
	n.Updated = t.now.UTC().Format(neutronTime)
	n.Revision++
}

// advance applies the changes that are due by now.
func (t *tx) advance() {
	t.finishDueChanges()
	for _, s := range t.servers {
		if s.Status == statusBuild && due(t.now, s.ready) {
			t.running(s)
		}
	}
}

// byID returns objects in the order of their IDs, in which Neutron lists them.
func byID[T entity](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, x := range m {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a.meta().ID, b.meta().ID) })
	return out
}

// bySeq returns objects in the order of creation.
func bySeq[T entity](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, x := range m {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a.meta().seq, b.meta().seq) })
	return out
}

// only returns the objects that pass.
func only[T any](list []T, pass func(T) bool) []T {
	return slices.DeleteFunc(list, func(x T) bool { return !pass(x) })
}

func due(now, at time.Time) bool { return !at.IsZero() && !now.Before(at) }
