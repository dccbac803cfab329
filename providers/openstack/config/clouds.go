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

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// Environment variables that select the file and its entry.
const (
	envCloudsFile = "OS_CLIENT_CONFIG_FILE"
	envCloud      = "OS_CLOUD"
)

// document is a YAML object.
type document = map[string]any

// readClouds returns the entry of clouds.yaml that the section selects, merged with secure.yaml and
// clouds-public.yaml of the same folders. It also returns the files that it has read or looked for, so
// that they can be watched.
func readClouds(g Global) (clouds.Cloud, []string, error) {
	places := cloudsPlaces(g.CloudsFile)
	main, file, err := readFirst(places)
	if err != nil {
		return clouds.Cloud{}, places, err
	}
	if file == "" {
		return clouds.Cloud{}, places, fmt.Errorf("no clouds.yaml found: looked for %s; set clouds-file in section [Global]",
			strings.Join(places, ", "))
	}
	files := []string{file}
	entries, _ := main["clouds"].(document)
	name, err := chooseCloud(g.Cloud, file, entries)
	if err != nil {
		return clouds.Cloud{}, files, err
	}
	entry, _ := entries[name].(document)

	secure, secureFile, err := readFirst([]string{beside(file, "secure.yaml")})
	if err != nil {
		return clouds.Cloud{}, files, err
	}
	files = append(files, beside(file, "secure.yaml"))
	if secureFile != "" {
		entry = merged(entry, sub(secure, "clouds", name))
	}
	if profile := profileOf(entry); profile != "" {
		public, _, err := readFirst([]string{beside(file, "clouds-public.yaml"), "/etc/openstack/clouds-public.yaml"})
		if err != nil {
			return clouds.Cloud{}, files, err
		}
		files = append(files, beside(file, "clouds-public.yaml"))
		entry = merged(sub(public, "public-clouds", profile), entry)
	}
	cloud, err := decodeCloud(entry, g.Region)
	if err != nil {
		return clouds.Cloud{}, files, fmt.Errorf("%s: cloud %q: %w", file, name, err)
	}
	return cloud, files, nil
}

// cloudsPlaces returns the paths of clouds.yaml in order of preference.
func cloudsPlaces(configured string) []string {
	if configured != "" {
		return []string{configured}
	}
	if file := os.Getenv(envCloudsFile); file != "" {
		return []string{file}
	}
	places := []string{"clouds.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "openstack", "clouds.yaml"))
	}
	return append(places, "/etc/openstack/clouds.yaml")
}

func beside(file, name string) string { return filepath.Join(filepath.Dir(file), name) }

// readFirst reads the first of the files that exists. The returned name is empty if none exists.
func readFirst(places []string) (document, string, error) {
	for _, name := range places {
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

func sub(d document, path ...string) document {
	for _, key := range path {
		d, _ = d[key].(document)
	}
	return d
}

func profileOf(entry document) string {
	for _, key := range []string{"profile", "cloud"} {
		if name, _ := entry[key].(string); name != "" {
			return name
		}
	}
	return ""
}

// merged returns base overridden by over, key by key.
func merged(base, over document) document {
	out := maps.Clone(base)
	if out == nil {
		out = document{}
	}
	for key, value := range over {
		inner, isObject := value.(document)
		below, wasObject := out[key].(document)
		if isObject && wasObject {
			value = merged(below, inner)
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
	if cloud.AuthInfo == nil {
		cloud.AuthInfo = &clouds.AuthInfo{}
	}
	if region == "" {
		region = cloud.RegionName
	}
	if region == "" && len(cloud.Regions) == 1 {
		region = cloud.Regions[0].Name
	}
	for _, r := range cloud.Regions {
		if r.Name != region {
			continue
		}
		var values document
		if err := convert(r.Values, &values); err != nil {
			return cloud, err
		}
		cloud = clouds.Cloud{}
		if err := convert(merged(entry, values), &cloud); err != nil {
			return cloud, err
		}
		if cloud.AuthInfo == nil {
			cloud.AuthInfo = &clouds.AuthInfo{}
		}
		break
	}
	cloud.RegionName = region
	return cloud, nil
}

// convert decodes one form of an object into another by way of JSON.
func convert(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// fill sets what the section leaves empty from the entry. The section wins, key by key; credentials of
// one method are never mixed with those of another.
func (g Global) fill(c clouds.Cloud) Global {
	a := c.AuthInfo
	text := func(into *string, value string) {
		if *into == "" {
			*into = value
		}
	}
	text(&g.AuthURL, a.AuthURL)
	g.fillCredentials(a, text)
	g.fillScope(a, text)
	text(&g.Region, c.RegionName)
	g.fillTransport(c, text)
	return g
}

// fillCredentials completes the section's own authentication method, or sets all credentials if it has none.
func (g *Global) fillCredentials(a *clouds.AuthInfo, text func(*string, string)) {
	own := g.Method()
	secret := func(into *commonconfig.Secret, value string) {
		if *into == "" {
			*into = commonconfig.Secret(value)
		}
	}
	if own == MethodNone || own == MethodTrust {
		text(&g.TrustID, a.TrustID)
	}
	if own == MethodNone || own == MethodApplicationCredential {
		if g.ApplicationCredentialName == "" {
			text(&g.ApplicationCredentialID, a.ApplicationCredentialID)
		}
		if g.ApplicationCredentialID == "" {
			text(&g.ApplicationCredentialName, a.ApplicationCredentialName)
		}
		secret(&g.ApplicationCredentialSecret, a.ApplicationCredentialSecret)
	}
	if own == MethodNone || own == MethodToken {
		secret(&g.Token, a.Token)
	}
	if own != MethodToken && own != MethodApplicationCredential || g.ApplicationCredentialName != "" {
		if g.Username == "" {
			text(&g.UserID, a.UserID)
		}
		if g.UserID == "" {
			text(&g.Username, a.Username)
		}
		secret(&g.Password, a.Password)
	}
}

func (g *Global) fillScope(a *clouds.AuthInfo, text func(*string, string)) {
	if g.UserDomain() == (Domain{}) {
		text(&g.UserDomainID, a.UserDomainID)
		text(&g.UserDomainName, a.UserDomainName)
	}
	if !g.hasProject() {
		text(&g.TenantID, a.ProjectID)
		text(&g.TenantName, a.ProjectName)
	}
	if g.ProjectDomain() == (Domain{}) {
		text(&g.TenantDomainID, a.ProjectDomainID)
		text(&g.TenantDomainName, a.ProjectDomainName)
	}
	if g.DomainID == "" && g.DomainName == "" {
		text(&g.DomainID, a.DomainID)
		text(&g.DomainName, a.DomainName)
		if g.DomainName == "" {
			text(&g.DomainID, a.DefaultDomain)
		}
	}
}

func (g *Global) fillTransport(c clouds.Cloud, text func(*string, string)) {
	text(&g.EndpointType, c.EndpointType)
	text(&g.EndpointType, c.Interface)
	text(&g.CAFile, c.CACertFile)
	if g.CertFile == "" && g.KeyFile == "" {
		g.CertFile, g.KeyFile = c.ClientCertFile, c.ClientKeyFile
	}
	if c.Verify != nil {
		text(&g.TLSInsecure, strconv.FormatBool(!*c.Verify))
	}
}
