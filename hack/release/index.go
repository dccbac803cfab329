package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of the OCI image format that are checked.
type (
	descriptor struct {
		MediaType string    `json:"mediaType"`
		Digest    string    `json:"digest"`
		Platform  *platform `json:"platform,omitempty"`
	}
	platform struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	}
	index struct {
		Manifests []descriptor `json:"manifests"`
	}
	manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	imageConfig struct {
		platform
		Config struct {
			User       string   `json:"User"`
			Entrypoint []string `json:"Entrypoint"`
		} `json:"config"`
	}
)

const typeIndex = "application/vnd.oci.image.index.v1+json"

// machines are the ELF machines of the architectures that images can have.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// layout is a folder with images in the OCI format.
type layout string

func (l layout) blob(digest string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(l), "blobs", filepath.FromSlash(strings.ReplaceAll(digest, ":", "/"))))
}

func (l layout) read(digest string, value any) error {
	content, err := l.blob(digest)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, value)
}

// CheckIndex returns an error unless the layout has one image index with an image for each of the platforms, and no
// other. Each image runs /ccm, a program for its own architecture, as a user that is not root, and has the licences.
func CheckIndex(folder string, want []string) error {
	l := layout(folder)
	content, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		return err
	}
	var root, images index
	if err := json.Unmarshal(content, &root); err != nil {
		return err
	}
	if len(root.Manifests) != 1 || root.Manifests[0].MediaType != typeIndex {
		return fmt.Errorf("%s/index.json does not name one image index: %+v", folder, root.Manifests)
	}
	if err := l.read(root.Manifests[0].Digest, &images); err != nil {
		return err
	}
	var have []string
	for _, image := range images.Manifests {
		if image.Platform == nil {
			return fmt.Errorf("image %s of the index has no platform", image.Digest)
		}
		name := image.Platform.OS + "/" + image.Platform.Architecture
		have = append(have, name)
		if err := l.checkImage(image); err != nil {
			return fmt.Errorf("image for %s: %w", name, err)
		}
	}
	slices.Sort(have)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(have, want) {
		return fmt.Errorf("the index has images for %q, want %q", have, want)
	}
	return nil
}

func (l layout) checkImage(image descriptor) error {
	var m manifest
	var c imageConfig
	if err := errors.Join(l.read(image.Digest, &m), l.read(m.Config.Digest, &c)); err != nil {
		return err
	}
	if c.platform != *image.Platform {
		return fmt.Errorf("its configuration is for %s/%s", c.OS, c.Architecture)
	}
	if user, _, _ := strings.Cut(c.Config.User, ":"); user == "" || user == "0" || user == "root" {
		return fmt.Errorf("it runs as %q, want a number other than 0", c.Config.User)
	}
	if !slices.Equal(c.Config.Entrypoint, []string{"/ccm"}) {
		return fmt.Errorf("its entry point is %q, want /ccm", c.Config.Entrypoint)
	}
	files := map[string][]byte{"ccm": nil, "LICENSE": nil, "NOTICE": nil}
	for _, layer := range m.Layers {
		if err := l.extract(layer.Digest, files); err != nil {
			return err
		}
	}
	for name, content := range files {
		if content == nil {
			return fmt.Errorf("it has no /%s", name)
		}
	}
	program, err := elf.NewFile(bytes.NewReader(files["ccm"]))
	if err != nil {
		return fmt.Errorf("/ccm: %w", err)
	}
	if program.Machine != machines[c.Architecture] {
		return fmt.Errorf("/ccm is for %s", program.Machine)
	}
	return nil
}

// extract reads the files of a layer that have an entry in files.
func (l layout) extract(digest string, files map[string][]byte) error {
	content, err := l.blob(digest)
	if err != nil {
		return err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(header.Name, "."), "/")
		if _, wanted := files[name]; wanted && header.Typeflag == tar.TypeReg {
			if files[name], err = io.ReadAll(archive); err != nil {
				return err
			}
		}
	}
}
