package world

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type apiBase struct {
	ID string `json:"id"`
}

type members struct {
	Member []apiBase `xml:"member"`
}

func TestNewObjectNamesFieldsAsTheAPI(t *testing.T) {
	port := 80
	value := struct {
		apiBase
		Check  struct{ Interval int } `json:"check"`
		Port   *int                   `json:"port,omitempty"`
		Absent *int
		CIDRs  []netip.Prefix    `xml:"Cidrs"`
		Tags   map[string]string `json:"tags"`
		Of     members
		Hidden string `json:"-"`
		secret string
	}{apiBase: apiBase{"pool-1"}, Port: &port, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Tags: map[string]string{"team": "web"}, Of: members{[]apiBase{{"a"}, {"b"}}}, Hidden: "x", secret: "y"}
	value.Check.Interval = 10
	want := Object{Kind: "pool", Name: "web", ID: "pool-1", Fields: map[string]string{
		"id": "pool-1", "check.Interval": "10", "port": "80", "Cidrs": "10.0.0.0/8", "tags.team": "web", "Of.0.id": "a",
		"Of.1.id": "b", "protocol": "TCP", "ports": "80, 443",
	}}
	got := NewObject("pool", "web", "pool-1", &value, map[string]any{"protocol": "TCP", "empty": "", "ports": []any{80, "443"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChangedAndMissingObjects(t *testing.T) {
	object := func(id, value string) Object {
		return Object{Kind: "pool", ID: id, Fields: map[string]string{"value": value}}
	}
	before := []Object{object("same", "1"), object("edited", "1"), object("deleted", "1")}
	after := []Object{object("created", "1"), object("edited", "2"), object("same", "1")}
	if diff := cmp.Diff([]Object{object("created", "1"), object("edited", "2")}, ChangedObjects(before, after)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Object{object("deleted", "1")}, MissingObjects(before, after)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}
