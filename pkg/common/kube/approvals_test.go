package kube

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const source = "kube-system/ccm-approvals"

func approved(approval string) (*v1.Service, *v1.ConfigMap) {
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "u-1", Annotations: map[string]string{
		intent.KeyApprove: approval, "team": "web"}}}
	return svc, &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm-approvals"},
		Data:       map[string]string{"demo.web": approval + "\n", "demo.api": "other"},
	}
}

func TestApprovalsAreReadFromTheirSource(t *testing.T) {
	svc, configMap := approved("id")
	annotated, _ := approved("id of the annotation")
	for name, tc := range map[string]struct {
		approvals provider.Approvals
		svc       *v1.Service
		want      string
	}{
		"annotation":               {NewApprovals(nil, ApprovalsOfServices, true), svc, "id"},
		"ConfigMap":                {NewApprovals(fake.NewClientset(configMap), source, false), annotated, "id"},
		"no ConfigMap":             {NewApprovals(fake.NewClientset(), source, false), annotated, ""},
		"another Service's key":    {NewApprovals(fake.NewClientset(configMap), source, false), &v1.Service{}, ""},
		"another ConfigMap's name": {NewApprovals(fake.NewClientset(configMap), "demo/ccm-approvals", false), annotated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := tc.approvals.Approved(t.Context(), tc.svc); got != tc.want || err != nil {
				t.Errorf("approval %q, error %v, want %q", got, err, tc.want)
			}
		})
	}
	denied := fake.NewClientset()
	denied.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("denied")
	})
	if got, err := NewApprovals(denied, source, false).Approved(t.Context(), svc); got != "" || err == nil {
		t.Errorf("a denied read: approval %q, error %v", got, err)
	}
	if got, err := NewApprovals(nil, source, true).Approved(t.Context(), svc); got != "" || err == nil {
		t.Errorf("without a cluster: approval %q, error %v", got, err)
	}
}

func TestEndRemovesOnlyTheApproval(t *testing.T) {
	ctx := t.Context()
	for _, of := range []string{ApprovalsOfServices, source} {
		t.Run(of, func(t *testing.T) {
			svc, configMap := approved("id")
			configMap.Data["demo.web"] = "id"
			client := fake.NewClientset(svc, configMap)
			remaining := func() string {
				if of == source {
					configMap, _ := client.CoreV1().ConfigMaps("kube-system").Get(ctx, "ccm-approvals", metav1.GetOptions{})
					if configMap.Data["demo.api"] != "other" {
						t.Error("the approval of another Service is removed")
					}
					return configMap.Data["demo.web"]
				}
				svc, _ := client.CoreV1().Services("demo").Get(ctx, "web", metav1.GetOptions{})
				if svc.Annotations["team"] != "web" {
					t.Error("another annotation is removed")
				}
				return svc.Annotations[intent.KeyApprove]
			}
			if err := NewApprovals(client, of, true).End(ctx, svc, "id"); err != nil || remaining() != "id" {
				t.Errorf("read-only: %q, error %v", remaining(), err)
			}
			_ = NewApprovals(client, of, false).End(ctx, svc, "older")
			if remaining() != "id" {
				t.Error("a newer approval is removed")
			}
			if err := NewApprovals(client, of, false).End(ctx, svc, "id"); err != nil || remaining() != "" {
				t.Errorf("approval %q, error %v", remaining(), err)
			}
			if err := NewApprovals(fake.NewClientset(), of, false).End(ctx, svc, "id"); err != nil {
				t.Errorf("a deleted object: %v", err)
			}
		})
	}
}

func TestValidateApprovals(t *testing.T) {
	for source, valid := range map[string]bool{
		"services": true, "kube-system/approvals": true, "": false, "service": false, "kube-system/": false, "/approvals": false,
		"a/b/c": false,
	} {
		if err := ValidateApprovals(source); (err == nil) != valid {
			t.Errorf("%q: %v", source, err)
		}
	}
}
