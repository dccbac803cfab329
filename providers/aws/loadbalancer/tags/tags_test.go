package tags

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

var web = lbcommon.Key{ClusterUID: "c-1", Namespace: "ns", Name: "web"}

func TestDiff(t *testing.T) {
	system := map[string]string{"kubernetes.io/cluster/prod": "owned", "kubernetes.io/service-name": "ns/web"}
	with := func(more ...string) map[string]string {
		m := map[string]string{}
		for k, v := range system {
			m[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	for _, tc := range []struct {
		name       string
		have       map[string]string
		extra      map[string]string
		wantSet    map[string]string
		wantRemove []string
	}{
		{name: "an earlier manager's object needs no mark", have: system},
		{name: "an earlier manager's object with the Service's tags", have: with("a", "1"), extra: map[string]string{"a": "1"}},
		{name: "a new value brings the marks along", have: with("a", "1"), extra: map[string]string{"a": "2"},
			wantSet: map[string]string{"a": "2", "unified-ccm.io/cluster-uid": "c-1", ExtraTag: hash("a")}},
		{name: "by hand", have: with("hand", "made"), extra: nil},
		{name: "removed from the Service", have: with("a", "1", "hand", "made", ExtraTag, hash("a"), "unified-ccm.io/cluster-uid", "c-1"),
			wantSet: map[string]string{}, wantRemove: []string{"a", ExtraTag}},
		{name: "the list cannot take away marks", have: with(ExtraTag, hash("kubernetes.io/service-name"))},
		{name: "a shared cluster tag stays", have: map[string]string{"kubernetes.io/cluster/prod": "shared", "kubernetes.io/service-name": "ns/web"}},
		{name: "nothing", have: nil, wantSet: Desired("prod", false, web, nil)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set, remove := Diff(tc.have, Desired("prod", false, web, tc.extra))
			if d := cmp.Diff(tc.wantSet, set); d != "" {
				t.Errorf("set (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.wantRemove, remove); d != "" {
				t.Errorf("remove (-want +got):\n%s", d)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	for _, tc := range []struct {
		name    string
		have    map[string]string
		foreign bool
	}{
		{"ours", map[string]string{"kubernetes.io/cluster/prod": "owned"}, false},
		{"ours by the legacy tag", map[string]string{"KubernetesCluster": "prod"}, false},
		{"unmarked, of the Service", map[string]string{"kubernetes.io/service-name": "ns/web"}, false},
		{"unmarked", map[string]string{}, true},
		{"another cluster's", map[string]string{"kubernetes.io/cluster/test": "owned", "kubernetes.io/service-name": "ns/web"}, true},
		{"another cluster's by the legacy tag", map[string]string{"KubernetesCluster": "test"}, true},
		{"another cluster of our ID", map[string]string{"kubernetes.io/cluster/prod": "owned", "unified-ccm.io/cluster-uid": "c-2"}, true},
		{"our own UID", map[string]string{"kubernetes.io/cluster/prod": "owned", "unified-ccm.io/cluster-uid": "c-1"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if owner := ForeignOwner(tc.have, "prod", web); (owner != "") != tc.foreign {
				t.Errorf("belongs to %q", owner)
			}
		})
	}
}

// TestCheckRefusesMarks verifies that a Service cannot set tags by which a manager recognizes its objects, in either
// annotation.
func TestCheckRefusesMarks(t *testing.T) {
	for key, refused := range map[string]bool{
		"aws:x": true, "AWS:x": true, "unified-ccm.io/x": true, "unified-ccm.io/cluster-uid": true,
		"kubernetes.io/cluster/prod": true, "kubernetes.io/cluster/other": true, "KubernetesCluster": true,
		"elbv2.k8s.aws/cluster": true, "elbv2.k8s.aws/resource": true,
		"kubernetes.io/cluster/own": false, "kubernetes.io/service-name": false, // the manager's values count
		"fine": false, "kubernetes.io/team": false, "kubernetescluster": false, "elbv2.k8s.aws": false,
	} {
		for annotation, portable := range map[string]map[string]string{"tags": nil, intent.KeyTags: {key: "1"}} {
			var problems intent.Problems
			Check("own", map[string]string{key: "1"}, portable, "tags", &problems)
			err := problems.Err("x")
			if (err != nil) != refused {
				t.Errorf("%s in %s: %v", key, annotation, err)
			}
			if refused && (!strings.Contains(err.Error(), annotation) || !strings.Contains(err.Error(), key+"=1")) {
				t.Errorf("%s in %s: %v does not name them", key, annotation, err)
			}
		}
	}
}

// TestMarksAreNeverRemoved verifies that no list of tags that a Service set takes away a mark.
func TestMarksAreNeverRemoved(t *testing.T) {
	for _, key := range []string{"KubernetesCluster", "kubernetes.io/cluster/other", "elbv2.k8s.aws/cluster", "kubernetes.io/service-name"} {
		have := map[string]string{"kubernetes.io/cluster/prod": "owned", "kubernetes.io/service-name": "ns/web", key: "x", ExtraTag: hash(key)}
		if _, remove := Diff(have, Desired("prod", false, web, nil)); len(remove) > 0 {
			t.Errorf("removes %v", remove)
		}
	}
}

// TestCheckCountsCharacters verifies that the limits are in characters, as AWS documents them, not in bytes.
func TestCheckCountsCharacters(t *testing.T) {
	longest := map[string]string{strings.Repeat("é", 128): strings.Repeat("ü", 256)}
	var problems intent.Problems
	if Check("own", longest, nil, "tags", &problems); problems.Len() != 0 {
		t.Errorf("the longest tag is refused: %v", problems.Err("x"))
	}
	for _, tooLong := range []map[string]string{{strings.Repeat("é", 129): ""}, {"a": strings.Repeat("ü", 257)}} {
		var problems intent.Problems
		if Check("own", tooLong, nil, "tags", &problems); problems.Len() != 1 {
			t.Errorf("%v has %d problems, want 1", tooLong, problems.Len())
		}
	}
}
