package client

import (
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// Rejected credentials are tried again after deniedRetryAfter, and then after deniedFactor times the previous wait, up
// to deniedRetryMax. By default, vCenter Single Sign-On locks an account after 5 failed attempts within 3 minutes, and
// NSX-T after 5 within 15 minutes.
const (
	deniedRetryAfter = 30 * time.Second
	deniedFactor     = 3
	deniedRetryMax   = 15 * time.Minute
)

// deniedAdvice is the end of the errors of rejected credentials.
const deniedAdvice = "changed credentials are used at once, the same ones are tried again within 15 minutes"

// denial is the last rejection of credentials.
type denial struct {
	credentials []config.Credentials
	err         error
	at          time.Time
	wait        time.Duration
}

// check returns the error of credentials that are not to be tried again yet; nil for others.
func (d *denial) check(credentials []config.Credentials, now time.Time) error {
	if d.err != nil && slices.Equal(d.credentials, credentials) && now.Sub(d.at) < d.wait {
		return d.err
	}
	return nil
}

// record records that credentials were rejected. Calls that were in flight then do not extend the wait.
func (d *denial) record(credentials []config.Credentials, err error, now time.Time) {
	if d.check(credentials, now) != nil {
		return
	}
	wait := deniedRetryAfter
	if d.err != nil && slices.Equal(d.credentials, credentials) {
		wait = min(d.wait*deniedFactor, deniedRetryMax)
	}
	*d = denial{credentials: credentials, err: err, at: now, wait: wait}
}
