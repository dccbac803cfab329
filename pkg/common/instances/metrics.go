package instances

func (i *Instances) observeCache(bool) {}
func observeBatch(string, string, int) {}
