// Package kubeclients configures the clients and informers with which the manager reads and writes the cluster.
package kubeclients

import (
	"errors"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

// FilterNodes makes the shared informer of Nodes see only those that match the selector. The informer that is
// requested first is the one that every caller gets, so the factory of all other kinds stays unfiltered: a
// selector for nodes must not hide Services.
func FilterNodes(config *appconfig.CompletedConfig, selector labels.Selector) {
	config.SharedInformers.InformerFor(&v1.Node{}, func(client kubernetes.Interface,
		resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredNodeInformer(client, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			func(o *metav1.ListOptions) { o.LabelSelector = selector.String() })
	})
}

// TrimObjects makes the shared informers of Nodes and Services hold no fields that are large and that neither the
// framework nor a provider reads. A request with a trimmed object changes none of them: an update of a Node ignores its
// status, the API server takes absent managed fields from the stored object, and patches are computed from two trimmed
// copies.
func TrimObjects(config *appconfig.CompletedConfig) error {
	core := config.SharedInformers.Core().V1()
	return errors.Join(core.Nodes().Informer().SetTransform(trim), core.Services().Informer().SetTransform(trim))
}

// trim is the transform of TrimObjects. client-go may apply it to an object more than once.
func trim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	if node, ok := object.(*v1.Node); ok {
		// A kubelet reports up to 50 images with all their names: most of a Node.
		node.Status.Images, node.Status.VolumesInUse, node.Status.VolumesAttached = nil, nil, nil
	}
	return object, nil
}

// UseDryRun turns every change that the manager's clients request into a dry run of the API server.
func UseDryRun(config *appconfig.CompletedConfig) {
	// The leader election and the informers of the framework take their clients from Kubeconfig; the controllers
	// from ClientBuilder, which may be independent of it.
	config.Kubeconfig.Wrap(newDryRunTransport)
	config.ClientBuilder = dryRunClients{config.ClientBuilder}
}

// dryRunClients builds clients that change nothing.
type dryRunClients struct {
	cloudprovider.ControllerClientBuilder
}

// Config implements cloudprovider.ControllerClientBuilder.
func (d dryRunClients) Config(name string) (*rest.Config, error) {
	config, err := d.ControllerClientBuilder.Config(name)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(newDryRunTransport)
	return config, nil
}

// ConfigOrDie implements cloudprovider.ControllerClientBuilder.
func (d dryRunClients) ConfigOrDie(name string) *rest.Config { return orDie(d.Config(name)) }

// Client implements cloudprovider.ControllerClientBuilder.
func (d dryRunClients) Client(name string) (kubernetes.Interface, error) {
	config, err := d.Config(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder.
func (d dryRunClients) ClientOrDie(name string) kubernetes.Interface { return orDie(d.Client(name)) }

// orDie exits the process, as the interface of the builder requires.
func orDie[T any](value T, err error) T {
	if err != nil {
		klog.Background().Error(err, "Failed to create a client for the Kubernetes API")
		klog.FlushAndExit(klog.ExitFlushTimeout, cli.ExitEnvironment)
	}
	return value
}

func newDryRunTransport(inner http.RoundTripper) http.RoundTripper { return dryRunTransport{inner} }

// dryRunTransport adds dryRun=All to every mutating request, except for those that a manager needs to run and to
// report: its lease, Events, tokens and reviews of access.
type dryRunTransport struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t dryRunTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !mutates(r) {
		return t.inner.RoundTrip(r)
	}
	if r.Body != nil && r.Method == http.MethodDelete {
		// The API server reads a deletion's options from the body, and from the URL only if there is no body: with
		// a body, it would ignore dryRun and delete the object.
		_ = r.Body.Close()
	}
	r = r.Clone(r.Context())
	if r.Method == http.MethodDelete {
		r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, 0
		r.Header.Del("Content-Type")
	}
	query := r.URL.Query()
	query.Set("dryRun", metav1.DryRunAll)
	r.URL.RawQuery = query.Encode()
	return t.inner.RoundTrip(r)
}

// WrappedRoundTripper returns the wrapped transport for client-go.
func (t dryRunTransport) WrappedRoundTripper() http.RoundTripper { return t.inner }

// mutates reports whether a request would change an object that a dry run must not change.
func mutates(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	group, resource, subresource := parseResource(r.URL.Path)
	switch {
	case resource == "events" && (group == "" || group == "events.k8s.io"):
		return false
	case group == "coordination.k8s.io" && resource == "leases":
		return false
	case group == "authentication.k8s.io" || group == "authorization.k8s.io":
		return false
	case group == "" && resource == "serviceaccounts" && subresource == "token":
		return false
	}
	return true
}

// parseResource parses the API group, resource and subresource from a path such as
// /api/v1/namespaces/NS/services/NAME/status or /apis/GROUP/VERSION/RESOURCE.
func parseResource(path string) (group, resource, subresource string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	// A prefix before api or apis belongs to a proxy in front of the API server.
	for len(parts) > 0 && parts[0] != "api" && parts[0] != "apis" {
		parts = parts[1:]
	}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", "", ""
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 2 {
		subresource = parts[2]
	}
	return group, resource, subresource
}
