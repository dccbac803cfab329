package config

import "io"

// Reader parses, defaults and validates a provider's file into its type of configuration: the three steps
// above. It returns all errors joined, and warnings separately. Nil content means that no file was given;
// file is used in messages only. A provider's descriptor and factory use its methods.
type Reader[C any] func(file string, content []byte) (C, Problems, error)

// Validate is the ValidateConfig of a provider.Descriptor: it returns the warnings as texts, without the
// configuration.
func (r Reader[C]) Validate(file string, content []byte) (warnings []string, err error) {
	_, problems, err := r(file, content)
	return problems.Strings(), err
}

// Show is the ShowConfig of a provider.Descriptor: it writes a valid configuration with WriteEffective, and
// returns the error of an invalid one.
func (r Reader[C]) Show(w io.Writer, file string, content []byte) error {
	cfg, _, err := r(file, content)
	if err != nil {
		return err
	}
	return WriteEffective(w, cfg)
}

// Load reads the configuration that the registry passes to a provider's factory, nil if no file was given. It
// also returns the name of the file, "" without one. It drops warnings, because Validate has already reported
// them.
func (r Reader[C]) Load(in io.Reader) (cfg C, file string, err error) {
	file, content, err := Read(in)
	if err != nil {
		return cfg, file, err
	}
	cfg, _, err = r(file, content)
	return cfg, file, err
}
