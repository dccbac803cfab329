package config

// Quota is the section [Quota]; 0 leaves the cloud's own limit.
type Quota struct {
	LoadBalancers int `gcfg:"load-balancers"`
	Addresses     int `gcfg:"addresses"`
	Instances     int `gcfg:"instances"`
	Routes        int `gcfg:"routes"`
}

// namedQuota is a limit with its name in the file and in the API.
type namedQuota struct {
	name  string
	limit int
}

func (q Quota) list() []namedQuota {
	return []namedQuota{
		{"load-balancers", q.LoadBalancers}, {"addresses", q.Addresses}, {"instances", q.Instances}, {"routes", q.Routes},
	}
}
