package client

import (
	"os"
	"slices"
	"time"
)

// fileStamp identifies the state of a file; modTime is zero if the file does not exist.
type fileStamp struct {
	name    string
	modTime time.Time
	size    int64
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
