// Package config reads cloud.conf files in the dialect of git-config that Kubernetes cloud providers have
// always used (gcfg), so that existing files load unchanged. In addition to gcfg, it reports all problems at
// once, each with its line, and warns about unknown keys.
//
// A provider works in three steps:
//
//	var cfg Config
//	f := config.Decode(file, content, &cfg) // parse
//	cfg.setDefaults()                       // default
//	cfg.validate(f)                         // validate, with f.Errorf(section, key, ...)
//	return cfg, f.Warnings(), f.Err()
package config

import (
	"fmt"
	"io"
)

// Decode parses content into the struct that target points to, by gcfg's rules: sections are structs, or maps
// from subsection to pointer-to-struct; repeated keys fill slices. Name is used in messages only. Well-formed
// lines are set even if others are not, so that validation can report their problems too.
func Decode(name string, content []byte, target any) *File {
	f := newFile(name)
	statements, malformed := scan(name, content)
	f.errors = malformed
	d := newDecoder(f, target)
	for _, st := range statements {
		d.check(st)
	}
	d.assign()
	return f
}

// Read reads a configuration from the reader that the cloud provider registry passes: nil if no file was
// given. The name is that of the file, for messages.
func Read(r io.Reader) (name string, content []byte, err error) {
	if r == nil {
		return "", nil, nil
	}
	name = FileName(r)
	content, err = io.ReadAll(r)
	if err != nil {
		return name, nil, fmt.Errorf("read configuration %s: %w", name, err)
	}
	return name, content, nil
}

// FileName returns the name of the file behind a reader (the registry passes an *os.File), or "cloud.conf"
// for readers without a name.
func FileName(r io.Reader) string {
	if named, ok := r.(interface{ Name() string }); ok && named.Name() != "" {
		return named.Name()
	}
	return defaultName
}
