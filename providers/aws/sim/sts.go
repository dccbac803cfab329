package sim

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// session is what STS issued credentials for.
type session struct {
	arn, userID string
	secret      string
	expires     time.Time
}

func stsOperations() []operation {
	// A session is nothing that a cluster's owner would call a change.
	web := read("AssumeRoleWithWebIdentity", (*tx).assumeWithWebIdentity)
	web.open = true
	return []operation{
		read("GetCallerIdentity", (*tx).callerIdentity),
		read("AssumeRole", (*tx).assumeRole),
		web,
	}
}

// userName is the IAM user with keys that are valid without STS.
const userName = "sim"

// callerARN returns who signs a call.
func (t *tx) callerARN() string {
	if s, ok := t.sessions[t.call.credential.AccessKey]; ok {
		return s.arn
	}
	return fmt.Sprintf("arn:%s:iam::%s:user/%s", t.o.partition(), t.o.Account, userName)
}

func (t *tx) callerIdentity(nothing) (out struct {
	ARN     string `xml:"Arn"`
	UserID  string `xml:"UserId"`
	Account string `xml:"Account"`
}, err error) {
	out.Account = t.o.Account
	out.ARN = t.callerARN()
	if s, ok := t.sessions[t.call.credential.AccessKey]; ok {
		out.UserID = s.userID
		return out, nil
	}
	out.UserID = "AIDASIMULATEDUSER00000"[:21]
	return out, nil
}

type credentialsView struct {
	Key     string `xml:"AccessKeyId"`
	Secret  string `xml:"SecretAccessKey"`
	Token   string `xml:"SessionToken"`
	Expires string `xml:"Expiration"`
}

type assumedView struct {
	ID  string `xml:"AssumedRoleId"`
	ARN string `xml:"Arn"`
}

type assumeOutput struct {
	User        assumedView     `xml:"AssumedRoleUser"`
	Credentials credentialsView `xml:"Credentials"`
}

// roleARN names a role with its path; roleSession is what a session may be called.
var (
	roleARN     = regexp.MustCompile(`^arn:(aws[a-z-]*):iam::(\d{12}):role/(?:.*/)?([\w+=,.@-]+)$`)
	roleSession = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)
)

// Bounds of a session's duration, and its default.
const (
	minSession     = 15 * time.Minute
	maxSession     = 12 * time.Hour
	defaultSession = time.Hour
)

// issue makes credentials for a session of a role; every role exists and trusts everyone.
func (t *tx) issue(role, name string, seconds *int32) (out assumeOutput, err error) {
	parts := roleARN.FindStringSubmatch(role)
	if parts == nil {
		return out, validation("%s is invalid", role)
	}
	if !roleSession.MatchString(name) {
		return out, validation("1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: "+
			"Member must satisfy regular expression pattern: [\\w+=,.@-]*", name)
	}
	lasts := defaultSession
	if seconds != nil {
		lasts = time.Duration(*seconds) * time.Second
	}
	if lasts < minSession {
		return out, validation("1 validation error detected: Value '%d' at 'durationSeconds' failed to satisfy constraint: "+
			"Member must have value greater than or equal to 900", *seconds)
	}
	if lasts > maxSession {
		return out, validation("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	key := fmt.Sprintf("ASIA%016X", t.cloud.random.Uint64())
	roleID := strings.ToUpper(t.newID("AROA")[len("AROA-"):])
	s := session{
		arn:     fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/%s", parts[1], parts[2], parts[3], name),
		userID:  "AROA" + roleID + ":" + name,
		secret:  fmt.Sprintf("%040x", t.cloud.random.Uint64()),
		expires: t.now.Add(lasts),
	}
	t.sessions[key] = s
	out.User = assumedView{s.userID, s.arn}
	out.Credentials = credentialsView{
		Key: key, Secret: s.secret, Token: fmt.Sprintf("IQoJb3JpZ2lu%x", t.cloud.random.Uint64()),
		Expires: s.expires.UTC().Format("2006-01-02T15:04:05Z"),
	}
	return out, nil
}

func (t *tx) assumeRole(in struct {
	RoleArn         string
	RoleSessionName string
	DurationSeconds *int32
}) (assumeOutput, error) {
	return t.issue(in.RoleArn, in.RoleSessionName, in.DurationSeconds)
}

type webIdentityOutput struct {
	assumeOutput
	Subject  string `xml:"SubjectFromWebIdentityToken"`
	Audience string `xml:"Audience"`
	Provider string `xml:"Provider"`
}

// assumeWithWebIdentity accepts every token with the three parts of a JWT; it checks no signature.
func (t *tx) assumeWithWebIdentity(in struct {
	RoleArn          string
	RoleSessionName  string
	WebIdentityToken string
	DurationSeconds  *int32
}) (out webIdentityOutput, err error) {
	if strings.Count(in.WebIdentityToken, ".") != 2 {
		return out, refuse("InvalidIdentityToken",
			"The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	out.assumeOutput, err = t.issue(in.RoleArn, in.RoleSessionName, in.DurationSeconds)
	out.Subject, out.Audience, out.Provider = "system:serviceaccount:kube-system:cloud-controller-manager",
		"sts.amazonaws.com", t.arn("iam", "oidc-provider/simulated")
	return out, err
}
