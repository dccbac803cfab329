//go:build !exclude_fake

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

// ccmLab runs a command line and returns what it printed and its exit code.
func ccmLab(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	var out, errOut bytes.Buffer
	code = execute(ctx, args, streams{&out, &errOut})
	return out.String(), errOut.String(), code
}

func TestBadInput(t *testing.T) {
	existing := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(existing, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		code int
		want []string // one regular expression for each line
	}{
		{"unknown command", []string{"rum"}, 2, []string{`^ccm-lab: there is no command "rum"; did you mean run\?$`}},
		{"unknown flag", []string{"run", "--node=3"}, 2, []string{`^ccm-lab: there is no flag --node; did you mean --nodes\?$`}},
		{"no number", []string{"run", "--nodes=many"}, 2, []string{`^ccm-lab: invalid argument "many" for "--nodes" flag.*; see ccm-lab run --help$`}},
		{"argument", []string{"run", "fake"}, 2, []string{`^ccm-lab: ccm-lab run takes no arguments, but there is "fake"`}},
		{"unknown cloud", []string{"run", "--provider=fakr"}, 2, []string{`^ccm-lab: --provider=fakr: there is no simulated cloud "fakr"; did you mean fake\?$`}},
		{"all at once", []string{"run", "--nodes=0", "--services=-1", "--timeout=0s"}, 2,
			[]string{`^ccm-lab: --nodes=0: use 1 to 256$`, `^ccm-lab: --services=-1: use 0 to 200$`, `^ccm-lab: --timeout=0s: use a positive duration such as 2m$`}},
		{"a kubeconfig that exists", []string{"run", "--kubeconfig-out=" + existing}, 2,
			[]string{`^ccm-lab: --kubeconfig-out=.*: this file exists and is not overwritten`}},
		{"sim of nothing", []string{"sim"}, 2, []string{`^ccm-lab: name one cloud to simulate, such as ccm-lab sim \w+$`}},
		{"sim of an unknown cloud", []string{"sim", "azure"}, 2, []string{`^ccm-lab: sim azure: there is no simulated cloud "azure"; there are: .*fake`}},
		{"sim at no address", []string{"sim", "fake", "--listen=here"}, 1, []string{`^ccm-lab: the simulated cloud cannot listen at here: .*missing port`}},
		{"sim with a bad rate", []string{"sim", "fake", "--error-rate=2"}, 1, []string{`^ccm-lab: error rate 2 is not between 0 and 1$`}},
		{"bench phase", []string{"bench", "--phases=join,tea"}, 2, []string{`^ccm-lab: --phases=tea: use join, refresh, `}},
		{"bench phase timeout", []string{"bench", "--phase-timeout=0s"}, 2,
			[]string{`^ccm-lab: --phase-timeout=0s: must be positive$`}},
		{"bench of several clouds", []string{"bench", "--provider=aws,fake,aws", "--phases=join", "--ccm-binary=/bin/true"}, 2,
			[]string{`^ccm-lab: --provider=aws,fake,aws: aws is listed twice$`,
				`^ccm-lab: --ccm-binary needs one cloud in --provider$`, `^ccm-lab: --phases needs one cloud in --provider$`}},
		{"bench beside a cloud of its own", []string{"bench", "--provider=aws,fake", "--failing=gce"}, 2,
			[]string{`^ccm-lab: --failing=gce: name one of several clouds in --provider$`}},
		{"bench output", []string{"bench", "-o", "yaml"}, 2, []string{`^ccm-lab: --output=yaml: use table or json$`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stdout, stderr, code := ccmLab(t.Context(), tc.args...)
			if code != tc.code || stdout != "" {
				t.Errorf("exit code %d, want %d; standard output %q, want none", code, tc.code, stdout)
			}
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tc.want), stderr)
			}
			for i, want := range tc.want {
				if !regexp.MustCompile(want).MatchString(lines[i]) {
					t.Errorf("line %q does not match %q", lines[i], want)
				}
			}
		})
	}
	if content, err := os.ReadFile(existing); err != nil || string(content) != "precious" {
		t.Errorf("the existing file is now %q (%v)", content, err)
	}
}

func TestMissingBinaries(t *testing.T) {
	t.Setenv(lab.AssetsVariable, t.TempDir())
	for _, command := range []string{"run", "bench"} {
		_, stderr, code := ccmLab(t.Context(), command)
		want := regexp.MustCompile("^ccm-lab: no etcd and no kube-apiserver in .*: run `make apiserver`\n$")
		if code != 1 || !want.MatchString(stderr) {
			t.Errorf("%s: exit code %d, %q", command, code, stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"run", "--help"}, {"sim", "--help"}, {"bench", "-h"}} {
		stdout, stderr, code := ccmLab(t.Context(), args...)
		if code != 0 || stderr != "" {
			t.Errorf("%q: exit code %d, standard error %q", args, code, stderr)
		}
		for _, want := range []string{"Usage:\n  ccm-lab", "Examples:\n"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q: no %q in:\n%s", args, want, stdout)
			}
		}
		for _, line := range strings.Split(stdout, "\n") {
			if len(line) > 110 && !strings.HasPrefix(strings.TrimSpace(line), "-") {
				t.Errorf("%q: a line is too long to read: %s", args, line)
			}
		}
	}
}

func TestSim(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	config, out := io.Pipe()
	ended := make(chan int)
	var errOut bytes.Buffer
	go func() {
		code := execute(ctx, []string{"sim", "fake", "--instances=2", "--token=s3cret"}, streams{out, &errOut})
		_ = out.Close()
		ended <- code
	}()
	buffer := make([]byte, 4096)
	n, err := config.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`^\[Global\]\nendpoint = (http://\S+)\ntoken = "s3cret"\n$`).FindStringSubmatch(string(buffer[:n]))
	if found == nil {
		t.Fatalf("standard output is no cloud.conf: %q", buffer[:n])
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, found[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("the cloud does not answer: %v", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token the answer is %s, want 401", answer.Status)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text := errOut.String(); !strings.Contains(text, "cloud fake answers at "+found[1]) || !strings.Contains(text, "ended after") {
		t.Errorf("standard error: %s", text)
	}
}

func TestReport(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		code int
		want string
	}{
		"nothing":     {nil, 0, ""},
		"interrupted": {errors.Join(context.Canceled), 130, "ccm-lab: interrupted; everything was stopped and removed\n"},
		"several":     {errors.Join(errors.New("a"), errors.New("b")), 1, "ccm-lab: a; b\n"},
		"not ready":   {notReady("not ready after 2m0s: 0/3 nodes initialized", []string{"node a", "node b"}), 1, "ccm-lab: not ready after 2m0s: 0/3 nodes initialized\n  node a\n  node b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if code := report(&b, test.err); code != test.code || b.String() != test.want {
				t.Errorf("exit code %d and %q, want %d and %q", code, b.String(), test.code, test.want)
			}
		})
	}
}

func TestCurl(t *testing.T) {
	udp := screen.Service{Name: "dns", Ports: []string{"5353/UDP"}, Addresses: []string{"127.0.0.4"}}
	internal := screen.Service{Name: "internal", Ports: []string{"8080/TCP"}, Addresses: []string{"127.0.0.5"}}
	web := screen.Service{Name: "web", Ports: []string{"8080/TCP"}, Addresses: []string{"::1"}}
	for name, test := range map[string]struct {
		services []screen.Service
		want     string
	}{
		"nothing yet":     {nil, ""},
		"only UDP":        {[]screen.Service{udp}, ""},
		"web before all":  {[]screen.Service{udp, internal, web}, "curl http://[::1]:8080"},
		"another for web": {[]screen.Service{udp, internal}, "curl http://127.0.0.5:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(curl(screen.State{Services: test.services}), ""); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b)
	failed := errors.New("no")
	_ = p.step(t.Context(), "doing it", func(context.Context) error { return nil })
	if err := p.step(t.Context(), "failing", func(context.Context) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of the step", err)
	}
	if want := regexp.MustCompile(`^doing it… \d+\.\ds\nfailing… failed after \d+\.\ds\n$`); !want.MatchString(b.String()) {
		t.Errorf("said %q", b.String())
	}
}

func TestWriteKubeconfig(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	remove, err := writeKubeconfig(from, to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeKubeconfig(from, to); err == nil {
		t.Error("overwrote a file that exists")
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
