package sim

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/apimodel"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// checkModel refuses requests that the service models of AWS' SDKs do not allow. A dry run of EC2 comes before the
// values are checked.
func checkModel(c core.Call, form url.Values) error {
	if c.Service == core.ServiceEC2 && strings.EqualFold(form.Get("DryRun"), "true") {
		return nil
	}
	model := apimodel.Services()[c.Service]
	for _, parameter := range slices.Sorted(maps.Keys(form)) {
		// EC2 rejects unknown parameters, the other services ignore them.
		if c.Service == core.ServiceEC2 && !core.OfProtocol(parameter) && !model.Knows(c.Action, parameter) {
			return core.Refuse("UnknownParameter", "The parameter %s is not recognized", parameter)
		}
	}
	v := model.Check(c.Action, form)
	switch {
	case v == nil:
		return nil
	case c.Service != core.ServiceEC2 && v.Missing:
		return core.Validation("1 validation error detected: Value null at '%s' failed to satisfy constraint: %s",
			memberPath(v.Parameter), v.Constraint)
	case c.Service != core.ServiceEC2:
		return core.Validation("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s", v.Value,
			memberPath(v.Parameter), v.Constraint)
	case v.Missing:
		return core.MissingParameter(v.Parameter)
	}
	return core.InvalidValue("Invalid value '%s' for %s. %s", v.Value, v.Parameter, v.Constraint)
}

// memberPath returns a parameter's name as messages of Elastic Load Balancing show it: tags.1.member.key.
func memberPath(parameter string) string {
	parts := strings.Split(parameter, ".")
	for i, part := range parts {
		parts[i] = strings.ToLower(part[:1]) + part[1:]
		if i > 0 && part[0] >= '0' && part[0] <= '9' && parts[i-1] == "member" {
			parts[i-1], parts[i] = parts[i], parts[i-1]
		}
	}
	return strings.Join(parts, ".")
}
