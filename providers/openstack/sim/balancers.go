package sim

const (
	providerAmphora = "amphora"
	providerOVN     = "ovn"
)
