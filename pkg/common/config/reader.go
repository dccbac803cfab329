package config

import "io"

// Reader parses, defaults and validates a provider's file into its type of configuration: the three
// steps above. It returns all errors joined, and warnings apart from them. Nil content means that no
// file was given; file stands in messages only. Its methods are what a provider's descriptor and
// factory need of it.
type Reader[C any] func(file string, content []byte) (C, Problems, error)

// Validate is a provider.Descriptor's ValidateConfig: the warnings as texts, without the configuration.
func (r Reader[C]) Validate(file string, content []byte) (warnings []string, err error) {
	_, problems, err := r(file, content)
	return problems.Strings(), err
}

// Show is a provider.Descriptor's ShowConfig: Effective of a valid configuration, nothing of any other.
func (r Reader[C]) Show(w io.Writer, file string, content []byte) error {
	cfg, _, err := r(file, content)
	if err != nil {
		return err
	}
	return Effective(w, cfg)
}

// From reads what the registry hands to a provider's factory, nil where no file was given. It returns
// the name of the file too, "" without one. It drops warnings, because Validate has reported them by then.
func (r Reader[C]) From(in io.Reader) (cfg C, file string, err error) {
	file, content, err := Read(in)
	if err != nil {
		return cfg, file, err
	}
	cfg, _, err = r(file, content)
	return cfg, file, err
}
