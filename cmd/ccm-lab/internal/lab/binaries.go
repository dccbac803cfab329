// Package lab runs a whole cluster on this machine: etcd, kube-apiserver, the real ccm process and a
// simulated cloud over HTTP. The end-to-end tests and ccm-lab share it.
package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Binaries are the programs that a lab starts.
type Binaries struct {
	Etcd, APIServer, CCM string
}

// The environment variables that override the binaries in bin/.
const (
	// AssetsVariable is the directory of etcd and kube-apiserver.
	AssetsVariable = "KUBEBUILDER_ASSETS"
	// CCMVariable is the path of the ccm binary.
	CCMVariable = "CCM_BIN"
)

// FindBinaries returns the paths of the programs in bin/ of the repository, or else beside this program. Its
// error is one line with the make target that builds the missing ones.
func FindBinaries() (Binaries, error) {
	bin := binDirectory()
	assets, origin := os.Getenv(AssetsVariable), " ($"+AssetsVariable+")"
	if assets == "" {
		assets, origin = bin, ""
	}
	b := Binaries{
		Etcd:      filepath.Join(assets, "etcd"),
		APIServer: filepath.Join(assets, "kube-apiserver"),
		CCM:       os.Getenv(CCMVariable),
	}
	if b.CCM == "" {
		b.CCM = filepath.Join(bin, "ccm")
	}
	if missing := absentFiles(b.Etcd, b.APIServer); len(missing) > 0 {
		names := strings.Join(missing, " and no ")
		return Binaries{}, fmt.Errorf("no %s in %s%s: run `make apiserver`", names, assets, origin)
	}
	if len(absentFiles(b.CCM)) > 0 {
		return Binaries{}, fmt.Errorf("no %s: run `make build`", b.CCM)
	}
	return b, nil
}

// Repository returns the root of the checkout that contains the working directory, or "".
func Repository() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func binDirectory() string {
	if root := Repository(); root != "" {
		return filepath.Join(root, "bin")
	}
	self, err := os.Executable()
	if err != nil {
		return "bin"
	}
	return filepath.Dir(self)
}

// absentFiles returns the base names of the files that do not exist.
func absentFiles(paths ...string) []string {
	var out []string
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			out = append(out, filepath.Base(path))
		}
	}
	return out
}
