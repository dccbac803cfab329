package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// folderVariable is the folder of logs, images and state; hack/e2e-node.sh sets it in namespaces of the tests.
	folderVariable = "CCM_E2E_NODE"
	// cgroupVariable is the cgroup of the tests, in each hierarchy.
	cgroupVariable = "CCM_E2E_CGROUP"

	poll = 200 * time.Millisecond
	// testTimeout is for what takes seconds: pods that start, and what a controller does then.
	testTimeout = 2 * time.Minute
)

// The images that hack/e2e-node.sh builds. The second one differs only in its version.
const (
	imageRepository = "ghcr.io/unified-ccm/unified-ccm"
	version         = "v0.0.0-e2e.1"
	nextVersion     = "v0.0.0-e2e.2"
	podImage        = "localhost/ccm-e2e-pod:1"
)

// folder returns the folder of a test, and skips the test outside of hack/e2e-node.sh: it needs root, namespaces and
// images.
func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(folderVariable)
	if dir == "" {
		t.Skip("make e2e-node runs it")
	}
	dir = filepath.Join(dir, strings.ToLower(t.Name()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// image returns the path of an image's archive.
func image(name string) string { return filepath.Join(os.Getenv(folderVariable), name+".tar") }

// program returns the path of a program in bin/, or of one of the system.
func program(name string) string {
	path := filepath.Join(os.Getenv("CCM_E2E_BIN"), name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return name
}

// process is a daemon.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// startProcess starts a daemon that ends with this process. Its output is appended to a file.
func startProcess(dir, name string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), log.Close())
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // Daemons are killed.
		_ = log.Close()
	}()
	return p, nil
}

func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // An error means that it has ended already.
	<-p.done
}

// ended reports whether the process has ended by itself.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail returns the last lines of the process's log.
func (p *process) tail(lines int) string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// run runs a command to its end and returns its output.
func run(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// await polls a condition, whose error describes what is missing.
func await(ctx context.Context, timeout time.Duration, condition func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, timeout, true, func(ctx context.Context) (bool, error) {
		if err := condition(ctx); err != nil {
			// The end of the time is not what is missing.
			if last == nil || ctx.Err() == nil && !strings.Contains(err.Error(), "context deadline") {
				last = err
			}
			return false, nil
		}
		return true, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}
