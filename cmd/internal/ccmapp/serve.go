package ccmapp

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // leader_election_*, rest_client_*
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
)

// Paths of the secure port that report the health of the process.
const (
	pathHealth = "/healthz"
	pathLive   = "/livez"
	pathReady  = "/readyz"
)

// installHealth adds the paths that the framework's server lacks. Liveness is independent of the cloud: a
// restart does not repair an outage.
func installHealth(m *mux.PathRecorderMux, ready http.Handler) {
	m.Handle(pathLive, alive(pathLive))
	m.Handle(pathReady, ready)
	m.HandlePrefix(pathReady+"/", ready)
}

// alive answers a path as long as the process can answer.
func alive(path string) http.Handler {
	m := mux.NewPathRecorderMux("alive")
	healthz.InstallPathHandler(m, path, healthz.PingHealthz)
	return m
}
