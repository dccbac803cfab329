package ccmapp

import "testing"

// FuzzDecodeManifests verifies that any file of ccm plan -f ends with objects or with a problem for each document.
func FuzzDecodeManifests(f *testing.F) {
	for _, seed := range []string{"", "---\n---\n", "# nothing\n", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
		"apiVersion: v1\nkind: NodeList\nitems: [{metadata: {name: a}}]\n", "apiVersion: v1\nkind: List\n", "kind: [", "{\"kind\": 1}",
		"apiVersion: apps/v1\nkind: Deployment\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		var w planInput
		for _, problem := range decodeManifests("-", []byte(content), &w) {
			if problem == "" {
				t.Error("an empty problem")
			}
		}
		for _, service := range w.services {
			if service == nil {
				t.Error("a Service is nil")
			}
		}
		for _, node := range w.nodes {
			if node == nil {
				t.Error("a Node is nil")
			}
		}
	})
}
