package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// testImage is an image of the layout that a test writes.
type testImage struct {
	arch, configArch, user string
	machine                elf.Machine
	files                  []string
}

// writeLayout writes a layout with the images, and returns its folder.
func writeLayout(t *testing.T, images ...testImage) string {
	t.Helper()
	dir := write(t, map[string]string{"blobs/sha256/.keep": ""})
	blob := func(content []byte) string {
		digest := sha256.Sum256(content)
		name := hex.EncodeToString(digest[:])
		if err := os.WriteFile(filepath.Join(dir, "blobs", "sha256", name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		return "sha256:" + name
	}
	encode := func(value any) []byte {
		content, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	var all index
	for _, image := range images {
		var c imageConfig
		c.platform = platform{OS: "linux", Architecture: image.configArch}
		c.Config.User, c.Config.Entrypoint = image.user, []string{"/ccm"}
		m := manifest{Config: descriptor{Digest: blob(encode(c))},
			Layers: []descriptor{{Digest: blob(layerOf(t, image.machine, image.files))}}}
		all.Manifests = append(all.Manifests, descriptor{Digest: blob(encode(m)),
			Platform: &platform{OS: "linux", Architecture: image.arch}})
	}
	top := index{Manifests: []descriptor{{MediaType: typeIndex, Digest: blob(encode(all))}}}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), encode(top), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// layerOf returns a layer with the header of an ELF program as /ccm, and empty other files.
func layerOf(t *testing.T, machine elf.Machine, files []string) []byte {
	t.Helper()
	var program, layer bytes.Buffer
	header := elf.Header64{Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64}
	if err := binary.Write(&program, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	compressed := gzip.NewWriter(&layer)
	archive := tar.NewWriter(compressed)
	for _, name := range files {
		content := []byte(name)
		if name == "/ccm" {
			content = program.Bytes()
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return layer.Bytes()
}

func TestIndexHasImageForEachPlatform(t *testing.T) {
	files := []string{"/ccm", "LICENSE", "./NOTICE"}
	amd64 := testImage{"amd64", "amd64", "65532:65532", elf.EM_X86_64, files}
	arm64 := testImage{"arm64", "arm64", "65532", elf.EM_AARCH64, files}
	with := func(change func(*testImage)) testImage {
		changed := arm64
		change(&changed)
		return changed
	}
	for name, tc := range map[string]struct {
		images []testImage
		want   string
	}{
		"both":                     {[]testImage{amd64, arm64}, ""},
		"one is missing":           {[]testImage{amd64}, `the index has images for ["linux/amd64"]`},
		"one is there twice":       {[]testImage{amd64, amd64, arm64}, "the index has images for"},
		"program of amd64":         {[]testImage{amd64, with(func(i *testImage) { i.machine = elf.EM_X86_64 })}, "image for linux/arm64: /ccm is for EM_X86_64"},
		"configuration of amd64":   {[]testImage{amd64, with(func(i *testImage) { i.configArch = "amd64" })}, "its configuration is for linux/amd64"},
		"runs as root":             {[]testImage{amd64, with(func(i *testImage) { i.user = "0:0" })}, `it runs as "0:0"`},
		"no user":                  {[]testImage{amd64, with(func(i *testImage) { i.user = "" })}, `it runs as ""`},
		"without the licences":     {[]testImage{amd64, with(func(i *testImage) { i.files = files[:2] })}, "it has no /NOTICE"},
		"without a program at all": {[]testImage{amd64, with(func(i *testImage) { i.files = files[1:] })}, "it has no /ccm"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckIndex(writeLayout(t, tc.images...), []string{"linux/amd64", "linux/arm64"})
			if tc.want == "" && err != nil {
				t.Error(err)
			} else if tc.want != "" {
				wantError(t, err, tc.want)
			}
		})
	}
	wantError(t, CheckIndex(write(t, map[string]string{"index.json": `{"manifests": [{"mediaType": "x"}]}`}), nil),
		"does not name one image index")
}
