package document

import "testing"

func TestMerge(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ document, before, after, want string }{
		"unknown fields stay": {`{"name":"a","port":1,"other":{"x":[1]}}`, `{"name":"a","port":1}`, `{"name":"a","port":2}`,
			`{"name":"a","other":{"x":[1]},"port":2}`},
		"removed fields leave":    {`{"port":1,"other":2}`, `{"port":1}`, `{}`, `{"other":2}`},
		"defaults are not filled": {`{"other":2}`, `{"port":0}`, `{"port":0}`, `{"other":2}`},
		"an item that leaves and one that joins": {`{"list":[{"id":"a","x":1},{"id":"b","x":2}]}`,
			`{"list":[{"id":"a"},{"id":"b"}]}`, `{"list":[{"id":"b"},{"id":"c"}]}`,
			`{"list":[{"id":"b","x":2},{"id":"c"}]}`},
		"an item that is changed at its place": {`{"list":[{"id":"a","port":1,"x":1}]}`, `{"list":[{"id":"a","port":1}]}`,
			`{"list":[{"id":"a","port":2}]}`, `{"list":[{"id":"a","port":2,"x":1}]}`},
		"large integers stay": {`{"n":12345678901234567890,"port":1}`, `{"port":1}`, `{"port":2}`,
			`{"n":12345678901234567890,"port":2}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Merge([]byte(tc.document), []byte(tc.before), []byte(tc.after), "id")
			if err != nil || string(got) != tc.want {
				t.Errorf("%s, %v, want %s", got, err, tc.want)
			}
		})
	}
	if _, err := Merge([]byte("{"), []byte("{}"), []byte("{}")); err == nil {
		t.Error("an invalid document is accepted")
	}
}
