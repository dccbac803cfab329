// Command release generates the parts of a release that need more than a shell script, and checks them. Run it in the
// root of the repository: hack/lib.sh has a function for it.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

const usage = `usage:
  release notice                                 the file NOTICE
  release sbom BINARY VERSION PLATFORM           SPDX of a program
  release check-sbom FILE...                     they are complete and valid
  release check-index LAYOUT PLATFORM...         an OCI layout has an image for each platform, with a program of it
  release proxy VERSION FOLDER                   a module proxy with the modules of go.work
  release changelog check                        the fragments in changelog.d are well-formed
  release changelog release VERSION DATE         moves them into CHANGELOG.md
  release changelog notes VERSION                the entries of a version`

var errUsage = errors.New(usage)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch {
	case command == "notice" && len(args) == 1:
		modules, err := Linked(platforms, programs...)
		if err != nil {
			return err
		}
		return WriteNotice(os.Stdout, modules)
	case command == "sbom" && len(args) == 4:
		return WriteSBOM(os.Stdout, args[1], args[2], args[3])
	case command == "check-sbom" && len(args) > 1:
		return checkSBOMs(args[1:])
	case command == "check-index" && len(args) > 2:
		return CheckIndex(args[1], args[2:])
	case command == "proxy" && len(args) == 3:
		return WriteProxy(args[1], args[2])
	case command == "changelog" && len(args) > 1:
		return runChangelog(args[1], args[2:])
	}
	return errUsage
}

func checkSBOMs(files []string) error {
	var problems []error
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			err = CheckSBOM(bytes.NewReader(content))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(problems...)
}

func runChangelog(command string, args []string) error {
	switch {
	case command == "check" && len(args) == 0:
		_, _, err := readFragments(".")
		return err
	case command == "release" && len(args) == 2:
		return releaseChangelog(".", args[0], args[1])
	case command == "notes" && len(args) == 1:
		text, err := releaseNotes(".", args[0])
		if err == nil {
			fmt.Print(text)
		}
		return err
	}
	return errUsage
}
