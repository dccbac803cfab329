// Package sts simulates STS.
package sts

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// State has the sessions by access key.
type State struct{ Sessions map[string]Session }

// NewState returns the state without sessions.
func NewState() *State { return &State{map[string]Session{}} }

// Tx is one operation on the state.
type Tx struct {
	*core.Tx
	*State
}

// Session is a session with credentials from STS.
type Session struct {
	arn, userID string
	Secret      string
	Expires     time.Time
}

// Operations returns the operations of STS.
func Operations() []core.Operation[*Tx] {
	// A session does not count as a change of the cloud.
	web := core.Read("AssumeRoleWithWebIdentity", (*Tx).assumeWithWebIdentity)
	web.Open = true
	return []core.Operation[*Tx]{
		core.Read("GetCallerIdentity", (*Tx).callerIdentity),
		core.Read("AssumeRole", (*Tx).assumeRole),
		web,
	}
}

// userName is the IAM user of access keys without a session.
const userName = "sim"

// CallerARN returns the ARN of the signer of a call.
func (t *Tx) CallerARN() string {
	if s, ok := t.Sessions[t.Call.Credential.AccessKey]; ok {
		return s.arn
	}
	return fmt.Sprintf("arn:%s:iam::%s:user/%s", t.Options.Partition(), t.Options.Account, userName)
}

func (t *Tx) callerIdentity(core.Nothing) (out struct {
	ARN     string `xml:"Arn"`
	UserID  string `xml:"UserId"`
	Account string `xml:"Account"`
}, err error) {
	out.Account, out.ARN, out.UserID = t.Options.Account, t.CallerARN(), "AIDASIMULATEDUSER0000"
	if s, ok := t.Sessions[t.Call.Credential.AccessKey]; ok {
		out.UserID = s.userID
	}
	return out, nil
}

// CredentialsView is the credentials of a session.
type CredentialsView struct {
	Key     string `xml:"AccessKeyId"`
	Secret  string `xml:"SecretAccessKey"`
	Token   string `xml:"SessionToken"`
	Expires string `xml:"Expiration"`
}

type assumedView struct {
	ID  string `xml:"AssumedRoleId"`
	ARN string `xml:"Arn"`
}

// AssumeOutput is the response with credentials for a session.
type AssumeOutput struct {
	User        assumedView     `xml:"AssumedRoleUser"`
	Credentials CredentialsView `xml:"Credentials"`
}

// roleARN matches the ARN of a role with its path.
var roleARN = regexp.MustCompile(`^arn:(aws[a-z-]*):iam::(\d{12}):role/(?:.*/)?([\w+=,.@-]+)$`)

// defaultSession is the duration of a session without a requested one.
const defaultSession = time.Hour

// Issue issues credentials for a session of a role; every role exists and trusts all callers.
func (t *Tx) Issue(role, name string, seconds *int32) (out AssumeOutput, err error) {
	parts := roleARN.FindStringSubmatch(role)
	if parts == nil {
		return out, core.Validation("%s is invalid", role)
	}
	duration := defaultSession
	if seconds != nil {
		duration = time.Duration(*seconds) * time.Second
	}
	key := fmt.Sprintf("ASIA%016X", t.Random.Uint64())
	roleID := strings.ToUpper(t.NewID("AROA")[len("AROA-"):])
	s := Session{
		arn:     fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/%s", parts[1], parts[2], parts[3], name),
		userID:  "AROA" + roleID + ":" + name,
		Secret:  fmt.Sprintf("%040x", t.Random.Uint64()),
		Expires: t.Now.Add(duration),
	}
	t.Sessions[key] = s
	out.User = assumedView{s.userID, s.arn}
	out.Credentials = CredentialsView{
		Key: key, Secret: s.Secret, Token: fmt.Sprintf("IQoJb3JpZ2lu%x", t.Random.Uint64()),
		Expires: s.Expires.UTC().Format("2006-01-02T15:04:05Z"),
	}
	return out, nil
}

func (t *Tx) assumeRole(in struct {
	RoleArn         string
	RoleSessionName string
	DurationSeconds *int32
}) (AssumeOutput, error) {
	return t.Issue(in.RoleArn, in.RoleSessionName, in.DurationSeconds)
}

type webIdentityOutput struct {
	AssumeOutput
	Subject  string `xml:"SubjectFromWebIdentityToken"`
	Audience string `xml:"Audience"`
	Provider string `xml:"Provider"`
}

// assumeWithWebIdentity accepts every token with the three parts of a JWT; it checks no signature.
func (t *Tx) assumeWithWebIdentity(in struct {
	RoleArn          string
	RoleSessionName  string
	WebIdentityToken string
	DurationSeconds  *int32
}) (out webIdentityOutput, err error) {
	if strings.Count(in.WebIdentityToken, ".") != 2 {
		return out, core.Refuse("InvalidIdentityToken",
			"The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	out.AssumeOutput, err = t.Issue(in.RoleArn, in.RoleSessionName, in.DurationSeconds)
	out.Subject, out.Audience, out.Provider = "system:serviceaccount:kube-system:cloud-controller-manager",
		"sts.amazonaws.com", t.ARN("iam", "oidc-provider/simulated")
	return out, err
}
