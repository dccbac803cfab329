package auth

import (
	"net/http"
	"strings"
)

// pathMetadata is the root of the metadata server.
const pathMetadata = "/computeMetadata/v1/"

// Machine is the instance that the metadata server belongs to.
type Machine struct {
	Project, ProjectNumber, Zone, Name, ID, Network, IP string
	Tags                                                []string
}

// IsMetadata reports whether a request is for the metadata server. Clients read its root to find out whether they
// run on an instance.
func IsMetadata(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/computeMetadata/") || r.URL.Path == "/"
}

// ServeMetadata answers as the metadata server of an instance.
func (t *Tokens) ServeMetadata(w http.ResponseWriter, r *http.Request, m Machine) {
	w.Header().Set("Metadata-Flavor", "Google")
	w.Header().Set("Server", "Metadata Server for VM")
	if r.URL.Path == "/" {
		writeText(w, "computeMetadata/\n")
		return
	}
	if r.Header.Get("Metadata-Flavor") != "Google" {
		http.Error(w, "Missing required header \"Metadata-Flavor\": \"Google\"", http.StatusForbidden)
		return
	}
	path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, pathMetadata), "/")
	path = strings.Replace(path, "service-accounts/"+t.Account, "service-accounts/default", 1)
	account, ok := strings.CutPrefix(path, "instance/service-accounts/default")
	switch {
	case ok && account == "/token":
		answer(w, http.StatusOK, t.grant())
		return
	case ok && account == "":
		answer(w, http.StatusOK, map[string]any{"aliases": []string{"default"}, "email": t.Account,
			"scopes": []string{"https://www.googleapis.com/auth/cloud-platform"}})
		return
	}
	text, known := map[string]string{
		"project/project-id":                          m.Project,
		"project/numeric-project-id":                  m.ProjectNumber,
		"universe/universe-domain":                    "googleapis.com",
		"instance/id":                                 m.ID,
		"instance/name":                               m.Name,
		"instance/hostname":                           m.Name + "." + m.Zone + ".c." + m.Project + ".internal",
		"instance/zone":                               "projects/" + m.ProjectNumber + "/zones/" + m.Zone,
		"instance/network-interfaces/0/network":       "projects/" + m.ProjectNumber + "/networks/" + m.Network,
		"instance/network-interfaces/0/ip":            m.IP,
		"instance/tags":                               `["` + strings.Join(m.Tags, `","`) + `"]`,
		"instance/service-accounts/default/email":     t.Account,
		"instance/service-accounts/default/scopes":    "https://www.googleapis.com/auth/cloud-platform",
		"instance/service-accounts":                   "default/\n" + t.Account + "/",
		"instance/attributes":                         "",
		"instance/network-interfaces/0/dns-servers/0": "169.254.169.254",
	}[path]
	if !known {
		http.Error(w, "The requested URL "+r.URL.Path+" was not found on this server.", http.StatusNotFound)
		return
	}
	writeText(w, text)
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/text")
	_, _ = w.Write([]byte(text))
}
