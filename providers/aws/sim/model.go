package sim

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/apimodel"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// checkModel rejects requests that the service models of AWS' SDKs do not allow. EC2 responds to a dry run before it
// checks the values.
func checkModel(c core.Call, form url.Values) error {
	if c.Service == core.ServiceEC2 && strings.EqualFold(form.Get("DryRun"), "true") {
		return nil
	}
	model := apimodel.Services()[c.Service]
	for _, parameter := range slices.Sorted(maps.Keys(form)) {
		// EC2 rejects unknown parameters, the other services ignore them.
		if c.Service == core.ServiceEC2 && !core.IsProtocolParameter(parameter) && !model.HasParameter(c.Action, parameter) {
			return core.Refuse("UnknownParameter", "The parameter %s is not recognized", parameter)
		}
	}
	violation := model.Check(c.Action, form)
	switch {
	case violation == nil:
		return nil
	case c.Service != core.ServiceEC2 && violation.Missing:
		return core.Validation("1 validation error detected: Value null at '%s' failed to satisfy constraint: %s",
			memberPath(violation.Parameter), violation.Constraint)
	case c.Service != core.ServiceEC2:
		return core.Validation("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s",
			violation.Value, memberPath(violation.Parameter), violation.Constraint)
	case violation.Missing:
		return core.MissingParameter(violation.Parameter)
	}
	return core.InvalidValue("Invalid value '%s' for %s. %s", violation.Value, violation.Parameter, violation.Constraint)
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
