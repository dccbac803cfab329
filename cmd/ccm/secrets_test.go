//go:build !exclude_fake

package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// planted is part of every secret of these tests. It has characters that encodings change.
const planted = "Pl4nted/Secret+Value"

// encodings returns the forms in which a secret could be printed.
func encodings(secret string) []string {
	return []string{secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte(secret))}
}

// secretEnvironment are variables that clouds' SDKs read credentials from.
var secretEnvironment = map[string]string{
	"AWS_ACCESS_KEY_ID": "AKIAPLANTED", "AWS_SECRET_ACCESS_KEY": planted + "-aws-key", "AWS_SESSION_TOKEN": planted + "-aws-session",
	"OS_PASSWORD": planted + "-os-password", "OS_TOKEN": planted + "-os-token",
	"OS_APPLICATION_CREDENTIAL_SECRET": planted + "-os-credential",
}

// echoingCloud returns a cloud that rejects every request, and repeats all of it in its error: what a service says about
// a wrong signature has the signed headers, and proxies print whole requests.
func echoingCloud(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := fmt.Sprintf("rejected: %v %s", r.Header, body)
		w.WriteHeader(http.StatusForbidden)
		if strings.Contains(r.Header.Get("Authorization"), "AWS4-HMAC") {
			_, _ = fmt.Fprintf(w, "<Response><Errors><Error><Code>SignatureDoesNotMatch</Code><Message>%s</Message></Error></Errors>"+
				"<RequestID>1</RequestID></Response>", strings.NewReplacer("<", "", "&", "").Replace(text))
			return
		}
		_, _ = fmt.Fprintf(w, `{"error": {"code": 403, "title": "Forbidden", "message": %q}, "code": "Forbidden", "message": %q}`, text, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// credentials are configurations that reach the cloud with each way to authenticate. ENDPOINT is its URL.
var credentials = map[string]map[string]string{
	"fake": {"token": "[Global]\nendpoint = ENDPOINT\ntoken = SECRET\n"},
	"aws": {"environment": "[Global]\nZone = us-east-1a\nVPC = vpc-1\nSubnetID = subnet-1\nKubernetesClusterID = c\n" +
		"[ServiceOverride \"1\"]\nService = ec2\nRegion = us-east-1\nURL = ENDPOINT\nSigningRegion = us-east-1\n"},
	"openstack": {
		"password":               "[Global]\nauth-url = ENDPOINT/v3\nregion = r\nusername = u\npassword = SECRET\ntenant-name = p\ndomain-name = d\n",
		"trust":                  "[Global]\nauth-url = ENDPOINT/v3\nregion = r\ntrust-id = t\ntrustee-id = u\ntrustee-password = SECRET\n",
		"application credential": "[Global]\nauth-url = ENDPOINT/v3\nregion = r\napplication-credential-id = i\napplication-credential-secret = SECRET\n",
		"token":                  "[Global]\nauth-url = ENDPOINT/v3\nregion = r\ntoken = SECRET\ntenant-id = p\n",
	},
}

// TestSecretsAreNeverPrinted: nothing that the commands print, with all of the log, has a secret of the configuration,
// the environment or the kubeconfig in it: neither while the configuration is wrong in some way around the secret, nor
// while the cloud repeats in its errors what it got.
func TestSecretsAreNeverPrinted(t *testing.T) {
	for name, value := range secretEnvironment {
		t.Setenv(name, value)
	}
	for name, value := range map[string]string{"AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1"} {
		t.Setenv(name, value)
	}
	endpoint := echoingCloud(t)
	cluster := kubeconfigWithToken(t, endpoint, planted+"-kubeconfig")
	service := write(t, "service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80, nodePort: 30080}]}\n")

	for _, d := range provider.All() {
		configs := map[string]string{}
		for _, key := range d.Config {
			if key.Secret {
				brokenConfigs(configs, key)
			}
		}
		for way, text := range credentials[d.Name] {
			text = strings.NewReplacer("ENDPOINT", endpoint, "SECRET", planted+"-"+strings.ReplaceAll(way, " ", "-")).Replace(text)
			configs[way] = text
			configs[way+" and a wrong key"] = text + "[Wrong]\nkey = 1\n"
		}
		for name, text := range configs {
			t.Run(d.Name+"/"+name, func(t *testing.T) {
				conf := write(t, "cloud.conf", text)
				cloud := []string{"--cloud-provider=" + d.Name, "--cloud-config=" + conf}
				commands := [][]string{
					{"config", "validate", "--show"},
					{"--v=10", "--kubeconfig=" + cluster, "--leader-elect=false", "--secure-port=0", "--allow-untagged-cloud"},
				}
				if strings.Contains(text, endpoint) {
					commands = append(commands, []string{"plan", "-f", service}, []string{"plan", "--all", "--kubeconfig=" + cluster})
				}
				for _, args := range commands {
					stdout, stderr, _ := ccm(t, append(args, cloud...)...)
					reportSecrets(t, strings.Join(args, " "), stdout+stderr)
				}
			})
		}
	}
}

// brokenConfigs adds configurations in which something about a credential is wrong.
func brokenConfigs(configs map[string]string, key provider.ConfigKey) {
	secret := planted + "-" + key.Key
	section := "[" + strings.ReplaceAll(key.Section, "*", "\"x\"") + "]\n"
	for what, text := range map[string]string{
		"alone":             section + key.Key + " = " + secret + "\n",
		"an open quote":     section + key.Key + " = \"" + secret + "\n",
		"a bad escape":      section + key.Key + " = \"\\q" + secret + "\"\n",
		"a misspelt key":    section + key.Key + "x = " + secret + "\n",
		"a wrong section":   "[Wrong]\n" + key.Key + " = " + secret + "\n",
		"no section":        key.Key + " = " + secret + "\n",
		"no equals sign":    section + key.Key + " " + secret + "\n",
		"given twice":       section + key.Key + " = " + secret + "\n" + key.Key + " = " + secret + "2\n",
		"with a subsection": "[" + strings.Fields(key.Section)[0] + " \"x\"]\n" + key.Key + " = " + secret + "\n",
		"in a YAML file":    "global:\n  " + key.Key + ": " + secret + "\n",
	} {
		configs[key.Key+" "+what] = text
	}
}

func reportSecrets(t *testing.T, what, output string) {
	t.Helper()
	for _, form := range encodings(planted) {
		for _, line := range strings.Split(output, "\n") {
			if at := strings.Index(line, form); at >= 0 {
				t.Errorf("%s prints a secret: …%s…", what, line[max(0, at-80):min(len(line), at+len(form)+40)])
				break
			}
		}
	}
}

func kubeconfigWithToken(t *testing.T, server, token string) string {
	t.Helper()
	return write(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: %q}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server, token))
}
