package config

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// redacted replaces every secret in output.
const redacted = "REDACTED"

// Secret is a value that is never printed: every way of formatting or marshalling it yields
// REDACTED. Only a conversion to string or Reveal yields the value.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer. An unset secret stays visible as such.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// Format implements fmt.Formatter, so that every verb (%x, %d, %q) uses String.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || f.Flag('#') {
		text = s.GoString()
	}
	_, _ = io.WriteString(f, text)
}

// MarshalText implements encoding.TextMarshaler, which JSON and YAML encoders use too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(s.GoString()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// Duration is a length of time, written as 30s, 5m or 1h30m; a bare number means seconds.
type Duration struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler. It rejects negative durations.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	parsed, err := time.ParseDuration(s)
	if err != nil {
		parsed, err = time.ParseDuration(s + "s")
	}
	if err != nil {
		return fmt.Errorf("must be a duration such as 30s or 5m (a bare number means seconds), not %q", s)
	}
	if parsed < 0 {
		return fmt.Errorf("must not be negative, but is %q", s)
	}
	d.Duration = parsed
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
