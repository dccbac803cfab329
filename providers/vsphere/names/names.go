// Package names has the provider IDs and labels that exist in users' clusters. They can never change.
package names

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Scheme is the name of the provider, the scheme of provider IDs and the metric label.
const Scheme = "vsphere"

// MachineLabel is the label with the object of a Node's virtual machine. A vCenter does not show machines for which
// the account has no permission; only a read of the object distinguishes them from deleted ones. The key and the form
// of the value can never change.
const MachineLabel = "vsphere.unified-ccm.io/machine"

// uuidForm matches a UUID in lower case.
var uuidForm = regexp.MustCompile(`\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\z`)

// ProviderIDs parses and formats provider IDs: vsphere://UUID, where UUID is the BIOS UUID of the virtual machine in
// lower case. Earlier managers also read a UUID without a scheme, upper case and white space.
type ProviderIDs struct{ table *instances.TableScheme }

var _ instances.Scheme = ProviderIDs{}

// NewProviderIDs returns the forms of provider IDs.
func NewProviderIDs() ProviderIDs {
	return ProviderIDs{instances.MustScheme(instances.Table{
		Scheme: Scheme,
		Forms: []instances.Form{
			{Name: "current", Template: Scheme + "://{id}"},
			{Name: "bare", Template: "{id}"},
		},
		Valid: map[string]func(string) bool{"id": func(id string) bool { _, ok := ParseUUID(id); return ok }},
	})}
}

// Parse implements instances.Scheme. It returns the UUID in lower case.
func (p ProviderIDs) Parse(providerID string) (string, error) {
	id, err := p.table.Parse(providerID)
	if err != nil {
		return "", err
	}
	uuid, _ := ParseUUID(id)
	return uuid, nil
}

// Format returns the provider ID of a virtual machine.
func (p ProviderIDs) Format(uuid string) (string, error) {
	return p.table.Format(instances.Fields{"id": uuid})
}

// ParseUUID returns a UUID in lower case and without white space. It returns false for other texts.
func ParseUUID(text string) (string, bool) {
	uuid := strings.ToLower(strings.TrimSpace(text))
	return uuid, uuidForm.MatchString(uuid)
}

// FormatMachineLabel returns the value of MachineLabel: the instance UUID of the vCenter and the identifier of the
// object, such as 4c0f0c5e-6a10-4ffa-9a1f-6f2c7e0b8f3e.vm-42. It returns "" for identifiers that no label can have.
func FormatMachineLabel(vcenter, object string) string {
	value := vcenter + "." + object
	if vcenter == "" || object == "" || strings.Contains(vcenter, ".") || len(validation.IsValidLabelValue(value)) > 0 {
		return ""
	}
	return value
}

// ParseMachineLabel returns the parts of a value of MachineLabel, both "" for another text.
func ParseMachineLabel(value string) (vcenter, object string) {
	vcenter, object, found := strings.Cut(value, ".")
	if !found || vcenter == "" || object == "" {
		return "", ""
	}
	return vcenter, object
}

// SwapUUID reverses the bytes of the first three groups of a UUID. Guests with hardware version 13 and later report
// the BIOS UUID in this form as their system UUID, older ones report it unchanged. It returns any other text
// unchanged.
func SwapUUID(uuid string) string {
	if !uuidForm.MatchString(uuid) {
		return uuid
	}
	groups := strings.SplitN(uuid, "-", 4)
	for i, group := range groups[:3] {
		var b strings.Builder
		for i := len(group) - 2; i >= 0; i -= 2 {
			b.WriteString(group[i : i+2])
		}
		groups[i] = b.String()
	}
	return strings.Join(groups, "-")
}
