package names_test

import (
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

func TestProviderIDsNeverChange(t *testing.T) {
	t.Parallel()
	const uuid = "422e4956-ad22-1139-6d72-59cc8f26bc90"
	ids := names.NewProviderIDs()
	if id, err := ids.Format(uuid); err != nil || id != "vsphere://"+uuid {
		t.Errorf("%q, %v", id, err)
	}
	for _, form := range []string{"vsphere://" + uuid, uuid, "vsphere://422E4956-AD22-1139-6D72-59CC8F26BC90", " " + uuid + " "} {
		if id, err := ids.Parse(form); err != nil || id != uuid {
			t.Errorf("%q: %q, %v", form, id, err)
		}
	}
}

func TestMachineLabelNeverChanges(t *testing.T) {
	t.Parallel()
	const uuid = "4c0f0c5e-6a10-4ffa-9a1f-6f2c7e0b8f3e"
	for _, tc := range []struct{ vcenter, object, value string }{
		{uuid, "vm-42", uuid + ".vm-42"}, {"", "vm-42", ""}, {uuid, "", ""}, {uuid, "vm 42", ""}, {"a.b", "vm-42", ""},
		{uuid, "vm-" + strings.Repeat("4", 24), ""},
	} {
		if have := names.FormatMachineLabel(tc.vcenter, tc.object); have != tc.value {
			t.Errorf("%s, %s: %q, want %q", tc.vcenter, tc.object, have, tc.value)
		}
		vcenter, object := names.ParseMachineLabel(tc.value)
		if tc.value != "" && (vcenter != tc.vcenter || object != tc.object) {
			t.Errorf("%s: %s, %s", tc.value, vcenter, object)
		}
	}
	for _, value := range []string{"", "x", ".vm-42", uuid + "."} {
		if vcenter, object := names.ParseMachineLabel(value); vcenter != "" || object != "" {
			t.Errorf("%q: %q, %q", value, vcenter, object)
		}
	}
}

func TestSwapUUID(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"56492e42-22ad-3911-6d72-59cc8f26bc90": "422e4956-ad22-1139-6d72-59cc8f26bc90",
		"422e4956-ad22-1139-6d72-59cc8f26bc90": "56492e42-22ad-3911-6d72-59cc8f26bc90",
		"short":                                "short", "": "",
	} {
		if have := names.SwapUUID(from); have != want {
			t.Errorf("%q: %q, want %q", from, have, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "vsphere://", "vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90", "kind://a", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := names.NewProviderIDs().Parse(text)
		if _, ok := names.ParseUUID(id); err == nil && !ok {
			t.Errorf("%q parses as %q", text, id)
		}
		if names.SwapUUID(names.SwapUUID(id)) != id {
			t.Errorf("%q swapped twice is %q", id, names.SwapUUID(names.SwapUUID(id)))
		}
	})
}
