package openstack

import "github.com/spf13/pflag"

const flagUserAgent = "user-agent"

// inheritedFlags are the flags without the provider's prefix.
func inheritedFlags() []string { return []string{flagUserAgent} }

// flags are the provider's own.
type flags struct {
	userAgent []string
}

// add adds the flags.
func (f *flags) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.userAgent, flagUserAgent, f.userAgent,
		"A prefix of the User-Agent header of requests to OpenStack. May be repeated.")
}
