package simtest

import (
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go/middleware"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// Located has the keys of cloud.conf that a manager otherwise reads from the metadata service.
const Located = "Region = us-west-2\nVPC = vpc-0123\nKubernetesClusterID = sim\n"

// WithSelf returns a simulated cloud with one instance, on which the manager runs, and its Node.
func WithSelf(t *testing.T, o sim.Options) (*sim.Cloud, *v1.Node) {
	t.Helper()
	c := New(t, o)
	return c.Cloud, c.Launch(world.Machine{Name: "self"})[0]
}

// Cloud is a simulated AWS and a client of its EC2.
type Cloud struct {
	T     *testing.T
	Cloud *sim.Cloud
	EC2   *ec2.Client
}

// New returns a simulated cloud without instances.
func New(t *testing.T, o sim.Options) *Cloud {
	t.Helper()
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &Cloud{T: t, Cloud: cloud, EC2: ec2.NewFromConfig(Config(cloud))}
}

// Launch launches instances and returns their Nodes.
func (c *Cloud) Launch(machines ...world.Machine) []*v1.Node {
	c.T.Helper()
	var nodes []*v1.Node
	for _, m := range machines {
		node, err := c.Cloud.Launch(m)
		if err != nil {
			c.T.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// LaunchNamed launches an instance for a Node of that name and returns the instance's ID.
func (c *Cloud) LaunchNamed(name string) string {
	c.T.Helper()
	c.Launch(world.Machine{Name: name})
	return c.Cloud.Instance(name)
}

// ResetCalls clears the call log.
func (c *Cloud) ResetCalls() { c.Cloud.Front().Log().Reset() }

// Calls returns the number of calls by operation, and their sum.
func (c *Cloud) Calls() (map[string]int, int) {
	return c.Cloud.Front().Log().Count(), c.Cloud.Front().Log().Len()
}

// WantCalls fails the test if there were more calls than limit since the last reset, and resets the call log.
func (c *Cloud) WantCalls(limit int) {
	c.T.Helper()
	counts, sum := c.Calls()
	c.T.Logf("%d calls: %v", sum, counts)
	if sum > limit {
		c.T.Errorf("%d calls %v, want at most %d", sum, counts, limit)
	}
	c.ResetCalls()
}

// SetTags replaces the tags of an object.
func (c *Cloud) SetTags(id string, tags map[string]string) {
	c.T.Helper()
	if _, err := c.EC2.DeleteTags(c.T.Context(), &ec2.DeleteTagsInput{Resources: []string{id}}); err != nil {
		c.T.Fatal(err)
	}
	var list []ec2types.Tag
	for k, v := range tags {
		list = append(list, ec2types.Tag{Key: &k, Value: &v})
	}
	if _, err := c.EC2.CreateTags(c.T.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: list}); err != nil {
		c.T.Fatal(err)
	}
}

// Recorder records requests to a cloud, and may change responses. It implements http.RoundTripper.
type Recorder struct {
	Base   http.RoundTripper
	Change func(*http.Response)
	// ChangeOnly restricts Change to the responses of one operation; empty stands for all.
	ChangeOnly string

	mu   sync.Mutex
	sent []*http.Request
}

// RoundTrip implements http.RoundTripper.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.sent = append(r.sent, req.Clone(req.Context()))
	r.mu.Unlock()
	resp, err := r.Base.RoundTrip(req)
	matches := r.ChangeOnly == "" || r.ChangeOnly == middleware.GetOperationName(req.Context())
	if err == nil && r.Change != nil && matches {
		r.Change(resp)
	}
	return resp, err
}

// Sent returns the requests so far.
func (r *Recorder) Sent() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// Last returns the last request.
func (r *Recorder) Last() *http.Request {
	sent := r.Sent()
	return sent[len(sent)-1]
}

// RoundTripFunc is a function that implements http.RoundTripper.
type RoundTripFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Operations returns the names of the calls of a cloud in order.
func Operations(cloud *sim.Cloud) []string {
	var out []string
	for _, call := range cloud.Front().Log().Calls() {
		out = append(out, call.Operation.Name)
	}
	return out
}

// InitializedNode returns a Node without the taint of uninitialized nodes.
func InitializedNode(name, providerID string) *v1.Node {
	node := &v1.Node{Spec: v1.NodeSpec{ProviderID: providerID}}
	node.Name = name
	return node
}

// NetworkInterface returns an interface in use at a device index; -1 stands for one without an attachment.
func NetworkInterface(index int32, addresses ...string) ec2types.InstanceNetworkInterface {
	n := ec2types.InstanceNetworkInterface{Status: ec2types.NetworkInterfaceStatusInUse}
	if index >= 0 {
		n.Attachment = &ec2types.InstanceNetworkInterfaceAttachment{DeviceIndex: &index}
	}
	for _, a := range addresses {
		n.PrivateIpAddresses = append(n.PrivateIpAddresses, ec2types.InstancePrivateIpAddress{PrivateIpAddress: &a})
	}
	return n
}
