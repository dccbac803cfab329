package sim

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

func stateFileIn(t testing.TB) string { return filepath.Join(t.TempDir(), "cloud.json") }

func TestWorldSurvivesARestart(t *testing.T) {
	clock := fakeClock()
	o := Options{StateFile: stateFileIn(t), Clock: clock, ProvisionTime: time.Minute}
	c := newClient(t, o)
	c.launch("node-a")
	c.publicLB("web")
	if err := c.cloud.AddForeignRoute("10.9.0.0/16"); err != nil {
		t.Fatal(err)
	}
	before := [3]any{c.cloud.Objects(), c.cloud.Routes(), c.loadBalancer("web")}

	again := newClient(t, o)
	if diff := cmp.Diff(before, [3]any{again.cloud.Objects(), again.cloud.Routes(),
		again.loadBalancer("web")}); diff != "" {
		t.Error(diff)
	}
	clock.Step(time.Minute)
	if got := again.loadBalancer("web").State; got != api.LBActive {
		t.Errorf("provisioning that began before the restart ends in state %s", got)
	}
	if id := again.launch("node-b")[0].ID; id == c.cloud.mustInstance(t, "node-a") {
		t.Errorf("ID %s was given twice", id)
	}
}

func (c *Cloud) mustInstance(t *testing.T, name string) (id string) {
	t.Helper()
	err := c.view(func(t *tx) error {
		i, err := t.getInstance(name)
		if err == nil {
			id = i.ID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestStateFileErrorsNameFileAndFix(t *testing.T) {
	tests := map[string]struct {
		content string
		want    []string
	}{
		"not JSON":        {"{broken", []string{"is damaged", "move it away"}},
		"cut off":         {`{"version": 1, "world": "x", "generation": 3, "instances": {`, []string{"is damaged", "move it away"}},
		"empty":           {"", []string{"is damaged", "move it away"}},
		"another version": {`{"version": 7}`, []string{"version 7", "reads version 1", "move it away"}},
		"no version":      {`{"instances": {}}`, []string{"version 0", "reads version 1"}},
		"wrong type":      {`{"version": 1, "instances": []}`, []string{"is damaged"}},
		"contradiction": {
			`{"version": 1, "addresses": {"a": {"id": "a", "name": "n", "loadBalancer": "lb-1"}}}`,
			[]string{"contradicts itself", "address a belongs to load balancer lb-1", "move it away"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := stateFileIn(t)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := New(Options{StateFile: path})
			if err == nil {
				t.Fatal("the file was accepted")
			}
			for _, want := range append(test.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has more than one line", err)
			}
		})
	}
}

func TestStateFileInAMissingDirectory(t *testing.T) {
	_, err := New(Options{StateFile: filepath.Join(t.TempDir(), "nowhere", "cloud.json")})
	if err == nil || !strings.Contains(err.Error(), "does not exist: create it") {
		t.Errorf("got %v", err)
	}
}

func TestVanishedStateFileIsNotAnEmptyWorld(t *testing.T) {
	path := stateFileIn(t)
	c, err := New(Options{StateFile: path})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Launch(world.Machine{Name: "node-a"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	status, problem, _ := clientOf(t, c).call("GET", "/v1/instances", nil, nil)
	if status != 500 || !strings.Contains(problem.Message, "has vanished") {
		t.Errorf("status %d, %+v", status, problem)
	}
	if got := c.Objects()["instances"]; got != 1 {
		t.Errorf("the console shows %d instances, want the last that was known", got)
	}
}

func TestFailedWriteChangesNothing(t *testing.T) {
	path := stateFileIn(t)
	c := newClient(t, Options{StateFile: path})
	c.launch("node-a")
	// A directory in the temporary file's place makes every write fail.
	if err := os.Mkdir(path+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	status, problem, _ := c.call("POST", "/v1/instances", []api.InstanceSpec{{Name: "node-b"}}, nil)
	if status != 500 || !strings.Contains(problem.Message, "the change is not stored") {
		t.Fatalf("status %d, %+v", status, problem)
	}
	if got := len(must[api.Page[api.Instance]](c, "GET", "/v1/instances", nil).Items); got != 1 {
		t.Errorf("%d instances after a launch that failed, want 1", got)
	}
	if err := os.Remove(path + ".tmp"); err != nil {
		t.Fatal(err)
	}
	c.launch("node-b")
}

func TestReadsAndRefusalsDoNotWrite(t *testing.T) {
	path := stateFileIn(t)
	c := newClient(t, Options{StateFile: path})
	c.launch("node-a")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.launch("node-a") // idempotent
	must[api.Page[api.Instance]](c, "GET", "/v1/instances", nil)
	c.call("DELETE", "/v1/instances/i-none", nil, nil)
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Error(diff)
	}
}

func TestHeaderIsHowTheFileBegins(t *testing.T) {
	path := stateFileIn(t)
	c := newClient(t, Options{StateFile: path})
	c.launch("node-a")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if prefix := string(c.cloud.store.state.prefix()); !strings.HasPrefix(string(content), prefix) ||
		len(prefix) > headerBytes {
		t.Errorf("the file does not begin with %q:\n%.200s", prefix, content)
	}
}

func TestCloudsShareOneFile(t *testing.T) {
	o := Options{StateFile: stateFileIn(t)}
	clients := []*client{newClient(t, o), newClient(t, o)}
	const perClient = 15
	var wg sync.WaitGroup
	for n, c := range clients {
		for i := range perClient {
			wg.Go(func() {
				name := fmt.Sprintf("node-%d-%d", n, i)
				status, problem, _ := c.call("POST", "/v1/instances", []api.InstanceSpec{{Name: name}}, nil)
				if status != 200 {
					t.Errorf("%s: status %d, %+v", name, status, problem)
				}
				// What one has acknowledged, the other shows at once.
				seen := must[api.Page[api.Instance]](clients[1-n], "GET", "/v1/instances?names="+name, nil)
				if len(seen.Items) != 1 {
					t.Errorf("%s is not in the other cloud", name)
				}
			})
		}
	}
	wg.Wait()
	ips := map[string]bool{}
	for _, i := range must[api.Page[api.Instance]](clients[0], "GET", "/v1/instances", nil).Items {
		ips[i.InternalAddresses[0]] = true
	}
	if want := len(clients) * perClient; len(ips) != want {
		t.Errorf("%d distinct addresses, want %d", len(ips), want)
	}
}

func TestMutationsAreWrittenTogether(t *testing.T) {
	c := newClient(t, Options{StateFile: stateFileIn(t)})
	c.launch("first")
	s := c.cloud.store
	before := s.state.Generation
	// While the lock is held, as during a write, mutations queue up; the next write takes them all.
	s.mu.Lock()
	const queued = 20
	var wg sync.WaitGroup
	for i := range queued {
		wg.Go(func() {
			err := s.update(t.Context(), func(t *tx) error {
				_, err := t.launch([]api.InstanceSpec{{Name: fmt.Sprintf("node-%d", i)}})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for {
		s.queueMu.Lock()
		n := len(s.queue)
		s.queueMu.Unlock()
		if n == queued {
			break
		}
		<-time.After(time.Millisecond)
	}
	s.mu.Unlock()
	wg.Wait()
	if writes := s.state.Generation - before; writes != 1 {
		t.Errorf("%d writes, want 1", writes)
	}
}

// Environment of the process that TestKillLosesNothingAcknowledged kills.
const (
	killFile = "FAKE_CLOUD_KILL_TEST_FILE"
	killName = "FAKE_CLOUD_KILL_TEST_NAME"
)

// TestKilledProcess is not a test but the body of that process: it launches instances, and
// prints the name of each that was acknowledged.
func TestKilledProcess(t *testing.T) {
	path := os.Getenv(killFile)
	if path == "" {
		t.Skip("only runs as the process that another test kills")
	}
	c, err := New(Options{StateFile: path})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%s-%d-%d", os.Getenv(killName), worker, i)
				if _, err := c.Launch(world.Machine{Name: name}); err != nil {
					t.Error(err)
					return
				}
				fmt.Fprintln(os.Stdout, "acknowledged", name)
			}
		})
	}
	wg.Wait()
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	path := stateFileIn(t)
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	const rounds = 5
	for round := range rounds {
		var wg sync.WaitGroup
		for process := range 2 {
			wg.Go(func() {
				for _, name := range runUntilKilled(t, path, fmt.Sprintf("r%d-p%d", round, process)) {
					mu.Lock()
					acknowledged[name] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		c, err := New(Options{StateFile: path})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		err = c.view(func(s *tx) error {
			have := map[string]bool{}
			for _, i := range s.Instances {
				have[i.Name] = true
			}
			for name := range acknowledged {
				if !have[name] {
					t.Errorf("round %d: %s was acknowledged and is lost", round, name)
				}
			}
			return s.check()
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(acknowledged) == 0 {
		t.Fatal("no mutation was acknowledged: nothing was tested")
	}
	t.Logf("%d acknowledged mutations survived %d kills", len(acknowledged), 2*rounds)
}

// runUntilKilled starts a process, kills it some time after its first acknowledgement, and
// returns all that it acknowledged.
func runUntilKilled(t *testing.T, path, name string) (acknowledged []string) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcess$")
	process.Env = append(os.Environ(), killFile+"="+path, killName+"="+name)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := process.Start(); err != nil {
		t.Error(err)
		return nil
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		name, ok := strings.CutPrefix(lines.Text(), "acknowledged ")
		if !ok {
			continue
		}
		if len(acknowledged) == 0 {
			time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { _ = process.Process.Kill() })
		}
		acknowledged = append(acknowledged, name)
	}
	_ = process.Wait() // it was killed, and says so
	return acknowledged
}
