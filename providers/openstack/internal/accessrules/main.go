// Command accessrules prints the access rules of an application credential for the OpenStack provider: every call of
// package api, and no others. hack/update-access-rules.sh writes them to deploy/openstack/access-rules.json.
package main

import (
	"fmt"
	"os"
)

func main() {
	document, err := Document()
	if err == nil {
		_, err = os.Stdout.Write(document)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "accessrules:", err)
		os.Exit(1)
	}
}
