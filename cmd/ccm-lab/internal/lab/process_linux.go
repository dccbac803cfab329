package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childAttributes puts a child into its own process group, so that Ctrl-C in a terminal reaches only this
// program, and makes the kernel kill it if this program is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// clockTicks is the kernel's unit of CPU time in /proc, USER_HZ: 100 on every architecture that Go supports.
const clockTicks = 100

// Usage returns the resource usage of the running process so far.
func (m *Manager) Usage() (Usage, error) {
	pid := m.cmd.Process.Pid
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	// The name of the program, in parentheses, may contain any characters; fields count from the end of it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	memory, memoryErr := peakMemory(pid)
	return Usage{
		CPU:        time.Duration(user+system) * time.Second / clockTicks,
		PeakMemory: memory,
	}, errors.Join(userErr, systemErr, memoryErr)
}

// peakMemory reads VmHWM, in kB, of a process.
func peakMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no VmHWM", pid)
}
