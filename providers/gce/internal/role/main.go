// Command role prints the custom role of the GCE provider's service account in a project: the permissions of every call
// of package api, and no others. With the argument network, it is the role in the host project of a shared VPC.
// hack/update-gce-roles.sh writes both to deploy/gce.
package main

import (
	"fmt"
	"os"
)

func main() {
	network := len(os.Args) > 1 && os.Args[1] == "network"
	if _, err := fmt.Fprint(os.Stdout, Document(network)); err != nil {
		os.Exit(1)
	}
}
