package config

import "testing"

func TestRequireOneOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		value   string
		allowed []string
		want    string
	}{
		{"allowed", "on", []string{"on", "off"}, ""},
		{"left out", "", []string{"", "on"}, ""},
		{"another word", "maybe", []string{"on", "off"}, `c:2: [S] key: must be on or off, not "maybe"`},
		{"a slip", "On", []string{"on", "off"}, `c:2: [S] key: must be on or off, not "On"; did you mean on?`},
		{"may be left out", "x", []string{"", "managed"}, `c:2: [S] key: must be managed, or unset, not "x"`},
		{"many words", "amdin", []string{"public", "internal", "admin"}, `c:2: [S] key: must be one of public, internal, admin, not "amdin"; did you mean admin?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var into struct{ S struct{ Key string } }
			f := Decode("c", []byte("[S]\nkey = "+tc.value+"\n"), &into)
			f.RequireOneOf("S", "key", tc.value, tc.allowed...)
			got := ""
			if err := f.Err(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("OneOf says %q, want %q", got, tc.want)
			}
		})
	}
}

func TestIsBaseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://cloud.example.com:5000/v3": true,
		"http://[2001:db8::1]/identity":     true,
		"cloud.example.com":                 false,
		"ftp://cloud.example.com":           false,
		"https:///v3":                       false,
		"https://me:secret@cloud.example":   false,
		"https://cloud.example/?region=one": false,
		"http://cloud.example:port":         false,
		"":                                  false,
	} {
		if got := IsBaseURL(text); got != want {
			t.Errorf("IsBaseURL(%q) = %v, want %v", text, got, want)
		}
	}
}
