package fake

import (
	"fmt"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// What is in this file is written into clusters and clouds, and can never change. The names and
// tags of load balancers, listeners, pools and addresses are in loadbalancer/names.go.

// Schemes of nodes that run elsewhere and can be adopted.
const (
	schemeKind = "kind" // kind://docker/CLUSTER/NODE, which kind sets
	schemeKwok = "kwok" // kwok://NODE, which kwok's node templates set
)

// providerIDs are the forms of spec.providerID that this provider has ever written.
func providerIDs() *instances.TableScheme {
	return instances.MustScheme(instances.Table{
		Scheme: ProviderName,
		Forms:  []instances.Form{{Name: "current", Template: ProviderName + "://{zone}/{id}"}},
	})
}

// scheme reads provider IDs: our own and, where nodes are adopted, those of kind and kwok.
type scheme struct {
	*instances.TableScheme
	adopts bool
}

var _ instances.Scheme = (*scheme)(nil)

func newScheme(adopts bool) *scheme { return &scheme{TableScheme: providerIDs(), adopts: adopts} }

// Parse implements instances.Scheme.
func (s *scheme) Parse(providerID string) (string, error) {
	if id, ok := s.adoptedID(providerID); ok {
		return id, nil
	}
	return s.TableScheme.Parse(providerID)
}

// adoptedID returns the instance ID that a node of kind or kwok is adopted under. It follows from
// the provider ID alone, so that such a node can be a member of a pool without a call.
func (s *scheme) adoptedID(providerID string) (string, bool) {
	from, rest, ok := strings.Cut(providerID, "://")
	if !s.adopts || !ok || from != schemeKind && from != schemeKwok {
		return "", false
	}
	name := rest[strings.LastIndex(rest, "/")+1:]
	if name == "" {
		return "", false
	}
	return from + "-" + name, true
}

// format writes the provider ID of an instance.
func (s *scheme) format(zone, id string) (string, error) {
	return s.Format(instances.Fields{"zone": zone, "id": id})
}

// routeName returns the name of a cluster's route, which a person reads in the cloud's route
// table. Destinations are unique in a cluster.
func routeName(clusterName, destination string) string {
	return fmt.Sprintf("%s-%s", clusterName, strings.ReplaceAll(destination, "/", "-"))
}
