package names

import "testing"

// FuzzProviderID: an ID that is read is one of Nova's, and written again it is read as the same.
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{
		"", server, "openstack:///" + server, "openstack://RegionOne/" + server, "openstack://RegionTwo/" + server, "/" + server, "RegionOne/" + server,
		"openstack:////" + server, "openstack://" + server, "aws:///a/i-1", "openstack:///" + server + "\n", "openstack://%2f/" + server,
	} {
		f.Add(seed)
	}
	ids := ProviderIDs("RegionOne")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ids.Parse(text)
		if err != nil {
			return
		}
		if !uuid.MatchString(id) {
			t.Fatalf("%q is read as the server %q", text, id)
		}
		for _, regional := range []bool{false, true} {
			written, err := FormatProviderID(ids, regional, "RegionOne", id)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ids.Parse(written); err != nil || again != id {
				t.Errorf("%q is written as %q, and read as %q, %v", id, written, again, err)
			}
		}
	})
}
