package names

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// ProviderIDs reads and writes spec.providerID: gce://PROJECT/ZONE/NAME. The ID of an instance in this program is
// ZONE/NAME.
type ProviderIDs struct{ table *instances.TableScheme }

var _ instances.Scheme = ProviderIDs{}

// NewProviderIDs returns the provider IDs of a project; those of another one are foreign. The function project returns
// "" while it is unknown, and makes no calls. Nil accepts every project.
func NewProviderIDs(project func() string) ProviderIDs {
	table := instances.Table{
		Scheme: Scheme,
		Forms:  []instances.Form{{Name: "current", Template: Scheme + "://{project}/{zone}/{id}"}},
		// Other texts are not those of a zone or an instance, and Compute Engine rejects a list that asks for them.
		Valid: map[string]func(string) bool{"zone": isName, "id": isName},
	}
	if project != nil {
		table.Foreign = func(f instances.Fields) string {
			if own := project(); own != "" && f["project"] != own {
				return fmt.Sprintf("it is of project %s, and this manager's project is %s", f["project"], own)
			}
			return ""
		}
	}
	return ProviderIDs{instances.MustScheme(table)}
}

// nameOf matches the names of zones and instances, which are labels of RFC 1035.
var nameOf = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

func isName(text string) bool { return nameOf.MatchString(text) }

// Parse implements instances.Scheme.
func (p ProviderIDs) Parse(providerID string) (string, error) {
	fields, _, err := p.table.ParseFields(providerID)
	if err != nil {
		return "", err
	}
	return InstanceID(fields["zone"], fields["id"]), nil
}

// Format writes the provider ID of an instance.
func (p ProviderIDs) Format(project, zone, name string) (string, error) {
	return p.table.Format(instances.Fields{"project": project, "zone": zone, "id": name})
}

// InstanceID returns the ID of an instance.
func InstanceID(zone, name string) string { return zone + "/" + name }

// SplitInstanceID is the inverse of InstanceID.
func SplitInstanceID(id string) (zone, name string) {
	zone, name, _ = strings.Cut(id, "/")
	return zone, name
}

// InstanceName returns the name of the instance of a node: the node's name up to the first dot.
func InstanceName(nodeName string) string {
	name, _, _ := strings.Cut(nodeName, ".")
	return name
}

// RegionOf returns the region of a zone; "" for a text that is none.
func RegionOf(zone string) string {
	return zone[:max(0, strings.LastIndex(zone, "-"))]
}
