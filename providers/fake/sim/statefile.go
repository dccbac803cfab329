package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// headerBytes exceeds the size of the header's fields: 20 digits, 16 characters and the keys.
const headerBytes = 160

// stateFile is the state file and its lock file, FILE.lock. The lock is a separate file because every write
// replaces the state file, and a lock on a replaced file excludes no other process.
type stateFile struct {
	path     string
	lockFile *os.File
}

// openStateFile opens the lock. The state file itself need not exist.
func openStateFile(name string) (*stateFile, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("state file %s: %w", name, err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("state file %s: the directory %s does not exist: create it, or name another file: %w", path,
			filepath.Dir(path), err)
	}
	if err != nil {
		return nil, fmt.Errorf("state file %s: its lock file cannot be opened for writing: %w", path, err)
	}
	return &stateFile{path: path, lockFile: lock}, nil
}

func (f *stateFile) close() error { return f.lockFile.Close() }

// lock waits for other processes, and for other Clouds in this one. The kernel releases the lock
// of a process that was killed.
func (f *stateFile) lock() error {
	for {
		err := syscall.Flock(int(f.lockFile.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return f.explain(err)
		}
	}
}

func (f *stateFile) unlock() { _ = syscall.Flock(int(f.lockFile.Fd()), syscall.LOCK_UN) }

func (f *stateFile) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state file %s: %w", f.path, err)
}

// readIfChanged returns nil if the file is unchanged, or if there is none and never was one.
func (f *stateFile) readIfChanged(previous header) (*state, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if previous.Generation == 0 {
			return nil, nil
		}
		// With an empty world every machine would be missing, and every node would be deleted.
		return nil, fmt.Errorf("state file %s has vanished: restore it, or restart to begin with an empty cloud", f.path)
	}
	if err != nil {
		return nil, f.explain(err)
	}
	defer file.Close()
	start := make([]byte, headerBytes)
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, f.explain(err)
	}
	if previous.Generation != 0 && bytes.HasPrefix(start[:n], previous.prefix()) {
		return nil, nil
	}
	remainder, err := io.ReadAll(file)
	if err != nil {
		return nil, f.explain(err)
	}
	return f.parse(append(start[:n], remainder...))
}

// prefix returns the start of a file with this header; see write.
func (h header) prefix() []byte {
	return fmt.Appendf(nil, "{\n \"version\": %d,\n \"world\": %q,\n \"generation\": %d,\n", h.Version, h.World,
		h.Generation)
}

func (f *stateFile) parse(content []byte) (*state, error) {
	const fix = "restore it from a copy, or move it away to begin with an empty cloud"
	var h header
	if err := json.Unmarshal(content, &h); err != nil {
		return nil, fmt.Errorf("state file %s is damaged (%w): %s", f.path, err, fix)
	}
	if h.Version != stateVersion {
		return nil, fmt.Errorf("state file %s has version %d, and this program reads version %d: use the release that "+
			"wrote it, or move it away to begin with an empty cloud",
			f.path, h.Version, stateVersion)
	}
	parsed := newState()
	if err := json.Unmarshal(content, parsed); err != nil {
		return nil, fmt.Errorf("state file %s is damaged (%w): %s", f.path, err, fix)
	}
	if parsed.Instances == nil || parsed.Addresses == nil || parsed.LoadBalancers == nil || parsed.Routes == nil {
		return nil, fmt.Errorf("state file %s is damaged (a kind of object is null): %s", f.path, fix)
	}
	if err := parsed.check(); err != nil {
		return nil, fmt.Errorf("state file %s contradicts itself (%s): %s", f.path,
			strings.ReplaceAll(err.Error(), "\n", "; "), fix)
	}
	return parsed, nil
}

// write replaces the whole file: a kill at any moment leaves the old or the new content. The caller holds the
// lock, so the temporary name is unique, and an orphaned one is overwritten.
func (f *stateFile) write(s *state) error {
	content, err := marshalState(s)
	if err != nil {
		return f.explain(err)
	}
	temp := f.path + ".tmp"
	if err := writeSynced(temp, content); err != nil {
		return fmt.Errorf("state file %s: the change is not stored: %w", f.path, err)
	}
	if err := os.Rename(temp, f.path); err != nil {
		return fmt.Errorf("state file %s: the change is not stored: %w", f.path, err)
	}
	return f.explain(syncDir(filepath.Dir(f.path)))
}

func marshalState(s *state) ([]byte, error) { return json.MarshalIndent(s, "", " ") }

func writeSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Sync(); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// syncDir makes the rename durable: without it, a power cut could bring the old file back.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
