package annotation

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// errEmptyList is the problem of a list without entries.
var errEmptyList = errors.New("the list is empty: fill it in, or remove the annotation")

// split splits a comma list and trims the spaces of its entries. It skips empty entries, which templates
// leave behind, and returns duplicates.
func split(value string) (items, duplicates []string) {
	seen := sets.Set[string]{}
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == "":
		case seen.Has(item):
			duplicates = append(duplicates, item)
		default:
			seen.Insert(item)
			items = append(items, item)
		}
	}
	return items, duplicates
}

// parseList splits a comma list and rejects duplicates.
func parseList(value string) ([]string, error) {
	items, duplicates := split(value)
	switch {
	case len(duplicates) > 0:
		return nil, fmt.Errorf("%s is listed twice: list it once", intent.Quote(duplicates[0]))
	case len(items) == 0:
		return nil, errEmptyList
	default:
		return items, nil
	}
}

// parseListOf returns a parser of lists with a condition on every entry.
func parseListOf(valid func(string) bool, form string) func(string) ([]string, error) {
	return func(value string) ([]string, error) {
		items, err := parseList(value)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if !valid(item) {
				return nil, fmt.Errorf("%s is not %s", intent.Quote(item), form)
			}
		}
		return items, nil
	}
}

func parseSecurityGroups(value string) ([]string, error) {
	return parseListOf(hasIDPrefix("sg-"), "the ID of a security group, sg-…")(value)
}

func hasIDPrefix(prefix string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, prefix) && len(s) > len(prefix) }
}

func isIPv4(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && !a.Is4In6() && a.Zone() == ""
}

// arn matches certificates of ACM and IAM server certificates, in any partition. AWS checks their existence.
var arn = regexp.MustCompile(
	`^arn:aws[a-z-]*:(acm:[a-z0-9-]+:[0-9]{12}:certificate/.+|iam::[0-9]{12}:server-certificate/.+)$`)

// balancerName matches the load balancer names that AWS accepts.
var balancerName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)

func parseName(value string) (string, error) {
	if !balancerName.MatchString(value) || strings.HasPrefix(value, "internal-") {
		return "", fmt.Errorf("write 1 to 32 letters, digits and hyphens, without a hyphen at either end " +
			"and without internal- in front")
	}
	return value, nil
}

// parseTargetType reports whether nodes are registered by address.
func parseTargetType(value string) (bool, error) {
	kind, err := intent.OneOf("instance", "ip")(value)
	return kind == "ip", err
}

func parseTLSPolicy(value string) (string, error) {
	if strings.ContainsAny(value, " ,/") {
		return "", fmt.Errorf("write the name of one security policy, such as ELBSecurityPolicy-TLS13-1-2-2021-06")
	}
	return value, nil
}

// parseProxyProtocol accepts the only value that turns it on.
func parseProxyProtocol(value string) (bool, error) {
	_, err := intent.OneOf("*")(value)
	return err == nil, err
}

func parseEmitInterval(value string) (time.Duration, error) {
	minutes, err := intent.OneOf("5", "60")(value)
	if err != nil {
		return 0, err
	}
	return time.ParseDuration(minutes + "m")
}

// parseHealthCheckProtocol returns a parser that accepts either case and returns upper case.
func parseHealthCheckProtocol(kind Type) func(string) (string, error) {
	words := []string{"tcp", "http", "https", "ssl"}
	if kind == Network {
		words = words[:3]
	}
	return func(value string) (string, error) {
		protocol, err := parseWord(words...)(value)
		return strings.ToUpper(protocol), err
	}
}

func parseHealthCheckPort(value string) (string, error) {
	if _, err := intent.Int(1, 65535)(value); err != nil && value != TrafficPort {
		return "", fmt.Errorf("write a port number from 1 to 65535, or %s", TrafficPort)
	}
	return value, nil
}

func parsePath(value string) (string, error) {
	if !strings.HasPrefix(value, "/") || strings.ContainsAny(value, " \t\n") {
		return "", fmt.Errorf("write a path that begins with a slash and has no spaces, such as /healthz")
	}
	return value, nil
}

// parseWord returns a parser that accepts words in either case and returns them in lower case.
func parseWord(words ...string) func(string) (string, error) {
	return func(value string) (string, error) { return intent.OneOf(words...)(strings.ToLower(value)) }
}

// parseBool accepts what strconv.ParseBool does: existing Services rely on it.
func parseBool(value string) (bool, error) {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("write true or false")
	}
	return b, nil
}

// parseSeconds returns a parser of a number of seconds without a unit.
func parseSeconds(minimum, maximum int) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		n, err := intent.Int(minimum, maximum)(value)
		if err != nil {
			return 0, fmt.Errorf("write whole seconds from %d to %d, without a unit", minimum, maximum)
		}
		return time.Duration(n) * time.Second, nil
	}
}

// parsePairs parses k=v,k2=,k3 with the rules that existing Services rely on: a key may have no value, empty
// entries are skipped, spaces outside of a pair are trimmed, and a value ends at its second equal sign;
// truncated reports whether one did. The last of several values of a key takes effect; duplicates are such keys.
func parsePairs(value string) (out map[string]string, duplicates []string, truncated bool, err error) {
	items, _ := split(value)
	out = make(map[string]string, len(items))
	for _, item := range items {
		parts := strings.Split(item, "=")
		key := strings.TrimSpace(parts[0])
		if key == "" {
			return nil, nil, false, fmt.Errorf("the entry %s has no key: write key=value", intent.Quote(item))
		}
		if _, exists := out[key]; exists {
			duplicates = append(duplicates, key)
		}
		out[key] = ""
		if len(parts) > 1 {
			out[key] = parts[1]
		}
		truncated = truncated || len(parts) > 2
	}
	return out, duplicates, truncated, nil
}
