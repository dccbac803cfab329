// Command iampolicy prints an IAM policy that the AWS provider needs, by the name of its file in deploy/aws.
// Together, the policies have every call of package api, and no others. Changes are restricted to objects with the
// cluster's tag if AWS supports it. hack/update-iam.sh writes the files.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	document, err := Document(strings.Join(os.Args[1:], " "))
	if err == nil {
		_, err = os.Stdout.Write(document)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "iampolicy:", err)
		os.Exit(1)
	}
}
