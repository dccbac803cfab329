package names

import (
	"fmt"
	"regexp"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Scheme is the scheme of provider IDs, which is the provider's name.
const Scheme = "openstack"

// Forms of provider IDs that are written.
const (
	formPlain    = "without a region"
	formRegional = "with a region"
)

// uuid matches the IDs of OpenStack's services, with and without hyphens.
var uuid = regexp.MustCompile(`\A[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\z`)

// IsUUID reports whether a text has the form of an ID of OpenStack's services.
func IsUUID(text string) bool { return uuid.MatchString(text) }

// ProviderIDs returns the forms of spec.providerID that were ever accepted. region is the configured region
// of this manager, "" for none. A node of another region is foreign, because the Nova of our region would
// report that its server does not exist.
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
		Valid: map[string]func(string) bool{"id": IsUUID},
		Foreign: func(fields instances.Fields) string {
			nodeRegion := fields["region"]
			if nodeRegion == "" || region == "" || nodeRegion == region {
				return ""
			}
			return fmt.Sprintf("its region is %s, and the region of this manager is %s", nodeRegion, region)
		},
	})
}

// FormatProviderID returns the provider ID of a server, with its region if regional is set.
func FormatProviderID(ids *instances.TableScheme, regional bool, region, id string) (string, error) {
	if regional {
		return ids.FormatAs(formRegional, instances.Fields{"region": region, "id": id})
	}
	return ids.FormatAs(formPlain, instances.Fields{"id": id})
}
