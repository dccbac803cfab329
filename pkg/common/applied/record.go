// Package applied has the record of what this manager last applied for a Service. It is stored with the load balancer.
package applied

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Record describes what this manager last applied for one Service. It is stored with the load
// balancer, as a tag. A record proves without further reads that a load balancer matches a desired state, and
// it shows which of the Service's fields have changed since. The zero value is "no record".
type Record struct {
	// State is the Digest of the desired state without its members; empty if it is unknown.
	State string
	// Members is the Digest of the members; empty if they are unknown.
	Members string
	// values are digests of the values of the fields that were set, by NameHash. They have the same length.
	values map[NameHash]string
	// combined is a digest of all fields at once. It replaces values if there are too many of them.
	combined string
}

const (
	// recordVersion changes when the input of the digests changes. A record of another version is ignored.
	recordVersion = "1"
	// MaxRecord is the length limit of an encoded record. Tag values of AWS have at most 256 characters, tags of
	// Octavia 255 including a prefix.
	MaxRecord = 230
	// digestLength is the length of State and Members in bytes, before they are encoded.
	digestLength = 8
	// valueLength is the preferred length of a value's digest. With too many fields, it is shortened down to 1
	// byte, and then a combined digest replaces all of them.
	valueLength = 3
)

// NameHash is the hash of the name of a field. TestFieldNamesDoNotCollide asserts that all known names have different
// hashes.
type NameHash [2]byte

// Encoding is that of digests in texts.
var Encoding = base64.RawURLEncoding

// New returns the record of a desired state. Fields are its inputs: annotations by key, spec fields by
// path (intent.Service.Fields), and, if a cloud adds them, configuration keys.
func New(state, members string, fields map[string]string) Record {
	r := Record{State: state, Members: members, values: map[NameHash]string{}}
	for name, value := range fields {
		r.values[HashName(name)] = hashValue(name, value)
	}
	if r.width() == 0 {
		r.values, r.combined = nil, hashFields(fields)
	}
	return r
}

// Digest returns a short digest of a value that can be marshalled to JSON, or "" if it cannot.
func Digest(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return ShortDigest("digest", string(text), digestLength)
}

// DigestSet returns a Digest that does not depend on the order of the items.
func DigestSet(items []string) string { return Digest(slices.Sorted(slices.Values(items))) }

// IsZero reports whether there is no record.
func (r Record) IsZero() bool {
	return r.State == "" && r.Members == "" && len(r.values) == 0 && r.combined == ""
}

// Has reports whether the record describes a field that is set.
func (r Record) Has(name string) bool {
	_, ok := r.values[HashName(name)]
	return ok || r.combined != ""
}

// Proves reports whether a load balancer with record r has the desired state and members of want.
func (r Record) Proves(want Record) bool {
	return r.State != "" && r.State == want.State && r.Members != "" && r.Members == want.Members
}

// Changed returns those of the named fields that differ between the record and now, set and unset included.
// Without a record no change is known.
func (r Record) Changed(now map[string]string, names []string) []string {
	if r.IsZero() {
		return nil
	}
	if r.combined != "" {
		if r.combined == hashFields(now) {
			return nil
		}
		return slices.Clone(names)
	}
	var changed []string
	for _, name := range names {
		applied, wasSet := r.values[HashName(name)]
		value, isSet := now[name]
		if wasSet != isSet || isSet && hashValue(name, value)[:len(applied)] != applied {
			changed = append(changed, name)
		}
	}
	return changed
}

// IsOutdated reports whether r has to be replaced by want: if anything but unknown members differs.
func (r Record) IsOutdated(want Record) bool {
	if r.Members == "" || want.Members == "" {
		r.Members, want.Members = "", ""
	}
	return r.Encode() != want.Encode()
}

// WithPending returns the record of a state with some pending changes: its State is unknown, and the fields that
// these changes follow from have the values of the previous record.
func (r Record) WithPending(before Record, names []string) Record {
	if r.IsZero() {
		return r
	}
	r.State = ""
	if r.combined != "" || before.combined != "" {
		r.values, r.combined = before.values, before.combined
		return r
	}
	r.values = maps.Clone(r.values)
	for _, name := range names {
		if value, ok := before.values[HashName(name)]; ok {
			r.values[HashName(name)] = value
		} else {
			delete(r.values, HashName(name))
		}
	}
	return r
}

// Encode returns the record as text: VERSION.STATE.MEMBERS.FIELDS, at most MaxRecord characters of [A-Za-z0-9._-].
func (r Record) Encode() string {
	if r.IsZero() {
		return ""
	}
	width := r.width()
	fields := []byte{byte(width)} //nolint:gosec // at most the length of a digest
	if width == 0 {
		fields = append(fields, r.combined...)
	}
	for _, name := range sortedNames(r.values) {
		fields = append(fields, name[:]...)
		fields = append(fields, r.values[name][:width]...)
	}
	return strings.Join([]string{recordVersion, r.State, r.Members, Encoding.EncodeToString(fields)}, ".")
}

// Parse returns the record that Encode wrote. Text of another version, form or length is not a record.
func Parse(text string) Record {
	parts := strings.Split(text, ".")
	if len(text) > MaxRecord || len(parts) != 4 || parts[0] != recordVersion || !isDigest(parts[1]) ||
		!isDigest(parts[2]) {
		return Record{}
	}
	fields, err := Encoding.DecodeString(parts[3])
	if err != nil || len(fields) == 0 {
		return Record{}
	}
	r := Record{State: parts[1], Members: parts[2]}
	width, fields := int(fields[0]), fields[1:]
	if width == 0 {
		r.combined = string(fields)
		if len(fields) != digestLength {
			return Record{}
		}
		return r
	}
	if width > valueLength || len(fields)%(2+width) != 0 {
		return Record{}
	}
	r.values = map[NameHash]string{}
	for entry := range slices.Chunk(fields, 2+width) {
		r.values[NameHash(entry[:2])] = string(entry[2:])
	}
	return r
}

// width returns the length of value digests with which all fields fit into MaxRecord, or 0 if there is none.
func (r Record) width() int {
	if r.combined != "" {
		return 0
	}
	width := valueLength
	for _, value := range r.values {
		width = min(width, len(value))
	}
	available := MaxRecord - len(recordVersion) - 3 - 2*Encoding.EncodedLen(digestLength)
	for width > 0 && Encoding.EncodedLen(1+len(r.values)*(2+width)) > available {
		width--
	}
	return width
}

func isDigest(text string) bool {
	bytes, err := Encoding.DecodeString(text)
	return err == nil && (len(bytes) == 0 || len(bytes) == digestLength)
}

func sortedNames(values map[NameHash]string) []NameHash {
	return sorting.SortedFunc(maps.Keys(values), func(a, b NameHash) int {
		return int(binary.BigEndian.Uint16(a[:])) - int(binary.BigEndian.Uint16(b[:]))
	})
}

// HashName returns the hash of the name of a field.
func HashName(name string) NameHash {
	sum := sha256.Sum256([]byte("field " + name))
	return NameHash(sum[:2])
}

func hashValue(name, value string) string {
	sum := sha256.Sum256([]byte("value " + name + "\n" + value))
	return string(sum[:valueLength])
}

func hashFields(fields map[string]string) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(hash, "%q %q\n", name, fields[name])
	}
	return string(hash.Sum(nil)[:digestLength])
}

// ShortDigest returns the digest of a text of a kind, of a length in bytes before it is encoded.
func ShortDigest(kind, text string, length int) string {
	sum := sha256.Sum256([]byte(kind + "\n" + text))
	return Encoding.EncodeToString(sum[:length])
}

// CheckFieldNames returns an error if two names of fields have the same hash, for tests of providers.
func CheckFieldNames(names []string) error {
	seen := map[NameHash]string{}
	for _, name := range names {
		if other, ok := seen[HashName(name)]; ok && other != name {
			return fmt.Errorf("the fields %s and %s have the same hash", other, name)
		}
		seen[HashName(name)] = name
	}
	return nil
}
