package cli

// Messages returns the messages of the errors that are joined in err.
func Messages(err error) []string {
	var errs []error
	switch joined := err.(type) { //nolint:errorlint // errors.As would skip other joined errors
	case interface{ Errors() []error }:
		errs = joined.Errors()
	case interface{ Unwrap() []error }:
		errs = joined.Unwrap()
	default:
		return []string{err.Error()}
	}
	var all []string
	for _, err := range errs {
		all = append(all, Messages(err)...)
	}
	return all
}
