package ccmapp

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/component-base/metrics/prometheus/slis"
	controllermanagerapp "k8s.io/controller-manager/app"
)

// Paths of the secure port that say how the process is.
const (
	pathHealth = "/healthz"
	pathLive   = "/livez"
	pathReady  = "/readyz"
)

// serve takes the secure port over from the framework, whose server has no /livez and no /readyz.
// Everything that the framework serves is served here too, behind the same authentication and
// authorization. Its one check that is not is that of a leader whose lease was not renewed in time:
// such a leader ends by itself.
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

// installHealth adds the paths that the framework's server lacks. Whether the process is alive has
// nothing to do with the cloud: a restart does not repair an outage.
func installHealth(m *mux.PathRecorderMux, ready http.Handler) {
	m.Handle(pathLive, alive(pathLive))
	m.Handle(pathReady, ready)
	m.HandlePrefix(pathReady+"/", ready)
}

// alive answers a path as long as the process answers at all.
func alive(path string) http.Handler {
	m := mux.NewPathRecorderMux("alive")
	healthz.InstallPathHandler(m, path, healthz.PingHealthz)
	return m
}
