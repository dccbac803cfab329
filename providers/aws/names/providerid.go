package names

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Scheme is what provider IDs begin with, which is the provider's name.
const Scheme = "aws"

// FargatePrefix begins the IDs of machines that have no EC2 instance; what follows is the private
// DNS name or address of their network interface.
const FargatePrefix = "fargate-"

// Fields of a provider ID.
const (
	FieldID   = "id"
	FieldZone = "zone"
)

// InstancePrefix begins the IDs of EC2's instances.
const InstancePrefix = "i-"

var regionAt = regexp.MustCompile(`\A([a-z]+-){2,}[0-9]+`)

// ProviderIDs are the forms of spec.providerID that were ever accepted. region returns the region
// that this manager looks after, "" as long as that is not known; a node of another region is
// foreign, because the EC2 of our region would say that its instance does not exist.
func ProviderIDs(region func() string) *instances.TableScheme {
	return instances.MustScheme(instances.Table{
		Scheme: Scheme,
		Forms: []instances.Form{
			{Name: "current", Template: "aws:///{zone}/{id}"},
			{Name: "without a zone", Template: "aws:////{id}"},
			{Name: "short", Template: "aws:///{id}"},
			{Name: "with the zone as host", Template: "aws://{zone}/{id}"},
			{Name: "of a Fargate pod", Template: "aws:///{zone}/{pod}/{id}"},
			{Name: "bare", Template: "{id}"},
		},
		Valid: map[string]func(string) bool{FieldID: isMachine},
		Foreign: func(fields instances.Fields) string {
			ours := region()
			theirs, ok := RegionOfZone(fields[FieldZone])
			if ours == "" || !ok || theirs == ours {
				return ""
			}
			return fmt.Sprintf("its zone %s is in region %s, and this manager looks after %s", fields[FieldZone], theirs, ours)
		},
	})
}

// isMachine says whether an ID can be that of a machine: one line after the prefix. EC2 assigns hexadecimal
// ones; tests of clusters make up others, which EC2 then refuses.
func isMachine(id string) bool {
	for _, prefix := range []string{InstancePrefix, FargatePrefix} {
		if rest, ok := strings.CutPrefix(id, prefix); ok && rest != "" && !strings.Contains(rest, "\n") {
			return true
		}
	}
	return false
}

// RegionOfZone returns the region in the name of an availability zone, a local zone or a
// wavelength zone: us-west-2 of us-west-2a and of us-west-2-lax-1b. ok is false for what is no name of a zone.
func RegionOfZone(zone string) (region string, ok bool) {
	region = regionAt.FindString(zone)
	rest := strings.TrimPrefix(zone, region)
	return region, region != "" && rest != ""
}

// IsFargate says whether an instance ID, as ProviderIDs parses it, is that of a Fargate node.
func IsFargate(id string) bool { return strings.HasPrefix(id, FargatePrefix) }

// instanceID matches the IDs that EC2 assigns: 8 hexadecimal digits until 2016, 17 since.
var instanceID = regexp.MustCompile(`\Ai-([0-9a-f]{8}|[0-9a-f]{17})\z`)

// IsInstanceID reports whether the ID may be that of an EC2 instance.
func IsInstanceID(id string) bool { return instanceID.MatchString(id) }
