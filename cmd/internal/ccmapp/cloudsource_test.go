package ccmapp

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
	testclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// registerClouds registers the providers of these tests, once.
func registerClouds(t *testing.T) {
	t.Helper()
	for _, name := range []string{"east", "west"} {
		if _, ok := provider.Get(name); ok {
			continue
		}
		provider.Register(provider.Descriptor{
			Name: name, Title: strings.ToUpper(name),
			New: func(io.Reader) (cloudprovider.Interface, error) { return nil, errors.New("none") },
			ValidateConfig: func(file string, _ []byte) ([]string, error) {
				return nil, errors.New(file + ": " + name + " is wrong\n" + file + ": " + name + " is worse")
			},
		})
	}
}

func TestCloudsOfFlags(t *testing.T) {
	registerClouds(t)
	for name, tc := range map[string]struct {
		provider, config string
		want             []string // NAME FILE
		problems         []string // parts of the lines of the error
	}{
		"one":                       {"east", "a.conf", []string{"east a.conf"}, nil},
		"one, with = in its path":   {"east", "dir=1/a.conf", []string{"east dir=1/a.conf"}, nil},
		"two":                       {"west,east", "east=e.conf,west=/w/a=b.conf", []string{"west /w/a=b.conf", "east e.conf"}, nil},
		"two, one of them without":  {"west,east", "east=e.conf", []string{"west ", "east e.conf"}, nil},
		"a path for two":            {"west,east", "a.conf", nil, []string{`"a.conf" is not NAME=FILE`}},
		"twice":                     {"west,west", "", nil, []string{"west is listed twice"}},
		"unknown, and a wrong file": {"west,eest", "north=n.conf", nil, []string{`"north" is not one of --cloud-provider`, "did you mean east?"}},
		"two files":                 {"west,east", "east=a,east=b", nil, []string{"east has two files"}},
		"an empty name":             {"west,", "", nil, []string{"--cloud-provider is not set"}},
	} {
		t.Run(name, func(t *testing.T) {
			clouds, err := source{provider: tc.provider, configFile: tc.config}.clouds()
			var got []string
			for _, c := range clouds {
				got = append(got, c.Name+" "+c.configFile)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkLines(t, err, tc.problems)
		})
	}
}

func checkLines(t *testing.T, err error, want []string) {
	t.Helper()
	var exit *cli.ExitError
	switch {
	case len(want) == 0 && err == nil:
	case !errors.As(err, &exit) || len(exit.Lines) != len(want) || exit.Code != cli.ExitUsage:
		t.Errorf("error %v, want the lines %q", err, want)
	default:
		for i, part := range want {
			if !strings.Contains(exit.Lines[i], part) {
				t.Errorf("line %q, want %q", exit.Lines[i], part)
			}
		}
	}
}

// All problems of all files are reported at once.
func TestAllFilesAreValidated(t *testing.T) {
	registerClouds(t)
	clouds, err := source{provider: "west,east"}.clouds()
	if err != nil {
		t.Fatal(err)
	}
	_, err = loadConfigs(clouds)
	checkLines(t, err, []string{"west is wrong", "west is worse", "use --cloud-config=west=FILE", "east is wrong", "east is worse",
		"use --cloud-config=east=FILE"})
}

// namedCloud is a cloud of Health.
type namedCloud struct {
	*checkedCloud
	name string
}

func (c namedCloud) ProviderName() string { return c.name }

// A cloud that is down, or that rejects its credentials, is named, and neither stops the start nor the readiness.
func TestOneOfSeveralCloudsIsDown(t *testing.T) {
	now := testclock.NewFakeClock(time.Unix(0, 0))
	denied := &cloudapi.Error{Class: cloudapi.Denied, Operation: "List", Err: errors.New("bad token")}
	well, down := namedCloud{&checkedCloud{}, "east"}, namedCloud{&checkedCloud{err: denied}, "west"}
	d := daemonOf(now, well, down)
	d.checkCredentials(t.Context())
	d.awaitCredentials(t.Context()) // It returns although one cloud is not accepted.
	d.yieldLease(t.Context())
	awaitSleeper(t, now)
	for path, want := range map[string]string{
		"/readyz": "ok, degraded: west", "/livez": "ok", "/readyz/east/cloud": "ok",
	} {
		if got := ask(t, d.health, path); got.Status != 200 || got.Body != want {
			t.Errorf("%s: %+v, want %q", path, got, want)
		}
	}
	if got := ask(t, d.health, "/readyz/west/cloud"); got.Status != 503 {
		t.Errorf("the path of the cloud: %+v", got)
	}
	down.set(nil)
	now.Step(rejectedRetry)
	for end := time.Now().Add(10 * time.Second); ask(t, d.health, "/readyz").Body != "ok" && time.Now().Before(end); {
		runtime.Gosched() // The check of the credentials is in another goroutine.
	}
	if got := ask(t, d.health, "/readyz"); got.Body != "ok" {
		t.Errorf("once it is accepted: %+v", got)
	}
}
