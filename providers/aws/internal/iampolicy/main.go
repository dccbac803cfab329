// Command iampolicy prints the IAM policy that the AWS provider needs: every call of package api, and
// nothing else, changes only of what carries the cluster's tag wherever AWS can tell. hack/update-iam.sh
// writes it to deploy/aws/iam-policy.json.
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
		fmt.Fprintln(os.Stderr, "iampolicy:", err)
		os.Exit(1)
	}
}
