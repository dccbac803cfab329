package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// quietTime is the time without a mutating call after which a live cluster counts as settled.
	quietTime = time.Second
	// poll is the interval at which conditions are checked.
	poll = 50 * time.Millisecond
)

// ManagerOptions configure a ccm process.
type ManagerOptions struct {
	// Binary is the path of ccm.
	Binary string
	// Provider, Kubeconfig, CloudConfig and ClusterName are the flags of these names; empty leaves one out.
	Provider, Kubeconfig, CloudConfig, ClusterName string
	// Args are additional arguments, and override the above.
	Args []string
	// Environment has variables in addition to those of this process, as KEY=VALUE.
	Environment []string
	// Log is the file to which the process's output is appended.
	Log string
}

// StartManager starts ccm. It ends when Stop or Kill ends it, or with this process.
func StartManager(o ManagerOptions) (*Manager, error) {
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	// Not CommandContext: a cancelled context would kill the process, and a manager that is stopped must release
	// its lease.
	m := &Manager{cmd: exec.Command(o.Binary, o.arguments()...), log: log, done: make(chan struct{})} //nolint:noctx // see above
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.Env = append(os.Environ(), o.Environment...)
	m.cmd.SysProcAttr = childAttributes()
	if err := m.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting ccm: %w", err), log.Close())
	}
	go func() {
		defer close(m.done)
		m.err = errors.Join(m.cmd.Wait(), log.Close())
	}()
	return m, nil
}

func (o ManagerOptions) arguments() []string {
	var args []string
	for _, flag := range []struct{ name, value string }{
		{"cloud-provider", o.Provider}, {"kubeconfig", o.Kubeconfig},
		{"cloud-config", o.CloudConfig}, {"cluster-name", o.ClusterName},
	} {
		if flag.value != "" {
			args = append(args, "--"+flag.name+"="+flag.value)
		}
	}
	return append(args, o.Args...)
}

// Done is closed when the process has ended.
func (m *Manager) Done() <-chan struct{} { return m.done }

// Err returns how the process ended; nil is exit code 0. It must be called after Done.
func (m *Manager) Err() error { return m.err }

// managerStartTimeout is the time that a new manager has to call the cloud or to be healthy.
const managerStartTimeout = 30 * time.Second

// awaitStart waits until a condition shows that the manager has started.
func (m *Manager) awaitStart(ctx context.Context, o ManagerOptions, started func() bool) error {
	startCtx, cancel := context.WithTimeout(ctx, managerStartTimeout)
	defer cancel()
	err := wait.PollUntilContextCancel(startCtx, poll, true, func(context.Context) (bool, error) {
		select {
		case <-m.done:
			return false, m.ended(o, endLines)
		default:
			return started(), nil
		}
	})
	if err != nil && ctx.Err() == nil && wait.Interrupted(err) {
		return fmt.Errorf("ccm neither called the cloud nor was healthy within %s; its log ends: %s", managerStartTimeout,
			strings.Join(Tail(o.Log, endLines), "; "))
	}
	return err
}

// endLines is the number of lines of a log in errors.
const endLines = 3

// ended describes how the process has ended, with the last n lines of its log. It must be called after Done.
func (m *Manager) ended(o ManagerOptions, n int) error {
	status := "exit status 0"
	if m.err != nil {
		status = m.err.Error()
	}
	return fmt.Errorf("ccm ended: %s: %s", status, strings.Join(Tail(o.Log, n), "; "))
}

// Kill kills the process as the kernel does when memory runs out, and waits until it has exited.
func (m *Manager) Kill() {
	_ = m.cmd.Process.Kill() // An error means that it has ended already.
	<-m.done
}

// managerStopTimeout is the time between SIGTERM and SIGKILL that a pod has by default.
const managerStopTimeout = 30 * time.Second

// Stop terminates the process, kills it if it does not exit in time, and waits until it has exited.
func (m *Manager) Stop(ctx context.Context) {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // As in Kill.
	ctx, cancel := context.WithTimeout(ctx, managerStopTimeout)
	defer cancel()
	select {
	case <-m.done:
	case <-ctx.Done():
		m.Kill()
	}
}

// Tail returns the last n lines of a log file.
func Tail(path string, n int) []string {
	return tail(path, n, func(string) bool { return true })
}

// LastWarnings returns the last n warnings and errors of a log file in klog's format, each shortened for a
// message.
func LastWarnings(path string, n int) []string {
	return tail(path, n, func(line string) bool {
		return strings.HasPrefix(line, "E") || strings.HasPrefix(line, "W") || strings.HasPrefix(line, "ccm: ")
	})
}

// maxLine is the maximum length of a log line in a message.
const maxLine = 300

// tail returns the last n lines of a log file that match a filter, each shortened for a message.
func tail(path string, n int, filter func(line string) bool) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var lines []string
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := strings.TrimRight(scanner.Text(), "\r")
		if !filter(line) {
			continue
		}
		if runes := []rune(line); len(runes) > maxLine {
			line = string(runes[:maxLine]) + "…"
		}
		lines = append(lines, line)
		if len(lines) > n {
			lines = lines[1:]
		}
	}
	return lines
}
