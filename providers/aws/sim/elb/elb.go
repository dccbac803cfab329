// Package elb has the shared parts of both generations of Elastic Load Balancing.
package elb

import (
	"regexp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
)

// State of the service in an account.
type State struct {
	// LinkedRole is the service-linked role of Elastic Load Balancing; the first load balancer or target group creates it.
	LinkedRole bool
}

// Tx is one operation on the state.
type Tx struct {
	*ec2.Tx
	*State
}

// Schemes of load balancers, of both generations.
const (
	SchemePublic   = "internet-facing"
	SchemeInternal = "internal"
)

// NamePattern matches the names that load balancers and target groups may have.
var NamePattern = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)

// HostedZone is the DNS zone of load balancers' names, an ID of the simulated Route 53.
const HostedZone = "Z18D5FSROUN65G"

// DefaultPolicy is the security policy of a TLS listener without one.
const DefaultPolicy = "ELBSecurityPolicy-2016-08"

// Attribute is a setting by name, in requests and responses.
type Attribute struct {
	Key   string
	Value string
}

// CheckCertificate rejects certificates that do not exist: ARNs of another form, and if the options list certificates,
// all others.
func (t *Tx) CheckCertificate(arn string) error {
	wellFormed := strings.Contains(arn, ":acm:") && strings.Contains(arn, ":certificate/") ||
		strings.Contains(arn, ":iam:") && strings.Contains(arn, ":server-certificate/")
	if !wellFormed || len(t.Options.Certificates) > 0 && !slices.Contains(t.Options.Certificates, arn) {
		return core.Refuse("CertificateNotFound", "Certificate ARN '%s' is not valid", arn)
	}
	return nil
}

// Associate associates an interface with one Elastic IP instead of any other; an empty ID is none.
func (t *Tx) Associate(n *ec2.NetworkInterface, allocation string) {
	for _, a := range t.Addresses {
		switch {
		case a.ID == allocation && a.Iface != n.ID:
			a.Iface, a.Association = n.ID, t.NewID("eipassoc")
		case a.ID != allocation && a.Iface == n.ID:
			a.Iface, a.Association = "", ""
		}
	}
}

// Attach creates the network interface of a load balancer in a subnet, unless it exists. enis are the load balancer's
// interfaces by subnet.
func (t *Tx) Attach(enis map[string]string, subnet string, ipv6 bool) (n *ec2.NetworkInterface, added bool, err error) {
	if n = t.Interfaces[enis[subnet]]; n != nil {
		return n, false, nil
	}
	if n, err = t.NewInterface(t.Subnets[subnet], ipv6); err != nil {
		return nil, false, core.Refuse("InvalidSubnet", "Not enough IP space available in %s. ELB requires at least 8 free "+
			"IP addresses in each subnet.", subnet)
	}
	enis[subnet], n.Requester = n.ID, "amazon-elb"
	return n, true, nil
}

// DetachOthers releases the interfaces in all but the given subnets.
func (t *Tx) DetachOthers(enis map[string]string, subnets []string) {
	for subnet, eni := range enis {
		if !slices.Contains(subnets, subnet) {
			t.ReleaseInterface(eni)
			delete(enis, subnet)
		}
	}
}

// SetGroups replaces the security groups of a load balancer's interfaces.
func (t *Tx) SetGroups(enis map[string]string, groups []string) {
	for _, eni := range enis {
		t.Interfaces[eni].Groups = slices.Clone(groups)
	}
}

// ReleaseInterface releases a load balancer's interface, which AWS deletes Options.ReleaseTime later.
func (t *Tx) ReleaseInterface(id string) {
	n := t.Interfaces[id]
	if n == nil {
		return
	}
	t.Associate(n, "")
	if t.Options.ReleaseTime == 0 {
		delete(t.Interfaces, id)
		t.RemoveRecords(id)
		return
	}
	n.ReleaseAt = t.Now.Add(t.Options.ReleaseTime)
}
