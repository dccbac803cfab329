package main

import (
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/cloud-provider/app"
	_ "k8s.io/component-base/cli"
)

func main() {}
