package classic

import (
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// textsOf returns the texts of wanted listeners, with their certificates.
func textsOf(listeners []Listener) []string {
	return api.Convert(listeners, func(l Listener) string { return l.String() + " " + l.Certificate })
}

// foreignCertificate returns the first certificate of ACM in another region than that of zones, "" for none: AWS
// refuses it. It is "" too if no zone is known.
func foreignCertificate(listeners []Listener, zones map[string]string) string {
	for _, l := range listeners {
		arn := strings.Split(l.Certificate, ":")
		if len(arn) < 6 || arn[2] != "acm" || arn[3] == "" {
			continue
		}
		for _, zone := range zones {
			if zone != "" && !strings.HasPrefix(zone, arn[3]) {
				return l.Certificate
			}
		}
	}
	return ""
}
