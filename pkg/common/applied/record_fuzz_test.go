package applied

import (
	"strings"
	"testing"
)

// FuzzParseRecord verifies that a record that was read from a tag is written as one of the same meaning.
func FuzzParseRecord(f *testing.F) {
	digest := strings.Repeat("A", Encoding.EncodedLen(digestLength))
	// More fields than a tag has room for.
	var manyFields strings.Builder
	for i := range 1000 {
		manyFields.Write([]byte{byte(i >> 8), byte(i), 'v'})
	}
	for _, fields := range []string{"\x00" + strings.Repeat("x", digestLength), "\x03", "\x03abcde", "\x01abc", "\xff", "",
		"\x01" + manyFields.String()} {
		f.Add(strings.Join([]string{recordVersion, digest, digest, Encoding.EncodeToString([]byte(fields))}, "."))
	}
	f.Add("")
	f.Add("9.a.b.c")
	f.Fuzz(func(t *testing.T, text string) {
		record := Parse(text)
		written := record.Encode()
		if len(written) > MaxRecord {
			t.Errorf("%d characters, more than %d", len(written), MaxRecord)
		}
		if again := Parse(written).Encode(); again != written {
			t.Errorf("read and written again: %q, want %q", again, written)
		}
	})
}
