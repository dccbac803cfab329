package client

import (
	"os"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// reloadInterval is the interval at which the files of the credentials are checked for changes.
const reloadInterval = 10 * time.Second

// fileStamp identifies the state of a file; modTime is zero if the file does not exist.
type fileStamp struct {
	name    string
	modTime time.Time
	size    int64
}

// reloadLocked reloads the credentials if one of their files has changed, and reports whether it did. An
// invalid configuration is ignored until the next change.
func (c *Client) reloadLocked(now time.Time) bool {
	if now.Sub(c.checkedAt) < reloadInterval {
		return false
	}
	c.checkedAt = now
	if !anyChanged(c.files) {
		return false
	}
	for i, f := range c.files {
		c.files[i] = newFileStamp(f.name)
	}
	if c.options.ConfigFile == "" {
		return true
	}
	content, err := os.ReadFile(c.options.ConfigFile)
	if err == nil {
		var cfg config.Config
		if cfg, _, err = config.Read(c.options.ConfigFile, content); err == nil {
			// The region of nodes, which is part of their labels, must not change while the manager runs.
			cfg.Global.Region = c.options.Global.Region
			c.global = cfg.Global
			return true
		}
	}
	klog.Background().Error(err, "Config reload failed; keeping previous credentials", "file", c.options.ConfigFile)
	return false
}

func stampFiles(files []string) []fileStamp {
	var out []fileStamp
	for _, name := range files {
		if name != "" {
			out = append(out, newFileStamp(name))
		}
	}
	return out
}

func newFileStamp(name string) fileStamp {
	info, err := os.Stat(name)
	if err != nil {
		return fileStamp{name: name}
	}
	return fileStamp{name: name, modTime: info.ModTime(), size: info.Size()}
}

func anyChanged(files []fileStamp) bool {
	return slices.ContainsFunc(files, func(f fileStamp) bool {
		current := newFileStamp(f.name)
		return !current.modTime.Equal(f.modTime) || current.size != f.size
	})
}
