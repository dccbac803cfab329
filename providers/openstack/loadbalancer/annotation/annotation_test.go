package annotation

import (
	"maps"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Every annotation is documented, and what its documentation shows can be read.
func TestEveryAnnotationIsDocumented(t *testing.T) {
	if len(Keys()) < 35 {
		t.Fatalf("only %d annotations", len(Keys()))
	}
	for _, a := range Documentation() {
		if a.Type == "" || a.Default == "" || a.Example == "" || len(a.Doc) < 40 {
			t.Errorf("%s is not documented: %+v", a.Key, a)
		}
		if strings.Contains(a.Doc, "  ") || !strings.HasSuffix(a.Doc, ".") {
			t.Errorf("%s: %q is no sentence", a.Key, a.Doc)
		}
		if _, err := Read(intent.Service{Annotations: map[string]string{a.Key: a.Example}}); err != nil {
			t.Errorf("the example of %s: %v", a.Key, err)
		}
	}
}

// Every value that cannot work is a problem that names the key, the value and what to write.
func TestBadValues(t *testing.T) {
	for key, value := range map[string]string{
		KeyInternal: "True", KeyLoadBalancerID: "web", KeySubnetID: "private", KeyNetworkID: "private", KeyMemberSubnetID: "x", KeyPortID: "x",
		KeyFloatingNetworkID: "public", KeyFloatingSubnetID: "public", KeyFloatingSubnet: "~(", KeyKeepFloatingIP: "1",
		KeyMethod: "round-robin", KeyProxyProtocol: "v3", KeyXForwardedFor: "yes", KeyConnectionLimit: "-2",
		KeyClientTimeout: "50s", KeyConnectTimeout: "-1", KeyMemberTimeout: "x", KeyInspectTimeout: "31536000001",
		KeyMonitor: "on", KeyMonitorDelay: "0", KeyMonitorTimeout: "1.5", KeyMonitorRetries: "11", KeyMonitorDown: "0",
		KeyLoadBalancerTags: "a,,b", KeyListenerTags: "kube_service_x", KeyPoolTags: "unified-ccm:cluster=x",
		KeyNodeSelector: "a=b=c",
	} {
		_, err := Read(intent.Service{Namespace: "default", Name: "web", Annotations: map[string]string{key: value}})
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
}

func TestPortableAndOwnAnnotationsThatDiffer(t *testing.T) {
	in := intent.Service{Scheme: intent.Internal, ProxyProtocol: 2, Annotations: map[string]string{
		intent.KeyScheme: "internal", KeyInternal: "false", intent.KeyProxyProtocol: "v2", KeyProxyProtocol: "v1",
	}}
	_, err := Read(in)
	if err == nil || !strings.Contains(err.Error(), KeyInternal) || !strings.Contains(err.Error(), KeyProxyProtocol) {
		t.Errorf("error %v", err)
	}
	delete(in.Annotations, KeyInternal)
	delete(in.Annotations, KeyProxyProtocol)
	o, err := Read(in)
	if err != nil || o.Internal == nil || !*o.Internal || o.ProxyProtocol != 2 {
		t.Errorf("options %+v, %v", o, err)
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"public", "public", true}, {"public", "public-a", false}, {"public-*", "public-a", true}, {"public-?", "public-ab", false},
		{"~public-[ab]", "public-b", true}, {"~public", "public-b", false}, {"!public*", "public-a", false}, {"!~p.*", "q", true}, {"a.c", "abc", false},
		{"public-{a,b}", "public-b", true}, {"public-{a,b}", "public-c", false}, {"public-{a,b*}", "public-b2", true},
		{"public-[ab]", "public-b", true}, {"public-[ab]", "public-c", false}, {"public-[a-c]", "public-c", true},
		{"public-[!ab]", "public-a", false}, {"public-[!ab]", "public-c", true}, {"!public-[ab]", "public-a", false},
		{"{a,[bc]}-1", "c-1", true}, {"a,b", "a,b", true}, {"a}", "a}", true},
	} {
		p, err := ParsePattern(tt.pattern)
		if err != nil || p.Match(tt.name) != tt.want {
			t.Errorf("%s matches %s: want %v, %v", tt.pattern, tt.name, tt.want, err)
		}
	}
}

func TestParsePatternRejectsMissingBracket(t *testing.T) {
	for _, pattern := range []string{"public-{a,b", "public-[ab", "[]"} {
		if _, err := ParsePattern(pattern); err == nil {
			t.Errorf("%s is accepted", pattern)
		}
	}
}

func TestNodeLabels(t *testing.T) {
	labels, err := ParseNodeLabels("pool=edge, zone ,a=b,,")
	if want := (map[string]string{"pool": "edge", "zone": "", "a": "b"}); err != nil || !maps.Equal(labels, want) {
		t.Errorf("labels %v, want %v, error %v", labels, want, err)
	}
	// The value is b=c, as it always was, and no label can have it.
	if labels, err := ParseNodeLabels("a=b=c"); err == nil || !strings.Contains(err.Error(), `"b=c"`) {
		t.Errorf("labels %v, error %v", labels, err)
	}
}

func TestReadIgnoresBlankPlaces(t *testing.T) {
	o, err := Read(intent.Service{Annotations: map[string]string{
		KeySubnetID: "", KeyNetworkID: " ", KeyMemberSubnetID: "", KeyFloatingSubnetID: "", KeyFloatingSubnet: "",
		KeyFloatingSubnetTags: "",
	}})
	if err != nil || o.Place != (Place{}) {
		t.Errorf("place %+v, error %v", o.Place, err)
	}
}

func TestContainers(t *testing.T) {
	for ref, want := range map[string]Container{
		"http://h:9311/v1/containers/abc": {ID: "abc"}, "https://h/key-manager/v1/secrets/abc/": {Secret: true, ID: "abc"}, "containers/abc": {ID: "abc"},
	} {
		if got, err := ParseContainer(ref); err != nil || got != want {
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
	for _, ref := range []string{"abc", "https://h/v1/keys/abc", "https://h/v1/containers/"} {
		if got, err := ParseContainer(ref); err == nil {
			t.Errorf("%s: %+v", ref, got)
		}
	}
}
