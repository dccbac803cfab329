package names

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Scheme is the scheme of provider IDs, and the name of the provider.
const Scheme = "aws"

// FargatePrefix is the prefix of the IDs of Fargate nodes. The private DNS name or address of their network interface
// follows.
const FargatePrefix = "fargate-"

// Fields of a provider ID.
const (
	FieldID   = "id"
	FieldZone = "zone"
)

// InstancePrefix is the prefix of the IDs of EC2 instances.
const InstancePrefix = "i-"

var regionPrefix = regexp.MustCompile(`\A([a-z]+-){2,}[0-9]+`)

// ProviderIDs returns the formats of spec.providerID that were ever accepted. region returns the region of the
// cluster, "" while it is unknown. A Node of another region is foreign, because EC2 does not find its instance in the
// region of the cluster.
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
		Valid: map[string]func(string) bool{FieldID: isNodeID},
		Foreign: func(fields instances.Fields) string {
			clusterRegion := region()
			nodeRegion, ok := RegionOfZone(fields[FieldZone])
			if clusterRegion == "" || !ok || nodeRegion == clusterRegion {
				return ""
			}
			return fmt.Sprintf("its zone %s is in region %s, and the region of this manager is %s",
				fields[FieldZone], nodeRegion, clusterRegion)
		},
	})
}

// isNodeID reports whether an ID, of an instance or a Fargate node, is valid: one line after the prefix. EC2 assigns
// hexadecimal ones; other ones occur in tests of clusters, and EC2 rejects them.
func isNodeID(id string) bool {
	for _, prefix := range []string{InstancePrefix, FargatePrefix} {
		if suffix, ok := strings.CutPrefix(id, prefix); ok && suffix != "" && !strings.Contains(suffix, "\n") {
			return true
		}
	}
	return false
}

// RegionOfZone returns the region in the name of an availability zone, a local zone or a
// wavelength zone: us-west-2 of us-west-2a and of us-west-2-lax-1b. ok is false for other names.
func RegionOfZone(zone string) (region string, ok bool) {
	region = regionPrefix.FindString(zone)
	return region, region != "" && len(zone) > len(region)
}

// IsFargate reports whether an ID, as ProviderIDs parses it, is that of a Fargate node.
func IsFargate(id string) bool { return strings.HasPrefix(id, FargatePrefix) }

// instanceID matches the IDs that EC2 assigns: 8 hexadecimal digits until 2016, 17 since.
var instanceID = regexp.MustCompile(`\Ai-([0-9a-f]{8}|[0-9a-f]{17})\z`)

// IsInstanceID reports whether the ID may be that of an EC2 instance.
func IsInstanceID(id string) bool { return instanceID.MatchString(id) }
