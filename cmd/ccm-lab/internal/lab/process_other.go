//go:build !linux

package lab

import (
	"errors"
	"syscall"
)

// childAttributes puts a child into its own process group, so that Ctrl-C in a terminal reaches only this
// program.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Usage returns an error: the resource usage of a running process is available on Linux only.
func (m *Manager) Usage() (Usage, error) {
	return Usage{}, errors.New("the usage of a running process is available on Linux only")
}
