package ccmapp

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
	componentversion "k8s.io/component-base/version"
)

const (
	// olderMinors is the number of minor versions of the API server that are supported besides that of the libraries.
	olderMinors = 3
	// newerMinors is the number that Kubernetes' version skew policy allows while a cluster is upgraded: the API server
	// comes first.
	newerMinors = 1
)

// versionOf returns gitVersion of a response of /version, or "".
func versionOf(response []byte) string {
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(response, &info); err != nil {
		return ""
	}
	return info.GitVersion
}

// unsupported returns why a version of the API server is not supported, or nil. A version that cannot be parsed counts
// as supported: distributions have their own forms.
func unsupported(server string) error {
	have, err := version.ParseGeneric(server)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	libraries := version.MustParseGeneric(componentversion.DefaultKubeBinaryVersion)
	difference := int64(have.Minor()) - int64(libraries.Minor()) //nolint:gosec // minor versions
	if have.Major() == libraries.Major() && -olderMinors <= difference && difference <= newerMinors {
		return nil
	}
	return fmt.Errorf("the API server is Kubernetes %s, and this release supports 1.%d to 1.%d: use a release for it "+
		"(https://github.com/unified-ccm/unified-ccm/blob/main/docs/reference/releases.md)", server, libraries.Minor()-olderMinors,
		libraries.Minor())
}
