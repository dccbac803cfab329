package sim

import (
	"net/http"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// maxSkew bounds the age of a signature, and how far in the future it may be.
const maxSkew = 5 * time.Minute

// now returns the cloud's time as its clients see it.
func (c *Cloud) now() time.Time { return c.clock.Now().Add(c.options.Skew) }

// checkSignature checks when a request was signed, and its signature, as far as the options require it.
func (c *Cloud) checkSignature(k core.Call, o operation, r *http.Request) error {
	if o.open || c.options.Secret == "" && c.options.Skew == 0 {
		return nil
	}
	s, ok := query.SignatureOf(r)
	if !ok {
		return core.Refuse("IncompleteSignature", "Authorization header requires 'Credential', 'SignedHeaders' and "+
			"'Signature' parameters, and the request a date.")
	}
	if now := c.now(); now.Sub(s.At).Abs() > maxSkew {
		return errSkew(k, s.At, now)
	}
	if c.options.Secret == "" {
		return nil
	}
	verified, err := s.VerifiedBy(r, c.secretOf(s.Credential.AccessKey))
	switch {
	case err != nil:
		return err
	case verified:
		return nil
	case k.Service == core.ServiceEC2:
		return errAuthFailure()
	}
	return core.Refuse("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you "+
		"provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
}

// errAuthFailure returns the error of EC2 for a request without valid credentials.
func errAuthFailure() error {
	return core.Refuse("AuthFailure", "AWS was not able to validate the provided access credentials")
}

// errSkew returns the error for a request that was signed too long before or after now.
func errSkew(k core.Call, signed, now time.Time) error {
	const format = "20060102T150405Z"
	switch {
	case k.Service == core.ServiceEC2:
		return core.Refuse("RequestExpired", "Request has expired.")
	case signed.Before(now):
		return core.Refuse("SignatureDoesNotMatch", "Signature expired: %s is now earlier than %s (%s - 5 min.)",
			signed.Format(format), now.Add(-maxSkew).UTC().Format(format), now.UTC().Format(format))
	}
	return core.Refuse("SignatureDoesNotMatch", "Signature not yet current: %s is still later than %s (%s + 5 min.)",
		signed.Format(format), now.Add(maxSkew).UTC().Format(format), now.UTC().Format(format))
}

// secretOf returns the secret of a valid access key.
func (c *Cloud) secretOf(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.state.sts.Sessions[key]; ok {
		return s.Secret
	}
	return c.options.Secret
}
