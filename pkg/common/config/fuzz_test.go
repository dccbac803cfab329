package config

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/gcfg.v1"
)

// FuzzParse holds Parse against gcfg itself: a file that gcfg accepts must load to the same
// value, one that it refuses must be refused, and every problem must point into the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"[Global]\nregion = r\nzone=a\nzone=b\n",
		"[ServiceOverride \"x\"]\nurl = \"a\\\"b\\\\\"\n",
		"[Global]\npassword = a\\\nb # c\nport=0x1f\n",
		"[Global\nregion = \"open\n= 1\n\x00\xff",
		"[Default-ServiceOverride]\nregion=r\n[ServiceOverride \"1\"]\n",
		"\r\n;c\r\n[LoadBalancer]enabled\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var want, got sample
		wantErr := gcfg.FatalOnly(gcfg.ReadStringInto(&want, string(content)))
		warnings, err := parse("f", content, &got)
		// A bare number is a duration here, and a byte order mark is skipped: both are wider than gcfg.
		if (err == nil) != (wantErr == nil) && !wider(content) {
			t.Fatalf("gcfg says %v, Parse says %v", wantErr, err)
		}
		if err == nil && wantErr == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("differs from gcfg:\n%s", diff)
			}
		}
		var problems Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("%T is not Problems", err)
		}
		lines := 1
		for _, b := range content {
			if b == '\n' {
				lines++
			}
		}
		for _, p := range append(problems, warnings...) {
			if p.Line < 1 || p.Line > lines {
				t.Fatalf("%v points outside a file of %d lines", p, lines)
			}
		}
	})
}

func wider(content []byte) bool { return len(content) > 2 && string(content[:3]) == "\ufeff" }
