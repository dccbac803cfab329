package config

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzClouds checks that every clouds.yaml is read without a panic, and yields complete credentials or an
// error.
func FuzzClouds(f *testing.F) {
	example, err := os.ReadFile(cloudsFile)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(example), "", "clouds:", "clouds: []", "clouds: {a: null}", "clouds: {a: {auth: null, regions: [x, {name: y, values: {auth: {password: 1}}}]}}",
		"clouds: {a: {profile: a, cloud: a, verify: maybe}}", "clouds: {a: {auth: {auth_url: 5}}}", "&a [*a]", "clouds: {a: {regions: x}}",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		file := filepath.Join(dir, "clouds.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		g, files, err := Global{UseClouds: true, CloudsFile: file}.Complete()
		if len(files) == 0 {
			t.Error("no file is watched for changes")
		}
		if err == nil && (g.AuthURL == "" || g.Method() == MethodNone) {
			t.Errorf("incomplete without an error: %#v", g)
		}
	})
}
