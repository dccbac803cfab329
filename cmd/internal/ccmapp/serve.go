package ccmapp

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	appconfig "k8s.io/cloud-provider/app/config"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // leader_election_*, rest_client_*
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // kubernetes_build_info
	controllermanagerapp "k8s.io/controller-manager/app"
)

// Paths of the secure port that report the health of the process.
const (
	pathHealth = "/healthz"
	pathLive   = "/livez"
	pathReady  = "/readyz"
)

// serve replaces the framework's secure port, which has no /livez and no /readyz. It also serves everything
// that the framework serves, behind the same authentication and authorization, except the check of a leader
// that did not renew its lease in time: such a leader exits anyway.
func (d *daemon) serve(config *appconfig.CompletedConfig, stop <-chan struct{}) error {
	if config.SecureServing == nil {
		return nil
	}
	base := controllermanagerapp.NewBaseHandler(&config.ComponentConfig.Generic.Debugging, alive(pathHealth))
	slis.SLIMetricsWithReset{}.Install(base)
	installHealth(base, d.health)
	handler := controllermanagerapp.BuildHandlerChain(base, &config.Authorization, &config.Authentication)
	if _, _, err := config.SecureServing.Serve(handler, 0, stop); err != nil {
		return err
	}
	config.SecureServing = nil
	return nil
}

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
