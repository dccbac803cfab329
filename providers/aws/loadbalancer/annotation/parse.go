package annotation

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// list splits a comma list, without the spaces around its entries. Empty entries, which templates
// leave behind, don't count; one that comes twice is an error.
func list(value string) ([]string, error) {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == "":
		case slices.Contains(items, item):
			return nil, fmt.Errorf("%s is listed twice: list it once", intent.Quote(item))
		default:
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("the list is empty: fill it in, or remove the annotation")
	}
	return items, nil
}

// listOf is list with a condition on every entry.
func listOf(value string, good func(string) bool, form string) ([]string, error) {
	items, err := list(value)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if !good(item) {
			return nil, fmt.Errorf("%s is not %s", intent.Quote(item), form)
		}
	}
	return items, nil
}

func withPrefix(prefix string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, prefix) && len(s) > len(prefix) }
}

func isIPv4(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && !a.Is4In6() && a.Zone() == ""
}

// arn is a certificate of ACM or an IAM server certificate, in any partition. Whether it exists is AWS' to say.
var arn = regexp.MustCompile(`^arn:aws[a-z-]*:(acm:[a-z0-9-]+:[0-9]{12}:certificate/.+|iam::[0-9]{12}:server-certificate/.+)$`)

// balancerName is what AWS accepts as the name of a load balancer.
var balancerName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)

// flag reads a Boolean as strconv.ParseBool does, which is what Services rely on.
func flag(value string) (bool, error) {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("write true or false")
	}
	return b, nil
}

func number(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("write a whole number from %d to %d", least, most)
	}
	return n, nil
}

// seconds reads a plain number of seconds.
func seconds(value string, least, most int) (time.Duration, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("write whole seconds from %d to %d, without a unit", least, most)
	}
	return time.Duration(n) * time.Second, nil
}

// pairs reads k=v,k2=,k3 the way Services rely on: a key may stand alone, spaces around a pair go,
// and a value ends at its second equal sign. Cut says that one was.
func pairs(value string) (out map[string]string, cut bool, err error) {
	items := strings.Split(value, ",")
	out = make(map[string]string, len(items))
	for i, item := range items {
		parts := strings.Split(strings.TrimSpace(item), "=")
		key := strings.TrimSpace(parts[0])
		if key == "" {
			return nil, false, fmt.Errorf("entry %d of the list has no key: write key=value", i+1)
		}
		if _, twice := out[key]; twice {
			return nil, false, fmt.Errorf("the key %s is given twice: give it once", intent.Quote(key))
		}
		out[key] = ""
		if len(parts) > 1 {
			out[key] = parts[1]
		}
		cut = cut || len(parts) > 2
	}
	return out, cut, nil
}

// matchesPort says whether a list of names and numbers contains a port. Names are compared without case.
func matchesPort(ports []string, name string, port int32) bool {
	return slices.ContainsFunc(ports, func(p string) bool {
		return p == strconv.Itoa(int(port)) || name != "" && strings.EqualFold(p, name)
	})
}

func minute(n int) time.Duration { return time.Duration(n) * time.Minute }
