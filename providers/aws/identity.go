package aws

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
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// identity says which cluster this manager looks after and where that is.
type identity struct {
	Region string
	// VPC is where the nodes are.
	VPC string
	// ClusterID is the cluster's ID in tags. Legacy says that the tag of earlier days is written too.
	ClusterID string
	Legacy    bool
	// Subnet is where load balancers go when no subnet qualifies by its tags; may be empty.
	Subnet string
}

// self is the instance on which the manager runs, as far as it is known.
type self struct {
	id, vpc, subnet string
	tags            map[string]string
}

// regionOf returns the configured region, or that of the machine on which the manager runs.
func regionOf(ctx context.Context, cfg *Config, metadata func(context.Context) (*imds.Client, error)) (string, error) {
	if region := cfg.region(); region != "" {
		return region, nil
	}
	client, err := metadata(ctx)
	if err != nil {
		return "", err
	}
	out, err := client.GetRegion(ctx, nil)
	if err == nil && out.Region == "" {
		err = errors.New("its answer names no region")
	}
	if err != nil {
		return "", missing([]string{"Region"}, cfg, err)
	}
	return out.Region, nil
}

// identify completes the configuration with what the machine on which the manager runs says of
// itself. It makes no call if VPC and cluster ID are configured.
func identify(ctx context.Context, cfg *Config, region string, client api.EC2, metadata func(context.Context) (*imds.Client, error)) (identity, error) {
	g := cfg.Global
	id := identity{Region: region, VPC: g.VPC, ClusterID: cfg.clusterID(), Legacy: cfg.legacyTags(), Subnet: g.SubnetID}
	absent := cfg.absent()
	if len(absent) == 0 {
		return id, nil
	}
	me, err := whoAmI(ctx, client, metadata)
	if err != nil {
		return id, missing(absent, cfg, err)
	}
	if id.VPC == "" {
		id.VPC = me.vpc
	}
	if id.Subnet == "" && me.vpc == id.VPC {
		id.Subnet = me.subnet
	}
	if id.ClusterID == "" {
		if id.ClusterID, id.Legacy, err = clusterIn(me); err != nil {
			return id, err
		}
	}
	return id, nil
}

// absent are the keys without which the own instance must be asked.
func (c *Config) absent() []string {
	var keys []string
	if c.Global.VPC == "" {
		keys = append(keys, "VPC")
	}
	if c.clusterID() == "" {
		keys = append(keys, "KubernetesClusterID")
	}
	return keys
}

// missing says what is needed, why it is not known, and where to set it.
func missing(keys []string, cfg *Config, cause error) error {
	all := keys
	for _, key := range cfg.absent() {
		if !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	hint := ""
	if cloudapi.Is(cause, cloudapi.Unavailable) {
		hint = " (from a Pod it is reached only with a hop limit of 2 or more)"
	}
	return &cloudapi.Error{Class: cloudapi.ClassOf(cause), Operation: "GetIdentity", Err: fmt.Errorf(
		"%s not set in section [%s], and cannot be read from the instance that the manager runs on%s: set %s, or let the instance be read: %w",
		strings.Join(keys, " and ")+verb(keys), sectionGlobal, hint, strings.Join(all, ", "), cloudapi.CauseOf(cause))}
}

func verb(keys []string) string {
	if len(keys) == 1 {
		return " is"
	}
	return " are"
}

// whoAmI reads the instance on which the manager runs.
func whoAmI(ctx context.Context, client api.EC2, metadata func(context.Context) (*imds.Client, error)) (self, error) {
	service, err := metadata(ctx)
	if err != nil {
		return self{}, err
	}
	id, err := metadataText(ctx, service, "instance-id")
	if err != nil {
		return self{}, err
	}
	// By filter: an ID that is not known makes a call by ID fail, and what EC2 would say about it does not matter.
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{
		Filters: []ec2types.Filter{{Name: aws.String("instance-id"), Values: []string{id}}},
	})
	if err != nil {
		return self{}, err
	}
	for _, reservation := range out.Reservations {
		for n := range reservation.Instances {
			return selfOf(&reservation.Instances[n]), nil
		}
	}
	return self{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeInstances", Err: fmt.Errorf(
		"EC2 does not know instance %s: it may be in another region or account than the manager's credentials", id)}
}

func selfOf(i *ec2types.Instance) self {
	me := self{id: aws.ToString(i.InstanceId), vpc: aws.ToString(i.VpcId), subnet: aws.ToString(i.SubnetId), tags: map[string]string{}}
	for _, tag := range i.Tags {
		me.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return me
}

// metadataLimit is far above any value that is read.
const metadataLimit = 64 << 10

func metadataText(ctx context.Context, client *imds.Client, path string) (string, error) {
	out, err := client.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Content.Close() }() // Nothing can be done about what has been read.
	text, err := io.ReadAll(io.LimitReader(out.Content, metadataLimit))
	if err == nil && len(text) == 0 {
		err = errors.New("the answer is empty")
	}
	if err != nil {
		return "", &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "GetMetadata", Err: fmt.Errorf("%s: %w", path, err)}
	}
	return strings.TrimSpace(string(text)), nil
}

// clusterIn reads the cluster's ID out of an instance's tags. legacy says that it is in the tag of earlier days.
func clusterIn(me self) (id string, legacy bool, err error) {
	var ids []string
	for key := range me.tags {
		if id, ok := strings.CutPrefix(key, names.ClusterTagPrefix); ok && id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	old, legacy := me.tags[names.LegacyClusterTag]
	legacy = legacy && old != ""
	switch {
	case len(ids) > 1:
		return "", false, unclear(me, "has the tags %s and %s, which name different clusters", names.ClusterTag(ids[0]), names.ClusterTag(ids[1]))
	case len(ids) == 1 && legacy && old != ids[0]:
		return "", false, unclear(me, "has the tags %s and %s = %s, which name different clusters", names.ClusterTag(ids[0]), names.LegacyClusterTag, old)
	case len(ids) == 1:
		return ids[0], legacy, nil
	case legacy:
		return old, true, nil
	default:
		return "", false, unclear(me, "has neither a tag %sID nor a tag %s", names.ClusterTagPrefix, names.LegacyClusterTag)
	}
}

func unclear(me self, format string, args ...any) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "GetIdentity", Err: fmt.Errorf(
		"the cluster's ID is not known: instance %s, on which the manager runs, %s; set KubernetesClusterID in section [%s], or correct the tags",
		me.id, fmt.Sprintf(format, args...), sectionGlobal)}
}
