package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

// invalidInID matches characters that SPDX does not allow in the identifier of an element.
var invalidInID = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// creator is the tool that SBOMs name.
const creator = "github.com/unified-ccm/unified-ccm/hack/release"

// WriteSBOM writes an SPDX document of a program: its modules as the linker recorded them, with the licences of the
// sources. Equal programs have equal documents: the time of creation is that of the commit, SOURCE_DATE_EPOCH.
func WriteSBOM(w io.Writer, binary, version, platform string) error {
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return err
	}
	modules, err := Linked([]string{platform}, "./"+strings.TrimPrefix(info.Path, repository+"/"))
	if err != nil {
		return err
	}
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is not the time of the commit: %w", err)
	}
	digest := sha256.Sum256(content)
	name := filepath.Base(binary)
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      fmt.Sprintf("%s %s %s", name, version, platform),
		DocumentNamespace: fmt.Sprintf("https://%s/sbom/%s/%s", repository, name, hex.EncodeToString(digest[:])),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: creator}},
			Created:  time.Unix(epoch, 0).UTC().Format(time.RFC3339),
		},
	}
	program := newPackage(info.Main.Path, version, "Apache-2.0")
	if folder := strings.TrimPrefix(info.Path, info.Main.Path+"/"); folder != info.Path {
		program.PackageExternalReferences[0].Locator += "#" + folder
	}
	program.PackageFileName = name
	program.PrimaryPackagePurpose = "APPLICATION"
	program.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(digest[:])}}
	document.Packages = []*spdx.Package{program}
	document.Relationships = []*spdx.Relationship{newRelationship("DOCUMENT", common.TypeRelationshipDescribe, program)}

	parts, err := linkedPackages(info, version, modules)
	if err != nil {
		return err
	}
	for _, part := range parts {
		document.Packages = append(document.Packages, part)
		document.Relationships = append(document.Relationships,
			newRelationship(program.PackageSPDXIdentifier, common.TypeRelationshipContains, part))
	}
	return spdxjson.Write(document, w, spdxjson.Indent("  "))
}

// linkedPackages returns the packages that a program contains: the standard library and its modules.
func linkedPackages(info *buildinfo.BuildInfo, version string, modules []Module) ([]*spdx.Package, error) {
	byPath := map[string]Module{}
	for _, m := range modules {
		byPath[m.Path] = m
	}
	goVersion, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	all := []*spdx.Package{newPackage("stdlib", goVersion, "BSD-3-Clause")}
	for _, dependency := range info.Deps {
		if isOwn(dependency.Path) {
			all = append(all, newPackage(dependency.Path, version, "Apache-2.0"))
			continue
		}
		m, ok := byPath[dependency.Path]
		if !ok || m.Version != dependency.Version {
			return nil, fmt.Errorf("the program links %s %s, and its sources have %q: build it again", dependency.Path,
				dependency.Version, m.Version)
		}
		ids, err := m.licenses()
		if err != nil {
			return nil, err
		}
		p := newPackage(m.Path, m.Version, expression(ids))
		// go.sum's hash is not a checksum of a file, and SPDX has no algorithm for it.
		p.PackageSourceInfo = "go.sum " + dependency.Sum
		all = append(all, p)
	}
	return all, nil
}

func newPackage(path, version, license string) *spdx.Package {
	return &spdx.Package{
		PackageName: path, PackageVersion: version,
		PackageSPDXIdentifier:   common.ElementID("Package-" + invalidInID.ReplaceAllString(path, "-")),
		PackageDownloadLocation: "NOASSERTION", PackageCopyrightText: "NOASSERTION",
		PackageLicenseDeclared: license, PackageLicenseConcluded: license,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B"),
		}},
	}
}

func newRelationship(from common.ElementID, kind string, to *spdx.Package) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), Relationship: kind,
		RefB: common.MakeDocElementID("", string(to.PackageSPDXIdentifier))}
}

// CheckSBOM returns an error for each reason why a document is not a usable SBOM of a program.
func CheckSBOM(r io.Reader) error {
	document, err := spdxjson.Read(r)
	if err != nil {
		return err
	}
	problems := []error{spdxlib.ValidateDocument(document)}
	if document.SPDXVersion != spdx.Version || document.DocumentNamespace == "" || document.CreationInfo == nil {
		problems = append(problems, fmt.Errorf("version %q, namespace %q: not a complete %s document",
			document.SPDXVersion, document.DocumentNamespace, spdx.Version))
	}
	contained := 0
	for _, r := range document.Relationships {
		if r.Relationship == common.TypeRelationshipContains {
			contained++
		}
	}
	if contained != len(document.Packages)-1 {
		problems = append(problems, fmt.Errorf("the program contains %d of the other %d packages", contained,
			len(document.Packages)-1))
	}
	for _, p := range document.Packages {
		if p.PackageVersion == "" || p.PackageLicenseConcluded == "" || len(p.PackageExternalReferences) == 0 {
			problems = append(problems, fmt.Errorf("package %s lacks its version, licence or package URL", p.PackageName))
		}
	}
	return errors.Join(problems...)
}
