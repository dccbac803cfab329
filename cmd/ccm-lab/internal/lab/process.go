package lab

import (
	"os"
	"os/exec"
	"time"
)

// Manager is a running ccm process.
type Manager struct {
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
	err  error
}

// Usage is the resource usage of a process.
type Usage struct {
	// CPU is user and system time; PeakMemory the largest resident set in bytes.
	CPU        time.Duration
	PeakMemory int64
}
