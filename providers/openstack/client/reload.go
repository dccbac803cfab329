package client

import (
	"os"
	"time"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// reloadInterval is the interval at which the files of the credentials are checked for changes.
const reloadInterval = 10 * time.Second

// reloadLocked reloads the credentials if one of their files has changed, and reports whether it did. An
// invalid configuration is ignored until the next change.
func (c *Client) reloadLocked(now time.Time) bool {
	if now.Sub(c.checkedAt) < reloadInterval {
		return false
	}
	c.checkedAt = now
	if !anyChanged(c.files) {
		return false
	}
	for i, f := range c.files {
		c.files[i] = newFileStamp(f.name)
	}
	if c.options.ConfigFile == "" {
		return true
	}
	content, err := os.ReadFile(c.options.ConfigFile)
	if err == nil {
		var cfg config.Config
		if cfg, _, err = config.Read(c.options.ConfigFile, content); err == nil {
			// The region of nodes, which is part of their labels, must not change while the manager runs.
			cfg.Global.Region = c.options.Global.Region
			c.global = cfg.Global
			return true
		}
	}
	klog.Background().Error(err, "Config reload failed; keeping previous credentials", "file", c.options.ConfigFile)
	return false
}

// updateTransport rebuilds the transport if the TLS settings or their files have changed, unless the
// caller of New provided it.
func (c *Client) updateTransport(g config.Global) error {
	if c.options.Transport != nil {
		return nil
	}
	settings := [4]string{g.CAFile, g.CertFile, g.KeyFile, g.TLSInsecure}
	if c.base.HasBase() && c.tls.config == settings && !anyChanged(c.tls.files) {
		return nil
	}
	files := stampFiles(g.Files())
	tlsConfig, err := newTLSConfig(g)
	if err != nil {
		return err
	}
	c.base.Set(newHTTPTransport(tlsConfig))
	c.tls = tlsSource{settings, files}
	return nil
}
