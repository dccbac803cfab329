package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The metadata service is found below /latest for the instance of Options or the oldest one, and
// below /instances/INSTANCE-ID/latest for any other, because one endpoint stands for the link-local
// addresses of all.
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

func isMetadata(r *http.Request) bool {
	_, _, ok := metadataPath(r.URL.Path)
	return ok
}

func metadataOperation(r *http.Request) string {
	if _, rest, _ := metadataPath(r.URL.Path); rest == metadataToken {
		return "PutToken"
	}
	return "GetMetadata"
}

func (c *Cloud) serveMetadata(w http.ResponseWriter, r *http.Request) {
	id, path, _ := metadataPath(r.URL.Path)
	w.Header().Set("Server", "EC2ws")
	w.Header().Set("Content-Type", "text/plain")
	if path == metadataToken {
		c.issueToken(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		metadataError(w, http.StatusMethodNotAllowed)
		return
	}
	if !c.validToken(r.Header.Get(headerToken)) {
		metadataError(w, http.StatusUnauthorized)
		return
	}
	body, ok := "", false
	c.inspect(func(t *tx) {
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

func (c *Cloud) issueToken(w http.ResponseWriter, r *http.Request) {
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
	_, _ = fmt.Fprintf(w, "%s%x==", tokenPrefix, c.clock.Now().Add(time.Duration(ttl)*time.Second).Unix())
}

func (c *Cloud) validToken(token string) bool {
	hex, ok := strings.CutPrefix(strings.TrimSuffix(token, "=="), tokenPrefix)
	if !ok {
		return false
	}
	ends, err := strconv.ParseInt(hex, 16, 64)
	return err == nil && c.clock.Now().Unix() < ends
}

// self returns the instance that a client runs on.
func (t *tx) self(id string) *instance {
	if id != "" {
		return t.instances[id]
	}
	if i := t.instances[t.selfID]; i != nil {
		return i
	}
	var oldest *instance
	for _, i := range t.instances {
		if i.state != stateTerminated && (oldest == nil || i.order < oldest.order) {
			oldest = i
		}
	}
	return oldest
}

// SetSelf sets the machine that the metadata service belongs to.
func (c *Cloud) SetSelf(nodeName string) error {
	return c.onMachine(nodeName, func(t *tx, i *instance) error { t.selfID = i.id; return nil })
}

// metadata returns the value of a path, or for a folder the list of its members.
func (t *tx) metadata(i *instance, path string) (string, bool) {
	if path == identityPath {
		return t.identity(i), true
	}
	if path == credentialsPath+i.profile {
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
			member, _, deeper := strings.Cut(rest, "/")
			if deeper {
				member += "/"
			}
			members = append(members, member)
		}
	}
	slices.Sort(members)
	return strings.Join(slices.Compact(members), "\n"), len(members) > 0
}

// metadataValues returns the leaves of the tree. Values that an instance does not have are absent.
func (t *tx) metadataValues(i *instance) map[string]string {
	out := map[string]string{
		"ami-id": i.image, "ami-launch-index": "0", "instance-id": i.id, "instance-type": i.kind,
		"instance-life-cycle": "on-demand", "reservation-id": i.reservation, "profile": "default-hvm",
		"placement/availability-zone": i.zone, "placement/availability-zone-id": t.o.zoneID(i.zone),
		"placement/region": t.o.Region,
		"services/domain":  t.o.dnsSuffix(), "services/partition": t.o.partition(), "iam/info": t.profileInfo(i),
		"iam/security-credentials/" + i.profile: "",
	}
	primary := t.primary(i)
	if primary == nil {
		return out
	}
	out["mac"], out["hostname"], out["local-hostname"] = primary.mac, i.dnsName, i.dnsName
	out["local-ipv4"] = primary.primaryIP().String()
	out["security-groups"] = strings.Join(t.groupNames(primary), "\n")
	set := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	set("public-ipv4", addressText(t.publicOf(primary)))
	set("public-hostname", t.publicName(primary))
	if len(primary.ipv6) > 0 {
		out["ipv6"] = primary.ipv6[0].String()
	}
	for _, n := range t.interfacesOf(i) {
		t.interfaceMetadata(n, func(key, value string) { set("network/interfaces/macs/"+n.mac+"/"+key, value) })
	}
	return out
}

func (t *tx) interfaceMetadata(n *networkInterface, set func(key, value string)) {
	s, v := t.subnets[n.subnet], t.vpcs[n.vpc]
	for key, value := range map[string]string{
		"device-number": strconv.Itoa(n.device), "interface-id": n.id, "mac": n.mac, "owner-id": t.o.Account,
		"subnet-id": n.subnet, "vpc-id": n.vpc, "local-hostname": t.privateName(n.primaryIP()),
		"local-ipv4s": strings.Join(texts(n.private), "\n"), "ipv6s": strings.Join(texts(n.ipv6), "\n"),
		"public-ipv4s": addressText(t.publicOf(n)), "public-hostname": t.publicName(n),
		"security-group-ids": strings.Join(n.groups, "\n"), "security-groups": strings.Join(t.groupNames(n), "\n"),
		"subnet-ipv4-cidr-block": s.cidr.String(), "subnet-ipv6-cidr-blocks": prefixText(s.cidr6),
		"vpc-ipv4-cidr-block": v.cidr.String(), "vpc-ipv4-cidr-blocks": v.cidr.String(),
		"vpc-ipv6-cidr-blocks": prefixText(v.cidr6),
		"ipv6-prefix":          prefixTexts(n.prefixes),
	} {
		set(key, value)
	}
}

func (t *tx) groupNames(n *networkInterface) []string {
	var out []string
	for _, g := range t.groupRefs(n.groups).Item {
		out = append(out, g.Name)
	}
	return out
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

func (t *tx) profileInfo(i *instance) string {
	return mustJSON(map[string]string{
		"Code": "Success", "LastUpdated": t.now.UTC().Format(time.RFC3339), "InstanceProfileArn": t.profileARN(i),
		"InstanceProfileId": "AIPA" + strings.ToUpper(i.id[len("i-0"):]),
	})
}

// roleLifetime is how long an instance's credentials are valid; new ones are issued when half of it is over.
const roleLifetime = 6 * time.Hour

// roleCredentials returns the credentials of the role in the instance's profile. They belong to a session of STS.
func (t *tx) roleCredentials(i *instance) string {
	if t.now.After(i.credentials.issued.Add(roleLifetime / 2)) {
		seconds := int32(roleLifetime / time.Second)
		role := fmt.Sprintf("arn:%s:iam::%s:role/%s", t.o.partition(), t.o.Account, i.profile)
		// Nothing in this request can be refused: its parts are made here.
		issued, err := t.issue(role, i.id, &seconds)
		if err != nil {
			panic(err)
		}
		i.credentials = instanceCredentials{t.now, issued.Credentials}
	}
	c := i.credentials
	return mustJSON(map[string]string{
		"Code": "Success", "LastUpdated": c.issued.UTC().Format("2006-01-02T15:04:05Z"), "Type": "AWS-HMAC",
		"AccessKeyId": c.Key, "SecretAccessKey": c.Secret, "Token": c.Token, "Expiration": c.Expires,
	})
}

// instanceCredentials are the last ones that the metadata service issued for an instance.
type instanceCredentials struct {
	issued time.Time
	credentialsView
}

// identity returns the instance identity document.
func (t *tx) identity(i *instance) string {
	ip := ""
	if n := t.primary(i); n != nil {
		ip = n.primaryIP().String()
	}
	return mustJSON(map[string]any{
		"accountId": t.o.Account, "architecture": "x86_64", "availabilityZone": i.zone, "billingProducts": nil,
		"devpayProductCodes": nil, "marketplaceProductCodes": nil, "imageId": i.image, "instanceId": i.id,
		"instanceType": i.kind, "kernelId": nil, "pendingTime": i.launched.UTC().Format("2006-01-02T15:04:05Z"),
		"privateIp": ip, "ramdiskId": nil, "region": t.o.Region, "version": "2017-09-30",
	})
}

// mustJSON writes maps of plain values, which cannot fail.
func mustJSON(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
