package configtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

type sample struct {
	Global struct {
		Region      string
		Adopt_Nodes bool          //nolint:staticcheck // gcfg writes the hyphen of adopt-nodes as an underscore.
		Password    config.Secret `gcfg:"pass-word"`
	}
	Class map[string]*struct {
		SubnetID string `gcfg:"subnet-id"`
	}
}

// reports takes what a test would fail with.
type reports struct {
	testing.TB
	texts []string
}

func (r *reports) Helper() {}

func (r *reports) Errorf(format string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
}

func TestVerifyDocumented(t *testing.T) {
	rows := func() []provider.ConfigKey {
		return []provider.ConfigKey{
			{Section: "Global", Key: "region", Type: "string", Doc: "Where."}, {Section: "Global", Key: "adopt-nodes", Type: "bool", Doc: "Whose."},
			{Section: "Global", Key: "pass-word", Type: "string", Secret: true, Doc: "Psst."}, {Section: `Class "NAME"`, Key: "subnet-id", Type: "string", Doc: "Where to."},
		}
	}
	for _, tt := range []struct {
		name   string
		change func([]provider.ConfigKey) []provider.ConfigKey
		want   string
	}{
		{"all is well", func(r []provider.ConfigKey) []provider.ConfigKey { return r }, ""},
		{"a key without a row", func(r []provider.ConfigKey) []provider.ConfigKey { return r[1:] }, "[global] region"},
		{"a row without a key", func(r []provider.ConfigKey) []provider.ConfigKey {
			return append(r, provider.ConfigKey{Section: "Global", Key: "zone", Type: "string", Doc: "Where."})
		}, "[global] zone"},
		{"a row twice", func(r []provider.ConfigKey) []provider.ConfigKey { return append(r, r[0]) }, "[global] region"},
		{"no text", func(r []provider.ConfigKey) []provider.ConfigKey { r[0].Doc = ""; return r }, "has no type or no text"},
		{"a secret that is not marked", func(r []provider.ConfigKey) []provider.ConfigKey { r[2].Secret = false; return r }, "pass-word (secret)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &reports{}
			VerifyDocumented(r, sample{}, tt.change(rows()))
			if (tt.want == "") != (len(r.texts) == 0) || tt.want != "" &&
				!slices.ContainsFunc(r.texts, func(s string) bool { return strings.Contains(s, tt.want) }) {
				t.Errorf("reported is %q, want %q", r.texts, tt.want)
			}
		})
	}
}

func TestVerifyLocated(t *testing.T) {
	for text, want := range map[string]int{"a.conf:1: no": 0, "a.conf:1: no\na.conf: no": 0, "a.conf:1: no\nno": 1} {
		r := &reports{}
		VerifyLocated(r, "a.conf", errors.New(text))
		if len(r.texts) != want {
			t.Errorf("%q: reported is %q", text, r.texts)
		}
	}
}
