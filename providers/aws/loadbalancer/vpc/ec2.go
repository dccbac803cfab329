package vpc

import (
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Page sizes, the largest that the API reference allows.
const (
	subnetPage     = 1000
	routeTablePage = 100
	groupPage      = 1000
)

// parsePrefix parses a network that AWS returned.
func parsePrefix(operation, text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, &cloudapi.Error{Class: cloudapi.Unknown, Operation: operation,
			Err: fmt.Errorf("the response cannot be parsed: %w", err)}
	}
	return prefix.Masked(), nil
}

func inVPC(id string) ec2types.Filter { return filter("vpc-id", id) }

func filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: values}
}

func tagMap(tags []ec2types.Tag) map[string]string {
	m := make(map[string]string, len(tags))
	for _, tag := range tags {
		m[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return m
}
