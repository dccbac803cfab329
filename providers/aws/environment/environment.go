// Package environment determines which cluster the manager belongs to, and its region and VPC: from the
// configuration, or from the instance that the manager runs on.
package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Environment identifies the cluster and its location.
type Environment struct {
	Region string
	// VPC is the VPC of the nodes.
	VPC string
	// ClusterID is the cluster's ID in tags. LegacyTag reports that the legacy tag is written too.
	ClusterID string
	LegacyTag bool
	// Subnet is where load balancers are placed when no subnet qualifies by its tags; may be empty.
	Subnet string
}

// Metadata returns the client of the instance metadata service.
type Metadata func(context.Context) (*imds.Client, error)

// Region returns the configured region, or that of the instance that the manager runs on.
func Region(ctx context.Context, cfg *config.Config, metadata Metadata) (string, error) {
	if region := cfg.Region(); region != "" {
		return region, nil
	}
	client, err := metadata(ctx)
	if err != nil {
		return "", err
	}
	out, err := client.GetRegion(ctx, nil)
	if err == nil && out.Region == "" {
		err = errors.New("the response has no region")
	}
	if err != nil {
		return "", notConfigured([]string{"Region"}, cfg, err)
	}
	return out.Region, nil
}

// Discover completes the configuration with the properties of the instance that the manager runs on. It
// makes no call if VPC and cluster ID are configured.
func Discover(
	ctx context.Context, cfg *config.Config, region string, client api.EC2, metadata Metadata,
) (Environment, error) {
	g := cfg.Global
	id := Environment{
		Region: region, VPC: g.VPC, ClusterID: cfg.ClusterID(), LegacyTag: cfg.LegacyTag(), Subnet: g.SubnetID,
	}
	missing := missingKeys(cfg)
	if len(missing) == 0 {
		return id, nil
	}
	self, err := readSelf(ctx, client, metadata)
	if cloudapi.Is(err, cloudapi.Unavailable) && id.ClusterID != "" {
		// EC2 cannot read instances in a disrupted zone.
		if own, metadataErr := readInterface(ctx, metadata); metadataErr == nil {
			self, err = own, nil
		}
	}
	if err != nil {
		return id, notConfigured(missing, cfg, err)
	}
	if id.VPC == "" {
		id.VPC = self.vpc
	}
	if id.Subnet == "" && self.vpc == id.VPC {
		id.Subnet = self.subnet
	}
	if id.ClusterID == "" {
		if id.ClusterID, id.LegacyTag, err = clusterIDOf(self); err != nil {
			return id, err
		}
	}
	return id, nil
}

// missingKeys returns the keys that are not configured and can be discovered.
func missingKeys(cfg *config.Config) []string {
	var keys []string
	if cfg.Global.VPC == "" {
		keys = append(keys, "VPC")
	}
	if cfg.ClusterID() == "" {
		keys = append(keys, "KubernetesClusterID")
	}
	return keys
}

// notConfigured returns an error about keys that are neither configured nor discovered, with its fix.
func notConfigured(keys []string, cfg *config.Config, cause error) error {
	missing := keys
	for _, key := range missingKeys(cfg) {
		if !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	detail := ""
	if cloudapi.Is(cause, cloudapi.Unavailable) {
		detail = " (Pods reach it only with a hop limit of 2 or more)"
	}
	verb := " are"
	if len(keys) == 1 {
		verb = " is"
	}
	return &cloudapi.Error{Class: cloudapi.ClassOf(cause), Operation: "GetIdentity", Err: fmt.Errorf(
		"%s not set in section [%s], and cannot be read from the instance that the manager runs on%s: "+
			"set %s, or let the instance be read: %w",
		strings.Join(keys, " and ")+verb, config.SectionGlobal, detail, strings.Join(missing, ", "), cloudapi.CauseOf(cause))}
}

// instance is the instance that the manager runs on.
type instance struct {
	id, vpc, subnet string
	tags            map[string]string
}

// readSelf reads the instance that the manager runs on.
func readSelf(ctx context.Context, client api.EC2, metadata Metadata) (instance, error) {
	service, err := metadata(ctx)
	if err != nil {
		return instance{}, err
	}
	id, err := readMetadata(ctx, service, "instance-id")
	if err != nil {
		return instance{}, err
	}
	unknown := &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeInstances", Err: fmt.Errorf(
		"EC2 does not know instance %s: it may be in another region or account than the manager's credentials", id)}
	// By ID, since a read by filter fails while any zone is disrupted.
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	switch {
	case cloudapi.Is(err, cloudapi.NotFound):
		return instance{}, unknown
	case err != nil:
		return instance{}, err
	}
	for _, reservation := range out.Reservations {
		for _, i := range reservation.Instances {
			return instance{
				id: aws.ToString(i.InstanceId), vpc: aws.ToString(i.VpcId), subnet: aws.ToString(i.SubnetId),
				tags: api.TagMap(i.Tags),
			}, nil
		}
	}
	return instance{}, unknown
}

// readInterface reads the VPC and the subnet of the instance that the manager runs on from the instance metadata
// service, which needs no API of AWS.
func readInterface(ctx context.Context, metadata Metadata) (instance, error) {
	service, err := metadata(ctx)
	if err != nil {
		return instance{}, err
	}
	mac, err := readMetadata(ctx, service, "mac")
	if err != nil {
		return instance{}, err
	}
	var self instance
	for key, to := range map[string]*string{"vpc-id": &self.vpc, "subnet-id": &self.subnet} {
		if *to, err = readMetadata(ctx, service, "network/interfaces/macs/"+mac+"/"+key); err != nil {
			return instance{}, err
		}
	}
	return self, nil
}

// metadataLimit is far above the size of any value that is read.
const metadataLimit = 64 << 10

func readMetadata(ctx context.Context, client *imds.Client, path string) (string, error) {
	out, err := client.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Content.Close() }() // the content has been read
	content, err := io.ReadAll(io.LimitReader(out.Content, metadataLimit))
	if err == nil && len(content) == 0 {
		err = errors.New("the response is empty")
	}
	if err != nil {
		return "", &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "GetMetadata",
			Err: fmt.Errorf("%s: %w", path, err)}
	}
	return strings.TrimSpace(string(content)), nil
}

// clusterIDOf returns the cluster's ID from the tags of an instance. legacy reports that the legacy tag
// has it.
func clusterIDOf(self instance) (id string, legacy bool, err error) {
	ids := names.ClusterIDs(self.tags)
	legacyID := self.tags[names.LegacyClusterTag]
	legacy = legacyID != ""
	switch {
	case len(ids) > 1:
		return "", false, ambiguous(self, "has the tags %s and %s, which name different clusters",
			names.ClusterTag(ids[0]), names.ClusterTag(ids[1]))
	case len(ids) == 1 && legacy && legacyID != ids[0]:
		return "", false, ambiguous(self, "has the tags %s and %s = %s, which name different clusters",
			names.ClusterTag(ids[0]), names.LegacyClusterTag, legacyID)
	case len(ids) == 1:
		return ids[0], legacy, nil
	case legacy:
		return legacyID, true, nil
	default:
		return "", false, ambiguous(self, "has neither a tag %sID nor a tag %s", names.ClusterTagPrefix,
			names.LegacyClusterTag)
	}
}

func ambiguous(self instance, format string, args ...any) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "GetIdentity", Err: fmt.Errorf(
		"the cluster's ID is not known: instance %s, on which the manager runs, %s; "+
			"set KubernetesClusterID in section [%s], or correct the tags",
		self.id, fmt.Sprintf(format, args...), config.SectionGlobal)}
}
