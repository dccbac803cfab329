package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	results "github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

func TestCompareRejectsInvalidInput(t *testing.T) {
	dir := t.TempDir()
	baseline, pod := filepath.Join(dir, "baseline.json"), filepath.Join(dir, "pod.yaml")
	write(t, baseline, `{"schema": "unified-ccm.io/comparison/v0"}`)
	write(t, pod, "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown provider":       {[]string{"--provider=opnstack"}, "did you mean openstack?"},
		"unknown scenario":       {[]string{"--only=service.quic"}, `no scenario matches "service.quic"; there are service.tcp, `},
		"unknown format":         {[]string{"-o", "pdf"}, "--output=pdf: use table, json, markdown, html"},
		"another schema":         {[]string{"--baseline=" + baseline}, `want "unified-ccm.io/comparison/v1"`},
		"no baseline":            {[]string{"--baseline=" + dir + "/none"}, "cannot be read"},
		"another kind":           {[]string{"--scenario=" + pod}, "Pod web: a comparison applies Services only; remove it"},
		"binary without a name":  {[]string{"--provider=fake", "--ccm-binary=/bin/true"}, "give each binary a name"},
		"binary without a cloud": {[]string{"--ccm-binary=/bin/true", "--name=other"}, "--ccm-binary needs one --provider"},
		"address of no binary":   {[]string{"--provider=fake", "--listen=127.0.0.1:8099"}, "--listen needs one --ccm-binary"},
		"no binary":              {[]string{"--provider=fake", "--ccm-binary=" + dir, "--name=x"}, "no such program"},
		"name of a cloud":        {[]string{"--provider=fake", "--ccm-binary=/bin/true", "--name=fake"}, "choose another"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, messages bytes.Buffer
			code := execute(t.Context(), append([]string{"compare"}, c.args...), streams{&out, &messages})
			if code != cli.ExitUsage || !strings.Contains(messages.String(), c.want) ||
				strings.Count(messages.String(), "\n") != 1 {
				t.Errorf("exit code %d, want %d and one line with %q:\n%s", code, cli.ExitUsage, c.want, &messages)
			}
		})
	}
}

func TestVerdictOfComparesWithTheBaseline(t *testing.T) {
	with := func(v results.Verdict, calls int) results.Report {
		return results.Report{Columns: []results.Column{{Name: "fake"}}, Capabilities: []results.Capability{{
			ID: "service.tcp", Title: "TCP", Cells: map[string]results.Cell{"fake": {Verdict: v, Calls: calls}},
		}}}
	}
	baseline := with(results.Works, 10)
	for name, c := range map[string]struct {
		now  results.Report
		want int
	}{
		"same":          {with(results.Works, 10), cli.ExitOK},
		"fewer calls":   {with(results.Works, 9), cli.ExitOK},
		"one call more": {with(results.Works, 11), exitRegressed},
		"worse verdict": {with(results.Refuses, 10), exitRegressed},
		"failed":        {with(results.Failed, 10), cli.ExitEnvironment},
	} {
		t.Run(name, func(t *testing.T) {
			var messages bytes.Buffer
			err := verdictOf(streams{&messages, &messages}, c.now, &baseline)
			code := cli.ExitOK
			var exit *cli.ExitError
			if errors.As(err, &exit) {
				code = exit.Code
			}
			if code != c.want {
				t.Errorf("exit code %d, %v, want %d", code, err, c.want)
			}
		})
	}
}
