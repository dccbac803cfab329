package names_test

import (
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
