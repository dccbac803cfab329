package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"sigs.k8s.io/yaml"
)

// Environment variables that select the file and its entry.
const (
	envCloudsFile = "OS_CLIENT_CONFIG_FILE"
	envCloud      = "OS_CLOUD"
)

// document is a YAML object.
type document = map[string]any

// Complete returns the section merged with clouds.yaml, and all files that were read. Its error names
// every missing key.
func (g Global) Complete() (Global, []string, error) {
	var files []string
	if g.ReadsClouds() {
		var entry clouds.Cloud
		var err error
		if entry, files, err = readClouds(g); err != nil {
			return g, files, err
		}
		g = g.fill(entry)
	}
	var problems []error
	g.validateCredentials(func(key, format string, args ...any) {
		problems = append(problems, fmt.Errorf("[%s] %s %s", sectionGlobal, key, fmt.Sprintf(format, args...)))
	})
	return g, append(files, g.Files()...), errors.Join(problems...)
}

// readClouds returns the entry of clouds.yaml that the section selects, merged with secure.yaml and
// clouds-public.yaml of the same folders. It also returns the files that it has read or looked for, so
// that they can be watched.
func readClouds(g Global) (clouds.Cloud, []string, error) {
	paths := cloudsPaths(g.CloudsFile)
	main, file, err := readFirst(paths...)
	if err != nil {
		return clouds.Cloud{}, paths, err
	}
	if file == "" {
		return clouds.Cloud{}, paths, fmt.Errorf("no clouds.yaml found: looked for %s; set clouds-file in section [Global]",
			strings.Join(paths, ", "))
	}
	files := []string{file}
	entries := subDocument(main, "clouds")
	name, err := chooseCloud(g.Cloud, file, entries)
	if err != nil {
		return clouds.Cloud{}, files, err
	}
	entry, _ := entries[name].(document)

	secureFile := filepath.Join(filepath.Dir(file), "secure.yaml")
	secure, _, err := readFirst(secureFile)
	if err != nil {
		return clouds.Cloud{}, files, err
	}
	files = append(files, secureFile)
	entry = mergeDocuments(entry, subDocument(secure, "clouds", name))
	if profile := profileOf(entry); profile != "" {
		publicFile := filepath.Join(filepath.Dir(file), "clouds-public.yaml")
		public, _, err := readFirst(publicFile, "/etc/openstack/clouds-public.yaml")
		if err != nil {
			return clouds.Cloud{}, files, err
		}
		files = append(files, publicFile)
		entry = mergeDocuments(subDocument(public, "public-clouds", profile), entry)
	}
	cloud, err := decodeCloud(entry, g.Region)
	if err != nil {
		return clouds.Cloud{}, files, fmt.Errorf("%s: cloud %q: %w", file, name, err)
	}
	return cloud, files, nil
}

// cloudsPaths returns the paths of clouds.yaml in order of preference.
func cloudsPaths(configured string) []string {
	if configured != "" {
		return []string{configured}
	}
	if file := os.Getenv(envCloudsFile); file != "" {
		return []string{file}
	}
	paths := []string{"clouds.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		paths = append(paths, filepath.Join(dir, "openstack", "clouds.yaml"))
	}
	return append(paths, "/etc/openstack/clouds.yaml")
}

// readFirst reads the first of the files that exists. The returned name is empty if none exists.
func readFirst(paths ...string) (document, string, error) {
	for _, name := range paths {
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var out document
		if err == nil {
			err = yaml.Unmarshal(content, &out)
		}
		if err != nil {
			return nil, name, fmt.Errorf("read %s: %w", name, err)
		}
		return out, name, nil
	}
	return nil, "", nil
}

// chooseCloud returns the name of the entry: the configured one, that in the environment, or the only one.
func chooseCloud(configured, file string, entries document) (string, error) {
	known := slices.Sorted(maps.Keys(entries))
	for _, name := range []string{configured, os.Getenv(envCloud)} {
		if name == "" {
			continue
		}
		if _, ok := entries[name]; !ok {
			return "", fmt.Errorf("%s has no cloud %q; it has %s", file, name, strings.Join(known, ", "))
		}
		return name, nil
	}
	if len(known) != 1 {
		return "", fmt.Errorf("%s has %d clouds (%s); choose one with cloud in section [Global]",
			file, len(known), strings.Join(known, ", "))
	}
	return known[0], nil
}

// subDocument returns the object at a path of keys; nil if there is none.
func subDocument(d document, keys ...string) document {
	for _, key := range keys {
		d, _ = d[key].(document)
	}
	return d
}

// profileOf returns the name of the public cloud that an entry of clouds.yaml extends, or "".
func profileOf(entry document) string {
	for _, key := range []string{"profile", "cloud"} {
		if name, _ := entry[key].(string); name != "" {
			return name
		}
	}
	return ""
}

// mergeDocuments returns base overridden by overrides, key by key.
func mergeDocuments(base, overrides document) document {
	out := document{}
	maps.Copy(out, base)
	for key, value := range overrides {
		override, isObject := value.(document)
		inner, wasObject := out[key].(document)
		if isObject && wasObject {
			value = mergeDocuments(inner, override)
		}
		out[key] = value
	}
	return out
}

// decodeCloud decodes an entry, merged with its values for the given region, or for its only region.
func decodeCloud(entry document, region string) (clouds.Cloud, error) {
	var cloud clouds.Cloud
	if err := convert(entry, &cloud); err != nil {
		return cloud, err
	}
	if region == "" {
		region = cloud.RegionName
	}
	if region == "" && len(cloud.Regions) == 1 {
		region = cloud.Regions[0].Name
	}
	if i := slices.IndexFunc(cloud.Regions, func(r clouds.Region) bool { return r.Name == region }); i >= 0 {
		var values document
		if err := convert(cloud.Regions[i].Values, &values); err != nil {
			return cloud, err
		}
		cloud = clouds.Cloud{}
		if err := convert(mergeDocuments(entry, values), &cloud); err != nil {
			return cloud, err
		}
	}
	if cloud.AuthInfo == nil {
		cloud.AuthInfo = &clouds.AuthInfo{}
	}
	cloud.RegionName = region
	return cloud, nil
}

// convert decodes one form of an object into another by way of JSON.
func convert(from, to any) error {
	content, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, to)
}

// fill sets the empty keys of the section from the entry. Credentials of one method are never mixed with those of
// another.
func (g Global) fill(c clouds.Cloud) Global {
	setDefault(&g.AuthURL, c.AuthInfo.AuthURL)
	g.fillCredentials(c.AuthInfo)
	g.fillScope(c.AuthInfo)
	setDefault(&g.Region, c.RegionName)
	g.fillTransport(c)
	return g
}

// setDefault sets a key that is empty.
func setDefault[Text ~string](key *Text, value string) {
	if *key == "" {
		*key = Text(value)
	}
}

// fillCredentials completes the section's own authentication method, or sets all credentials if it has none.
func (g *Global) fillCredentials(a *clouds.AuthInfo) {
	method := g.Method()
	if method == MethodNone || method == MethodTrust {
		setDefault(&g.TrustID, a.TrustID)
	}
	if method == MethodNone || method == MethodApplicationCredential {
		if g.ApplicationCredentialName == "" {
			setDefault(&g.ApplicationCredentialID, a.ApplicationCredentialID)
		}
		if g.ApplicationCredentialID == "" {
			setDefault(&g.ApplicationCredentialName, a.ApplicationCredentialName)
		}
		setDefault(&g.ApplicationCredentialSecret, a.ApplicationCredentialSecret)
	}
	if method == MethodNone || method == MethodToken {
		setDefault(&g.Token, a.Token)
	}
	if method != MethodToken && method != MethodApplicationCredential || g.ApplicationCredentialName != "" {
		if g.Username == "" {
			setDefault(&g.UserID, a.UserID)
		}
		if g.UserID == "" {
			setDefault(&g.Username, a.Username)
		}
		setDefault(&g.Password, a.Password)
	}
}

func (g *Global) fillScope(a *clouds.AuthInfo) {
	if g.UserDomain() == (Domain{}) {
		setDefault(&g.UserDomainID, a.UserDomainID)
		setDefault(&g.UserDomainName, a.UserDomainName)
	}
	if !g.hasProject() {
		setDefault(&g.TenantID, a.ProjectID)
		setDefault(&g.TenantName, a.ProjectName)
	}
	if g.ProjectDomain() == (Domain{}) {
		setDefault(&g.TenantDomainID, a.ProjectDomainID)
		setDefault(&g.TenantDomainName, a.ProjectDomainName)
	}
	if g.DomainID == "" && g.DomainName == "" {
		setDefault(&g.DomainID, a.DomainID)
		setDefault(&g.DomainName, a.DomainName)
		if g.DomainName == "" {
			setDefault(&g.DomainID, a.DefaultDomain)
		}
	}
}

func (g *Global) fillTransport(c clouds.Cloud) {
	setDefault(&g.EndpointType, c.EndpointType)
	setDefault(&g.EndpointType, c.Interface)
	setDefault(&g.CAFile, c.CACertFile)
	if g.CertFile == "" && g.KeyFile == "" {
		g.CertFile, g.KeyFile = c.ClientCertFile, c.ClientKeyFile
	}
	if c.Verify != nil {
		setDefault(&g.TLSInsecure, strconv.FormatBool(!*c.Verify))
	}
}
