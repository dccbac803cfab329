// Package imds simulates the instance metadata service.
package imds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/sts"
)

// State of the service.
type State struct {
	// SelfID is the instance that the service belongs to; empty for the oldest one.
	SelfID      string
	credentials map[string]instanceCredentials
}

// NewState returns the state without credentials.
func NewState() *State { return &State{credentials: map[string]instanceCredentials{}} }

// Tx is one operation on the state.
type Tx struct {
	*ec2.Tx
	*State
	STS *sts.Tx
}

// Service serves the metadata of all instances.
type Service struct {
	Now     func() time.Time
	Inspect func(read func(*Tx))
}

// The paths of the metadata: /latest for State.SelfID or the oldest instance, /instances/INSTANCE-ID/latest for any
// other, because one endpoint stands for the link-local addresses of all instances.
const (
	metadataRoot   = "/latest/"
	metadataTree   = "/latest/meta-data/"
	metadataToken  = "/latest/api/token"
	identityPath   = "/latest/dynamic/instance-identity/document"
	instancePrefix = "/instances/"
	// credentialsPath is followed by the name of the instance's role.
	credentialsPath = metadataTree + "iam/security-credentials/"
)

const (
	headerToken    = "X-Aws-Ec2-Metadata-Token"
	headerTokenTTL = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	maxTokenTTL    = 21600
)

// metadataPath splits a path into the instance, if it names one, and the rest.
func metadataPath(path string) (instance, rest string, ok bool) {
	rest = path
	if tail, found := strings.CutPrefix(path, instancePrefix); found {
		instance, rest, _ = strings.Cut(tail, "/")
		rest = "/" + rest
	}
	return instance, rest, strings.HasPrefix(rest, metadataRoot)
}

// IsRequest reports whether a request is for the metadata service.
func IsRequest(r *http.Request) bool {
	_, _, ok := metadataPath(r.URL.Path)
	return ok
}

// Operation returns the name of the operation of a request.
func Operation(r *http.Request) string {
	if _, rest, _ := metadataPath(r.URL.Path); rest == metadataToken {
		return "PutToken"
	}
	return "GetMetadata"
}

func (s Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, path, _ := metadataPath(r.URL.Path)
	w.Header().Set("Server", "EC2ws")
	w.Header().Set("Content-Type", "text/plain")
	if path == metadataToken {
		s.issueToken(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		metadataError(w, http.StatusMethodNotAllowed)
		return
	}
	if !s.validToken(r.Header.Get(headerToken)) {
		metadataError(w, http.StatusUnauthorized)
		return
	}
	body, ok := "", false
	s.Inspect(func(t *Tx) {
		if i := t.self(id); i != nil {
			body, ok = t.metadata(i, path)
		}
	})
	if !ok {
		metadataError(w, http.StatusNotFound)
		return
	}
	// This fails only if the client has disconnected.
	_, _ = w.Write([]byte(body))
}

func metadataError(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="iso-8859-1"?>`+"\n<html><head><title>%[1]d - "+
		"%[2]s</title></head><body><h1>%[1]d - %[2]s</h1></body></html>\n",
		status, http.StatusText(status))
}

// Tokens contain their expiry, so that no state is needed.
const tokenPrefix = "AQAEA"

func (s Service) issueToken(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		metadataError(w, http.StatusMethodNotAllowed)
		return
	}
	ttl, err := strconv.Atoi(r.Header.Get(headerTokenTTL))
	if err != nil || ttl < 1 || ttl > maxTokenTTL {
		metadataError(w, http.StatusBadRequest)
		return
	}
	if r.Header.Get("X-Forwarded-For") != "" {
		metadataError(w, http.StatusForbidden)
		return
	}
	w.Header().Set(headerTokenTTL, strconv.Itoa(ttl))
	_, _ = fmt.Fprintf(w, "%s%x==", tokenPrefix, s.Now().Add(time.Duration(ttl)*time.Second).Unix())
}

func (s Service) validToken(token string) bool {
	hex, ok := strings.CutPrefix(strings.TrimSuffix(token, "=="), tokenPrefix)
	if !ok {
		return false
	}
	expires, err := strconv.ParseInt(hex, 16, 64)
	return err == nil && s.Now().Unix() < expires
}

// self returns the instance that a client runs on.
func (t *Tx) self(id string) *ec2.Instance {
	if id != "" {
		return t.Instances[id]
	}
	if i := t.Instances[t.SelfID]; i != nil {
		return i
	}
	var oldest *ec2.Instance
	for _, i := range t.Instances {
		if i.State != ec2.StateTerminated && (oldest == nil || i.Order < oldest.Order) {
			oldest = i
		}
	}
	return oldest
}

// metadata returns the value of a path, or for a folder the list of its members.
func (t *Tx) metadata(i *ec2.Instance, path string) (string, bool) {
	if path == identityPath {
		return t.identity(i), true
	}
	if path == credentialsPath+i.Profile {
		return t.roleCredentials(i), true
	}
	key, ok := strings.CutPrefix(path+"/", metadataTree)
	if !ok {
		return "", false
	}
	values := t.metadataValues(i)
	key = strings.TrimSuffix(strings.TrimSuffix(key, "/"), "/")
	if v, ok := values[key]; ok {
		return v, true
	}
	folder := key + "/"
	if key == "" {
		folder = ""
	}
	var members []string
	for name := range values {
		if rest, ok := strings.CutPrefix(name, folder); ok {
			member, _, isFolder := strings.Cut(rest, "/")
			if isFolder {
				member += "/"
			}
			members = append(members, member)
		}
	}
	slices.Sort(members)
	return strings.Join(slices.Compact(members), "\n"), len(members) > 0
}

// metadataValues returns the leaves of the tree. Values that an instance does not have are absent.
func (t *Tx) metadataValues(i *ec2.Instance) map[string]string {
	out := map[string]string{
		"ami-id": i.Image, "ami-launch-index": "0", "instance-id": i.ID, "instance-type": i.Kind,
		"instance-life-cycle": "on-demand", "reservation-id": i.Reservation, "profile": "default-hvm",
		"placement/availability-zone": i.Zone, "placement/availability-zone-id": t.Options.ZoneID(i.Zone),
		"placement/region": t.Options.Region,
		"services/domain":  t.Options.DNSSuffix(), "services/partition": t.Options.Partition(), "iam/info": t.profileInfo(i),
		"iam/security-credentials/" + i.Profile: "",
	}
	primary := t.Primary(i)
	if primary == nil {
		return out
	}
	out["mac"], out["hostname"], out["local-hostname"] = primary.MAC, i.DNSName, i.DNSName
	out["local-ipv4"] = primary.PrimaryIP().String()
	out["security-groups"] = strings.Join(t.GroupNames(primary), "\n")
	set := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	set("public-ipv4", ec2.AddressText(t.PublicOf(primary)))
	set("public-hostname", t.PublicName(primary))
	if len(primary.IPv6) > 0 {
		out["ipv6"] = primary.IPv6[0].String()
	}
	for _, n := range t.InterfacesOf(i) {
		t.interfaceMetadata(n, func(key, value string) { set("network/interfaces/macs/"+n.MAC+"/"+key, value) })
	}
	return out
}

func (t *Tx) interfaceMetadata(n *ec2.NetworkInterface, set func(key, value string)) {
	s, v := t.Subnets[n.Subnet], t.VPCs[n.VPC]
	for key, value := range map[string]string{
		"device-number": strconv.Itoa(n.Device), "interface-id": n.ID, "mac": n.MAC, "owner-id": t.Options.Account,
		"subnet-id": n.Subnet, "vpc-id": n.VPC, "local-hostname": t.PrivateName(n.PrimaryIP()),
		"local-ipv4s": strings.Join(ec2.Texts(n.Private), "\n"), "ipv6s": strings.Join(ec2.Texts(n.IPv6), "\n"),
		"public-ipv4s": ec2.AddressText(t.PublicOf(n)), "public-hostname": t.PublicName(n),
		"security-group-ids": strings.Join(n.Groups, "\n"), "security-groups": strings.Join(t.GroupNames(n), "\n"),
		"subnet-ipv4-cidr-block": s.CIDR.String(), "subnet-ipv6-cidr-blocks": prefixText(s.CIDR6),
		"vpc-ipv4-cidr-block": v.CIDR.String(), "vpc-ipv4-cidr-blocks": v.CIDR.String(),
		"vpc-ipv6-cidr-blocks": prefixText(v.CIDR6), "ipv6-prefix": prefixTexts(n.Prefixes),
	} {
		set(key, value)
	}
}

func prefixText(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

func prefixTexts(list []netip.Prefix) string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

func (t *Tx) profileInfo(i *ec2.Instance) string {
	return mustJSON(map[string]string{
		"Code": "Success", "LastUpdated": t.Now.UTC().Format(time.RFC3339), "InstanceProfileArn": t.ProfileARN(i),
		"InstanceProfileId": i.ProfileID(),
	})
}

// roleLifetime is how long an instance's credentials are valid; new ones are issued when half of it is over.
const roleLifetime = 6 * time.Hour

// roleCredentials returns the credentials of the role in the instance's profile. They belong to a session of STS.
func (t *Tx) roleCredentials(i *ec2.Instance) string {
	c := t.credentials[i.ID]
	if t.Now.After(c.issued.Add(roleLifetime / 2)) {
		seconds := int32(roleLifetime / time.Second)
		role := fmt.Sprintf("arn:%s:iam::%s:role/%s", t.Options.Partition(), t.Options.Account, i.Profile)
		// STS cannot reject this request: its parts are valid.
		issued, err := t.STS.Issue(role, i.ID, &seconds)
		if err != nil {
			panic(err)
		}
		c = instanceCredentials{t.Now, issued.Credentials}
		t.credentials[i.ID] = c
	}
	return mustJSON(map[string]string{
		"Code": "Success", "LastUpdated": c.issued.UTC().Format("2006-01-02T15:04:05Z"), "Type": "AWS-HMAC",
		"AccessKeyId": c.Key, "SecretAccessKey": c.Secret, "Token": c.Token, "Expiration": c.Expires,
	})
}

// instanceCredentials are the last ones that the metadata service issued for an instance.
type instanceCredentials struct {
	issued time.Time
	sts.CredentialsView
}

// identity returns the instance identity document.
func (t *Tx) identity(i *ec2.Instance) string {
	ip := ""
	if n := t.Primary(i); n != nil {
		ip = n.PrimaryIP().String()
	}
	return mustJSON(map[string]any{
		"accountId": t.Options.Account, "architecture": "x86_64", "availabilityZone": i.Zone, "billingProducts": nil,
		"devpayProductCodes": nil, "marketplaceProductCodes": nil, "imageId": i.Image, "instanceId": i.ID,
		"instanceType": i.Kind, "kernelId": nil, "pendingTime": i.Launched.UTC().Format("2006-01-02T15:04:05Z"),
		"privateIp": ip, "ramdiskId": nil, "region": t.Options.Region, "version": "2017-09-30",
	})
}

// mustJSON encodes maps of plain values, which cannot fail.
func mustJSON(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
