package names

import (
	"fmt"
	"regexp"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Scheme is what provider IDs begin with, which is the provider's name.
const Scheme = "openstack"

// Forms of provider IDs that are written.
const (
	formPlain    = "without a region"
	formRegional = "with a region"
)

// serverID is the form of Nova's IDs, with and without hyphens.
var serverID = regexp.MustCompile(`\A[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\z`)

// ProviderIDs are the forms of spec.providerID that were ever accepted. region is the region that
// this manager looks after, "" if none is configured. A node of another region is foreign, because
// the Nova of our region would say that its server does not exist.
func ProviderIDs(region string) *instances.TableScheme {
	return instances.MustScheme(instances.Table{
		Scheme: Scheme,
		Forms: []instances.Form{
			{Name: formPlain, Template: "openstack:///{id}"},
			{Name: formRegional, Template: "openstack://{region}/{id}"},
			{Name: "without the scheme", Template: "/{id}"},
			{Name: "without the scheme, with a region", Template: "{region}/{id}"},
			{Name: "bare", Template: "{id}"},
		},
		Valid: map[string]func(string) bool{"id": serverID.MatchString},
		Foreign: func(fields instances.Fields) string {
			theirs := fields["region"]
			if theirs == "" || region == "" || theirs == region {
				return ""
			}
			return fmt.Sprintf("its region is %s, and this manager looks after %s", theirs, region)
		},
	})
}

// FormatProviderID writes the provider ID of a server: with its region where regional asks for it.
func FormatProviderID(ids *instances.TableScheme, regional bool, region, id string) (string, error) {
	if regional {
		return ids.FormatAs(formRegional, instances.Fields{"region": region, "id": id})
	}
	return ids.FormatAs(formPlain, instances.Fields{"id": id})
}
