package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

// directory holds all files of a run: logs, the kubeconfig, etcd's data.
type directory struct {
	path string
	keep bool
	log  *os.File
}

// makeDirectory creates a temporary directory and redirects this program's own logs to it: on the screen they
// would disturb the output.
func makeDirectory(keep bool) (*directory, error) {
	path, err := os.MkdirTemp("", "ccm-lab-")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(path, "ccm-lab.log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
	klog.SetLogger(logger)
	ctrllog.SetLogger(logger)
	return &directory{path: path, keep: keep, log: log}, nil
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

// close removes the directory, or prints its path if it is kept.
func (d *directory) close(p *progress) error {
	err := d.log.Close()
	if d.keep {
		p.say("kept logs and state in %s", d.path)
		return err
	}
	return errors.Join(err, os.RemoveAll(d.path))
}

// writeKubeconfig copies a kubeconfig to a path that the user chose. It never replaces a file: that could be
// the user's only one. The returned function removes the file again.
func writeKubeconfig(from, to string) (remove func() error, err error) {
	content, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, kubeconfigExists(to)
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig-out=%s: %w", to, err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("--kubeconfig-out=%s: %w", to, err)
	}
	return func() error { return os.Remove(to) }, nil
}

func kubeconfigExists(path string) error {
	return cli.UsageErrorf("--kubeconfig-out=%s: this file exists and is not overwritten; remove it or name another", path)
}
