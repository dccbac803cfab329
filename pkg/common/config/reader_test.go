package config

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// read is a provider's ReadConfig: a region is needed, and a zone has no effect.
func read(file string, content []byte) (sample, Problems, error) {
	var cfg sample
	f := Decode(file, content, &cfg)
	if cfg.Global.Region == "" {
		f.Errorf("Global", "region", "is needed")
	}
	if len(cfg.Global.Zone) > 0 {
		f.Warnf("Global", "zone", "has no effect")
	}
	return cfg, f.Warnings(), f.Err()
}

func TestReader(t *testing.T) {
	reader := Reader[sample](read)
	for _, tt := range []struct {
		name, content    string
		shown, fails     string
		warnings         []string
		withoutAnyReader bool
	}{
		{name: "valid", content: "[Global]\nregion = here\n", shown: "Region = here\n"},
		{name: "with a warning", content: "[Global]\nregion = here\nzone = a\n", shown: "Zone = a\n", warnings: []string{"a.conf:3: [Global] zone: has no effect"}},
		{name: "with an error", content: "[Global]\nzone = a\n", fails: "[Global] region: is needed", warnings: []string{"a.conf:2: [Global] zone: has no effect"}},
		{name: "without a file", withoutAnyReader: true, fails: "[Global] region: is needed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var content []byte
			var in io.Reader
			if !tt.withoutAnyReader {
				content = []byte(tt.content)
				in = strings.NewReader(tt.content)
			}
			warnings, invalid := reader.Validate("a.conf", content)
			if !slices.Equal(warnings, tt.warnings) {
				t.Errorf("warnings %q, want %q", warnings, tt.warnings)
			}
			var out strings.Builder
			unshown := reader.Show(&out, "a.conf", content)
			if !strings.Contains(out.String(), tt.shown) || (tt.shown == "") != (out.String() == "") {
				t.Errorf("shown is %q, want %q", out.String(), tt.shown)
			}
			_, _, unread := reader.Load(in)
			for how, err := range map[string]error{"Validate": invalid, "Show": unshown, "From": unread} {
				if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%s fails with %v, want %q", how, err, tt.fails)
				}
			}
		})
	}
}

func TestReaderLoad(t *testing.T) {
	reader := Reader[sample](read)
	cfg, file, err := reader.Load(strings.NewReader("[Global]\nregion = here\n"))
	if err != nil || cfg.Global.Region != "here" || file != "cloud.conf" {
		t.Errorf("region %q of file %q, %v", cfg.Global.Region, file, err)
	}
	broken := errors.New("the disk is broken")
	if _, _, err := reader.Load(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}
