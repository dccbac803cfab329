package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// planes are the control planes of this test binary. They take seconds to start, so tests share
// them, one after the other.
var planes *pool

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	binaries, err := lab.FindBinaries()
	if err != nil {
		// Never a skip: a suite that runs nothing must not look like one that passes.
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "ccm-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	if err := flag.Set("test.parallel", strconv.Itoa(lanes)); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	planes = newPool(binaries, dir)
	defer func() {
		if err := errors.Join(planes.stop(), os.RemoveAll(dir)); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			code = 1
		}
	}()
	return m.Run()
}

// lanes is the number of parallel tests, each on its own control plane. It does not depend on the number of processors:
// tests mostly wait for what a manager does every ten or thirty seconds. A control plane needs about half a gigabyte of
// memory.
const lanes = 4

// pool has the control planes of tests, and starts another one if all are in use and the limit allows it.
type pool struct {
	binaries lab.Binaries
	dir      string
	idle     chan *lab.ControlPlane
	// broken is closed when a control plane did not start, so that no test waits for it.
	broken chan struct{}

	mu      sync.Mutex
	started int
	running []*lab.ControlPlane
	err     error
}

func newPool(binaries lab.Binaries, dir string) *pool {
	return &pool{binaries: binaries, dir: dir, idle: make(chan *lab.ControlPlane, lanes), broken: make(chan struct{})}
}

// acquire returns an empty control plane, which must be empty again when it is released.
func (p *pool) acquire(ctx context.Context) (*lab.ControlPlane, error) {
	select {
	case plane := <-p.idle:
		return plane, nil
	default:
	}
	if number, ok := p.reserve(); ok {
		return p.start(ctx, number)
	}
	select {
	case plane := <-p.idle:
		return plane, nil
	case <-p.broken:
		return nil, errors.New("a control plane did not start; see the test that failed first")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pool) release(plane *lab.ControlPlane) { p.idle <- plane }

func (p *pool) reserve() (number int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started == cap(p.idle) {
		return 0, false
	}
	p.started++
	return p.started, true
}

func (p *pool) start(ctx context.Context, number int) (*lab.ControlPlane, error) {
	dir := filepath.Join(p.dir, fmt.Sprintf("control-plane-%d", number))
	err := os.Mkdir(dir, 0o700)
	var plane *lab.ControlPlane
	if err == nil {
		plane, err = lab.StartControlPlane(ctx, p.binaries, dir)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.running = append(p.running, plane)
	case p.err == nil:
		p.err = err
		close(p.broken)
	}
	return plane, err
}

func (p *pool) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, plane := range p.running {
		errs = append(errs, plane.Stop())
	}
	return errors.Join(errs...)
}
