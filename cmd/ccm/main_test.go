//go:build !exclude_fake

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// runMain makes the test binary be ccm, so that tests see the process that users see.
const runMain = "CCM_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// ccm runs the command and returns what it printed and its exit code.
func ccm(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), runMain+"=1", "KUBECONFIG=", "KUBERNETES_SERVICE_HOST=")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	return write(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server))
}

// TestBadInput: whatever is wrong, the process ends by itself with the lines that name the fix
// and nothing else: no usage, no log lines, no stack trace.
func TestBadInput(t *testing.T) {
	malformed := write(t, "malformed.conf", "[Global]\nregion = \"open\nregoin = x\nprovision-time = soon\n[Quota]\nroutes = many\n")
	typo := write(t, "typo.conf", "[Global]\nregion = fake-1\nreigon = x\n")
	missing := filepath.Join(t.TempDir(), "missing.conf")
	noKubeconfig := write(t, "no-kubeconfig", "[Global]\n")
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"code":"Unauthorized","message":"the token is not known"}`))
	}))
	t.Cleanup(refusing.Close)
	refused := write(t, "refused.conf", "[Global]\nendpoint = "+refusing.URL+"\ntoken = hunter2\n")
	closed := httptest.NewServer(nil)
	closed.Close()

	for _, tc := range []struct {
		name string
		args []string
		code int
		want []string // one regular expression for each line
	}{
		{"no provider", nil, 2, []string{`^ccm: --cloud-provider is not set: use .*fake`}},
		{"unknown provider", []string{"--cloud-provider=fak"}, 2,
			[]string{`^ccm: --cloud-provider=fak: this binary has no such provider; did you mean fake\? \(linked: .*fake.*\)$`}},
		{"the framework's name for no provider", []string{"--cloud-provider=external"}, 2,
			[]string{`^ccm: --cloud-provider=external: this binary has no such provider \(linked: `}},
		{"config missing", []string{"--cloud-provider=fake", "--cloud-config=" + missing}, 2,
			[]string{`^ccm: --cloud-config=` + missing + `: there is no such file; check the path`}},
		{"config is a directory", []string{"--cloud-provider=fake", "--cloud-config=/"}, 2,
			[]string{`^ccm: --cloud-config=/: this is a directory; name the file in it$`}},
		{"config unreadable", []string{"--cloud-provider=fake", "--cloud-config=/proc/self/mem"}, 2,
			[]string{`^ccm: --cloud-config=/proc/self/mem: the file cannot be read: input/output error$`}},
		{"config malformed: all problems with their lines", []string{"--cloud-provider=fake", "--cloud-config=" + malformed}, 2,
			[]string{`^ccm: .*malformed.conf:2: a double quote`,
				`^ccm: .*malformed.conf:4: \[Global\] provision-time: must be a duration.*"soon"$`,
				`^ccm: .*malformed.conf:6: \[Quota\] routes: must be a whole number, not "many"$`}},
		{"unknown key with --strict-config", []string{"--cloud-provider=fake", "--cloud-config=" + typo, "--strict-config"}, 2,
			[]string{`^ccm: .*typo.conf:3: unknown key reigon in section \[Global\]; did you mean region\?$`}},
		{"unknown key in config validate", []string{"config", "validate", "--cloud-provider=fake", "--cloud-config=" + typo}, 2,
			[]string{`^ccm: .*typo.conf:3: unknown key reigon in section \[Global\]; did you mean region\?$`}},
		{"no kubeconfig", []string{"--cloud-provider=fake", "--cloud-config=" + typo}, 1,
			[]string{`^ccm: no Kubernetes API server is named, and this is not a pod of a cluster: give --kubeconfig=FILE$`}},
		{"kubeconfig missing", []string{"--cloud-provider=fake", "--kubeconfig=" + missing}, 1,
			[]string{`^ccm: --kubeconfig=` + missing + `: no such file or directory; check the path$`}},
		{"kubeconfig is something else", []string{"--cloud-provider=fake", "--kubeconfig=" + noKubeconfig}, 1,
			[]string{`^ccm: --kubeconfig=.*: this is not a kubeconfig of a cluster: `}},
		{"API server unreachable", []string{"--cloud-provider=fake", "--cluster-cidr=10.0.0.0/8", "--kubeconfig=" + kubeconfig(t, closed.URL)}, 1,
			[]string{`^ccm: API server ` + closed.URL + ` does not answer \(tried for 10s\): .*connection refused; check that it runs, and its address in --kubeconfig=`}},
		{"API server refuses us", []string{"--cloud-provider=fake", "--cluster-cidr=10.0.0.0/8", "--kubeconfig=" + kubeconfig(t, refusing.URL)}, 1,
			[]string{`^ccm: API server ` + refusing.URL + ` rejects the credentials \(401 Unauthorized\): renew those in --kubeconfig=`}},
		{"credentials refused by the cloud", []string{"--cloud-provider=fake", "--cluster-cidr=10.0.0.0/8", "--cloud-config=" + refused, "--kubeconfig=" + kubeconfig(t, closed.URL)}, 1,
			[]string{`^ccm: Fake rejects the credentials: .*the token is not known.*; renew those in ` + refused + `$`,
				`^ccm: API server ` + closed.URL + ` does not answer `}},
		{"routes without a pod range", []string{"--cloud-provider=fake", "--kubeconfig=" + kubeconfig(t, closed.URL)}, 2,
			[]string{`^ccm: --cluster-cidr is not set, but Fake sets up pod routes: .*--configure-cloud-routes=false$`}},
		{"several bad flags", []string{"--cloud-provider=fake", "--max-node-deletions=0", "--concurrent-service-syncs=0", "--controllers=foo"}, 2,
			[]string{`^ccm: --concurrent-service-syncs=0: `, `^ccm: --max-node-deletions=0: `,
				`^ccm: "foo" is not in the list of known controllers$`}},
		{"unknown flag", []string{"--cloud-providr=fake"}, 2, []string{`^ccm: there is no flag --cloud-providr; did you mean --cloud-provider\?$`}},
		{"unknown command", []string{"plna"}, 2, []string{`^ccm: there is no command "plna"; did you mean plan\?$`}},
		{"plan of nothing", []string{"plan", "--cloud-provider=fake"}, 1, []string{`^ccm: specify exactly one of -f FILE, --service=NAMESPACE/NAME and --all`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := ccm(t, tc.args...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			if code != tc.code || stdout != "" || len(lines) != len(tc.want) {
				t.Fatalf("exit code %d, want %d; %d lines on stderr, want %d\nstdout: %s\nstderr: %s", code, tc.code, len(lines),
					len(tc.want), stdout, stderr)
			}
			for i, line := range lines {
				if !regexp.MustCompile(tc.want[i]).MatchString(line) {
					t.Errorf("line %d is\n  %s\nwant\n  %s", i+1, line, tc.want[i])
				}
			}
			if strings.Contains(stderr, "hunter2") {
				t.Error("a secret is printed")
			}
		})
	}
}

func TestGoodInput(t *testing.T) {
	good := write(t, "good.conf", "[Global]\nregion = fake-2\ntoken = hunter2\n")
	for _, tc := range []struct {
		name string
		args []string
		want string // regular expression
	}{
		{"help", []string{"--help"}, `(?s)^ccm is one cloud controller manager.*Examples:.*Commands \(each has --help\):.*plan .*Providers in this binary:.*fake .*Unified-ccm flags:.*--dry-run.*Node safety flags:`},
		{"help of a command", []string{"plan", "--help"}, `(?s)^Show what the manager would change.*Examples:.*Flags:.*--service`},
		{"version", []string{"version"}, `^ccm v\S+ \(commit .*\)\nKubernetes libraries v0\.37\.\d+\nproviders: .*fake`},
		{"--version is the same", []string{"--version"}, `^ccm v\S+ \(commit`},
		{"version for machines", []string{"version", "-o", "json"}, `(?s)^\{.*"providers": \[.*"fake"`},
		{"providers", []string{"providers"}, `(?m)^fake +Fake +LoadBalancer, InstancesV2, Routes`},
		{"valid config", []string{"config", "validate", "--cloud-provider=fake", "--cloud-config=" + good}, `^OK: .*good.conf is valid for Fake\n$`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := ccm(t, tc.args...)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d, stderr %q", code, stderr)
			}
			if !regexp.MustCompile(tc.want).MatchString(stdout) {
				t.Errorf("printed\n%s\nwant %s", stdout, tc.want)
			}
			if strings.Contains(stdout, "hunter2") {
				t.Error("a secret is printed")
			}
		})
	}
}

// TestPlanFromFile needs no cluster: the fake cloud runs in the process.
func TestPlanFromFile(t *testing.T) {
	service := write(t, "web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: LoadBalancer\n  ports: [{port: 80, nodePort: 30080}]\n")
	clusterIP := write(t, "db.yaml", "# a comment\n---\napiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec:\n  ports: [{port: 80}]\n")
	pod := write(t, "pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")
	other := write(t, "other.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {tpye: x}\n")

	stdout, _, code := ccm(t, "plan", "--cloud-provider=fake", "-f", service)
	if code != 2 || !strings.Contains(stdout, "Service default/web") || strings.Contains(stdout, "\x1b[") {
		t.Errorf("a new Service: exit code %d, printed\n%s", code, stdout)
	}
	stdout, _, code = ccm(t, "plan", "--cloud-provider=fake", "-f", service, "--color=always")
	if code != 2 || !strings.Contains(stdout, "\x1b[") {
		t.Errorf("--color=always: exit code %d, printed\n%s", code, stdout)
	}
	stdout, _, code = ccm(t, "plan", "--cloud-provider=fake", "-f", service, "-o", "json")
	if code != 2 || !strings.Contains(stdout, `"action": "create"`) {
		t.Errorf("-o json: exit code %d, printed\n%s", code, stdout)
	}
	stdout, stderr, code := ccm(t, "plan", "--cloud-provider=fake", "-f", clusterIP)
	if code != 0 || !strings.Contains(stderr, "Service default/db is skipped: its type is ClusterIP") {
		t.Errorf("no load balancer: exit code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	_, stderr, code = ccm(t, "plan", "--cloud-provider=fake", "-f", other)
	if code != 1 || !strings.Contains(stderr, `document 2: strict decoding error: unknown field "spec.tpye"`) {
		t.Errorf("a misspelled field: exit code %d, stderr %s", code, stderr)
	}
	_, stderr, code = ccm(t, "plan", "--cloud-provider=fake", "-f", pod, "-f", service)
	if code != 2 || !strings.Contains(stderr, "Pod is skipped: only Services and Nodes are planned") {
		t.Errorf("another kind: exit code %d, stderr %s", code, stderr)
	}
}

// TestPlanReportsUnreachableCloud: what is printed to standard output does not read as if the cloud matched.
func TestPlanReportsUnreachableCloud(t *testing.T) {
	service := write(t, "web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: LoadBalancer\n  ports: [{port: 80, nodePort: 30080}]\n")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	config := write(t, "cloud.conf", "[Global]\nendpoint = "+closed.URL+"\n")
	args := []string{"plan", "--cloud-provider=fake", "--cloud-config=" + config, "-f", service}

	stdout, stderr, code := ccm(t, args...)
	if code != 1 || stdout != "Failed: no plan could be made.\n" || !strings.Contains(stderr, "Service default/web") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	stdout, _, code = ccm(t, append(args, "-o", "json")...)
	var document plan.Document
	if err := json.Unmarshal([]byte(stdout), &document); err != nil {
		t.Fatal(err)
	}
	if code != 1 || document.Summary.Failed != 1 || len(document.Failures) != 1 {
		t.Errorf("-o json: exit code %d, printed\n%s", code, stdout)
	}
}

// TestNoForeignMetrics: with every provider linked and one selected, nothing that /metrics shows
// belongs to another one. A provider that registers metrics when it is imported fails here.
func TestNoForeignMetrics(t *testing.T) {
	const selected = "fake"
	d, ok := provider.Get(selected)
	if !ok {
		t.Skip("the fake provider is excluded")
	}
	cloud, err := d.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	guard.Wrap(cloud, guard.Options{})
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range provider.Names() {
		if other == selected {
			continue
		}
		for _, family := range families {
			if strings.Contains(family.GetName(), other) {
				t.Errorf("provider %s is not selected, but %s is exposed", other, family.GetName())
			}
		}
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "provider" && label.GetValue() != selected {
					t.Errorf("%s has provider=%s, but %s is selected", family.GetName(), label.GetValue(), selected)
				}
			}
		}
	}
}

// TestPlanMutatesNothing: neither new Services nor nodes that the cloud has never seen make a
// plan change the cloud.
func TestPlanMutatesNothing(t *testing.T) {
	cloud, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	server := httptest.NewServer(cloud.Front())
	t.Cleanup(server.Close)
	conf := write(t, "cloud.conf", "[Global]\nendpoint = "+server.URL+"\n")
	objects := write(t, "objects.yaml", `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ports: [{port: 80, nodePort: 30080}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-1}
---
apiVersion: v1
kind: Node
metadata: {name: node-2}
spec: {providerID: "kind://cluster/node-2"}
`)
	stdout, stderr, code := ccm(t, "plan", "--cloud-provider=fake", "--cloud-config="+conf, "-f", objects)
	if code != 2 || !strings.Contains(stdout, "load balancer") {
		t.Fatalf("exit code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if calls := cloud.Front().Log().Mutations(); len(calls) > 0 {
		t.Errorf("a plan made mutating calls: %v", calls)
	}
	if cloud.Front().Log().Len() == 0 {
		t.Error("the plan never called the cloud")
	}
}
