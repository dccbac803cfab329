package environment

import (
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func TestClusterIDOf(t *testing.T) {
	tests := []struct {
		name   string
		tags   map[string]string
		id     string
		legacy bool
		err    string
	}{
		{name: "tag", tags: map[string]string{"kubernetes.io/cluster/prod": "owned", "Name": "x"}, id: "prod"},
		{name: "any value", tags: map[string]string{"kubernetes.io/cluster/prod": ""}, id: "prod"},
		{name: "legacy", tags: map[string]string{"KubernetesCluster": "prod"}, id: "prod", legacy: true},
		{name: "both", tags: map[string]string{"kubernetes.io/cluster/prod": "owned", "KubernetesCluster": "prod"}, id: "prod", legacy: true},
		{name: "none", tags: map[string]string{"Name": "x"}, err: "has neither a tag kubernetes.io/cluster/ID nor a tag KubernetesCluster"},
		{name: "two", tags: map[string]string{"kubernetes.io/cluster/b": "owned", "kubernetes.io/cluster/a": "owned"},
			err: "has the tags kubernetes.io/cluster/a and kubernetes.io/cluster/b, which name different clusters"},
		{name: "one against the other", tags: map[string]string{"kubernetes.io/cluster/a": "owned", "KubernetesCluster": "b"},
			err: "has the tags kubernetes.io/cluster/a and KubernetesCluster = b, which name different clusters"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, legacy, err := clusterIDOf(instance{id: "i-0123", tags: tt.tags})
			if tt.err == "" && (err != nil || id != tt.id || legacy != tt.legacy) {
				t.Errorf("got %q, %v, %v", id, legacy, err)
			}
			if tt.err == "" {
				return
			}
			for _, want := range []string{tt.err, "i-0123", "set KubernetesClusterID in section [Global]"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
			if !cloudapi.Is(err, cloudapi.Invalid) {
				t.Errorf("class %s", cloudapi.ClassOf(err))
			}
		})
	}
}
