// Package names has the names and provider IDs that are written into clusters and clouds and can never
// change.
package names

import (
	"fmt"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Provider is the registry key, the scheme of provider IDs and the metric label alike.
const Provider = "fake"

// Schemes of nodes that run outside of the cloud and can be adopted.
const (
	schemeKind = "kind" // kind://docker/CLUSTER/NODE, which kind sets
	schemeKwok = "kwok" // kwok://NODE, which kwok's node templates set
)

// providerIDs are the forms of spec.providerID that this provider has ever written.
func providerIDs() *instances.TableScheme {
	return instances.MustScheme(instances.Table{
		Scheme: Provider,
		Forms:  []instances.Form{{Name: "current", Template: Provider + "://{zone}/{id}"}},
	})
}

// Scheme parses provider IDs: our own and, if nodes are adopted, those of kind and kwok.
type Scheme struct {
	*instances.TableScheme
	adopts bool
}

var _ instances.Scheme = (*Scheme)(nil)

// NewScheme returns the provider IDs of fake. With adopts it accepts those of kind and kwok too.
func NewScheme(adopts bool) *Scheme { return &Scheme{TableScheme: providerIDs(), adopts: adopts} }

// Parse implements instances.Scheme.
func (s *Scheme) Parse(providerID string) (string, error) {
	if id, ok := s.AdoptedID(providerID); ok {
		return id, nil
	}
	return s.TableScheme.Parse(providerID)
}

// AdoptedID returns the instance ID of an adopted node of kind or kwok. It depends on the provider ID only,
// so that such a node can be a member of a pool without a call.
func (s *Scheme) AdoptedID(providerID string) (string, bool) {
	scheme, path, ok := strings.Cut(providerID, "://")
	if !s.adopts || !ok || scheme != schemeKind && scheme != schemeKwok {
		return "", false
	}
	name := path[strings.LastIndex(path, "/")+1:]
	if name == "" {
		return "", false
	}
	return scheme + "-" + name, true
}

// Format writes the provider ID of an instance.
func (s *Scheme) Format(zone, id string) (string, error) {
	return s.TableScheme.Format(instances.Fields{"zone": zone, "id": id})
}

// Route returns the name of a cluster's route in the cloud's route table. Destinations are unique in a
// cluster.
func Route(clusterName, destination string) string {
	return fmt.Sprintf("%s-%s", clusterName, strings.ReplaceAll(destination, "/", "-"))
}
