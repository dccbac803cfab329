package classic

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// removed is what was removed from a place: a listener or the ID of a subnet.
type removed struct {
	listener Listener
	subnet   string
}

// place identifies the port of a listener among what is unfinished.
func (l Listener) place() string { return listenerField(l.Port) }

// text is the listener with its certificate.
func (l Listener) text() string { return l.String() + " " + l.Certificate }

// subnetPlace identifies the zone of a subnet among what is unfinished.
func subnetPlace(subnet string, zones map[string]string) string {
	return fieldSubnets + " " + cmp.Or(zones[subnet], subnet)
}

// textsOf returns the texts of wanted listeners and subnets, by their places.
func textsOf(listeners []Listener, subnets []string, zones map[string]string) map[string]string {
	texts := map[string]string{}
	for _, l := range listeners {
		texts[l.place()] = l.text()
	}
	for _, id := range subnets {
		texts[subnetPlace(id, zones)] = id
	}
	return texts
}

// isForeign reports whether the certificate of a listener is one of ACM in another region than that of zones: AWS
// refuses it. It does not know if no zone is known.
func (l Listener) isForeign(zones map[string]string) bool {
	arn := strings.Split(l.Certificate, ":")
	if len(arn) < 6 || arn[2] != "acm" || arn[3] == "" {
		return false
	}
	for _, zone := range zones {
		if zone != "" && !strings.HasPrefix(zone, arn[3]) {
			return true
		}
	}
	return false
}

// foreignError is the error about a foreign certificate.
func (l Listener) foreignError() error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "CreateLoadBalancerListeners",
		Err: fmt.Errorf("%s is %s: write the ARN of a certificate of this region and account", annotation.KeyCertificates,
			intent.Quote(l.Certificate))}
}
