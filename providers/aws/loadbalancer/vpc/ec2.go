package vpc

import (
	"fmt"
	"net/netip"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
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

func inVPC(id string) ec2types.Filter { return api.Filter("vpc-id", id) }
