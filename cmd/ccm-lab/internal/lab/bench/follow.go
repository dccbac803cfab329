package bench

import (
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// follower reads lines that are appended to a log file.
type follower struct {
	path    string
	offset  int64
	partial string
}

func follow(path string) (*follower, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &follower{path: path, offset: info.Size()}, nil
}

// lines returns the complete lines since the last call.
func (f *follower) lines() ([]string, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	_, seekErr := file.Seek(f.offset, io.SeekStart)
	content, readErr := io.ReadAll(file)
	f.offset += int64(len(content))
	lines := strings.Split(f.partial+string(content), "\n")
	f.partial = lines[len(lines)-1]
	return lines[:len(lines)-1], errors.Join(seekErr, readErr, file.Close())
}

// refreshLine matches the log line of the framework's node controller (-v=2) after each refresh of the
// addresses of all nodes.
var refreshLine = regexp.MustCompile(`Update (\d+) nodes status took (\S+)\.$`)

func parseRefresh(line string) (nodes int, took time.Duration, ok bool) {
	found := refreshLine.FindStringSubmatch(line)
	if found == nil {
		return 0, 0, false
	}
	nodes, nodesErr := strconv.Atoi(found[1])
	took, tookErr := time.ParseDuration(found[2])
	return nodes, took, nodesErr == nil && tookErr == nil
}
