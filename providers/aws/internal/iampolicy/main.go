// Command iampolicy prints the IAM policy that the AWS provider needs: every call of package api, and no
// others. Changes are restricted to objects with the cluster's tag if AWS supports it. hack/update-iam.sh
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
