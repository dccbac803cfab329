package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// ApprovalsOfServices is the source of approvals that are annotations of Services.
const ApprovalsOfServices = "services"

// NewApprovals returns the approvals of a source that ValidateApprovals accepts. Without a client, and read-only, they
// do not end; approvals of a ConfigMap cannot be read without a client.
func NewApprovals(client kubernetes.Interface, source string, readOnly bool) provider.Approvals {
	namespace, name, found := strings.Cut(source, "/")
	if !found {
		return serviceApprovals{client: client, readOnly: readOnly || client == nil}
	}
	return configMapApprovals{
		client: client, readOnly: readOnly || client == nil,
		configMap: types.NamespacedName{Namespace: namespace, Name: name},
	}
}

// ValidateApprovals checks a source of approvals: ApprovalsOfServices, or NAMESPACE/NAME of a ConfigMap.
func ValidateApprovals(source string) error {
	name, err := cache.ParseObjectName(source)
	if source == ApprovalsOfServices || err == nil && name.Namespace != "" && name.Name != "" {
		return nil
	}
	return fmt.Errorf("use %s, or NAMESPACE/NAME of a ConfigMap", ApprovalsOfServices)
}

// serviceApprovals are annotations: who may edit a Service may approve.
type serviceApprovals struct {
	client   kubernetes.Interface
	readOnly bool
}

func (serviceApprovals) Approved(_ context.Context, service *v1.Service) (string, error) {
	return service.Annotations[intent.KeyApprove], nil
}

func (serviceApprovals) Place(*v1.Service) string { return "the annotation " + intent.KeyApprove }

// End implements provider.Approvals. It patches the status subresource, as the annotator does.
func (a serviceApprovals) End(ctx context.Context, service *v1.Service, id string) error {
	if a.readOnly {
		return nil
	}
	patch, err := removal("/metadata/annotations", intent.KeyApprove, id, operation{"test", "/metadata/uid", service.UID})
	if err != nil {
		return err
	}
	_, err = a.client.CoreV1().Services(service.Namespace).
		Patch(ctx, service.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	return ignoreOutdated(err)
}

// configMapApprovals are the entries of a ConfigMap, by NAMESPACE.NAME of the Service: neither can have a dot.
type configMapApprovals struct {
	client    kubernetes.Interface
	readOnly  bool
	configMap types.NamespacedName
}

func (a configMapApprovals) key(service *v1.Service) string {
	return service.Namespace + "." + service.Name
}

func (a configMapApprovals) Place(service *v1.Service) string {
	return fmt.Sprintf("the key %s of the ConfigMap %s", a.key(service), a.configMap)
}

// Approved implements provider.Approvals. Without the ConfigMap nothing is approved.
func (a configMapApprovals) Approved(ctx context.Context, service *v1.Service) (string, error) {
	if a.client == nil {
		return "", errors.New("there is no connection to the cluster")
	}
	configMap, err := a.client.CoreV1().ConfigMaps(a.configMap.Namespace).Get(ctx, a.configMap.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the ConfigMap %s: %w", a.configMap, err)
	}
	return strings.TrimSpace(configMap.Data[a.key(service)]), nil
}

// End implements provider.Approvals.
func (a configMapApprovals) End(ctx context.Context, service *v1.Service, id string) error {
	if a.readOnly {
		return nil
	}
	patch, err := removal("/data", a.key(service), id)
	if err != nil {
		return err
	}
	_, err = a.client.CoreV1().ConfigMaps(a.configMap.Namespace).
		Patch(ctx, a.configMap.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return ignoreOutdated(err)
}

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// removal returns the JSON patch that removes a key of a map if it has this value, after further tests.
func removal(parent, key, value string, tests ...operation) ([]byte, error) {
	path := parent + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	return json.Marshal(append(tests, operation{"test", path, value}, operation{Op: "remove", Path: path}))
}

// ignoreOutdated ignores that the object is deleted, or that a test of a patch fails: then another approval was given,
// or this one is removed already.
func ignoreOutdated(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return err
}
