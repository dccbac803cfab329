package nova

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// The supported microversions are those of Nova's release Zed: 2.1 to 2.93.
const (
	MinMicro = 1
	MaxMicro = 93
)

// ParseMicro returns the minor part of the requested microversion, from the header OpenStack-API-Version or the older
// X-OpenStack-Nova-API-Version.
func ParseMicro(h http.Header) (int, error) {
	text := h.Get("X-OpenStack-Nova-API-Version")
	for _, line := range h.Values("OpenStack-API-Version") {
		for entry := range strings.SplitSeq(line, ",") {
			if service, version, ok := strings.Cut(strings.TrimSpace(entry), " "); ok && service == core.ServiceCompute {
				text = strings.TrimSpace(version)
			}
		}
	}
	switch text {
	case "":
		return MinMicro, nil
	case "latest":
		return MaxMicro, nil
	}
	major, minor, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(minor)
	if _, majorErr := strconv.Atoi(major); err != nil || majorErr != nil {
		return 0, core.Refuse(http.StatusBadRequest, "badRequest",
			"API Version String %s is of invalid format. Must be of format MajorNum.MinorNum.", text)
	}
	if major != "2" || n < MinMicro || n > MaxMicro {
		return 0, core.Refuse(http.StatusNotAcceptable, "computeFault",
			"Version %s is not supported by the API. Minimum is 2.%d and maximum is 2.%d.", text, MinMicro, MaxMicro)
	}
	return n, nil
}
