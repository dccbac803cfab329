package query

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type filter struct {
	Name  string
	Value []string
}

type request struct {
	Filter     []filter
	MaxResults *int32
	DryRun     bool
	Listeners  []struct{ Port int32 }
	ID         []string `q:"InstanceId"`
	Check      *struct{ Value bool }
}

func TestDecode(t *testing.T) {
	ten := int32(10)
	for _, tc := range []struct {
		name, form string
		want       request
		unknown    []string
		bad        string
	}{
		{name: "nothing", form: ""},
		{name: "flat members in the order of their numbers", form: "InstanceId.10=c&InstanceId.2=b&InstanceId.1=a", want: request{ID: []string{"a", "b", "c"}}},
		{name: "nested members", form: "Filter.1.Name=x&Filter.1.Value.1=a&Filter.1.Value.2=b",
			want: request{Filter: []filter{{Name: "x", Value: []string{"a", "b"}}}}},
		{name: "member lists", form: "Listeners.member.1.Port=80&Listeners.member.2.Port=443",
			want: request{Listeners: []struct{ Port int32 }{{80}, {443}}}},
		{name: "empty list", form: "InstanceId=", want: request{ID: []string{}}},
		{name: "optional values", form: "MaxResults=10&Check.Value=false&DryRun=True",
			want: request{MaxResults: &ten, Check: &struct{ Value bool }{}, DryRun: true}},
		{name: "unknown parameters", form: "Fitler.1.Name=x&DryRun=false&Filter.1.Nome=y",
			want: request{Filter: []filter{{}}}, unknown: []string{"Filter.1.Nome", "Fitler.1.Name"}},
		{name: "numbers that are no member", form: "InstanceId.0=a&InstanceId.01=b&InstanceId.99999999=c",
			want: request{ID: []string{}}, unknown: []string{"InstanceId.0", "InstanceId.01", "InstanceId.99999999"}},
		{name: "not a number", form: "MaxResults=ten", bad: "MaxResults"},
		{name: "too large a number", form: "MaxResults=4294967296", bad: "MaxResults"},
		{name: "not a boolean", form: "Check.Value=maybe", bad: "Check.Value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			values, err := url.ParseQuery(tc.form)
			if err != nil {
				t.Fatal(err)
			}
			var got request
			unknown, err := Decode(values, &got)
			var invalid *ValueError
			if tc.bad != "" {
				if !errors.As(err, &invalid) || invalid.Parameter != tc.bad {
					t.Fatalf("error %v, want one of parameter %s", err, tc.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.unknown, unknown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("Filter.1.Name=x&Filter.1.Value.1=a&MaxResults=5")
	f.Add("Listeners.member.1.Port=80&Check.Value=true")
	f.Fuzz(func(t *testing.T, form string) {
		values, err := url.ParseQuery(form)
		if err != nil {
			t.Skip()
		}
		var r request
		if unknown, err := Decode(values, &r); err == nil && len(unknown) > len(values) {
			t.Errorf("%d of %d parameters are unknown", len(unknown), len(values))
		}
	})
}

func TestResponses(t *testing.T) {
	type tag struct {
		Key string `xml:"key"`
	}
	type body struct {
		Tags Items[tag] `xml:"tagSet"`
	}
	for _, tc := range []struct {
		name string
		body any
		want string
	}{
		{"empty lists have an element", body{}, "<tagSet></tagSet>"},
		{"text is escaped", body{Tags: ItemsOf([]tag{{"a<&"}})}, "<tagSet><item><key>a&lt;&amp;</key></item></tagSet>"},
		{"no body", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := EC2Response("Op", "http://ns/", "id", tc.body)
			want := header + `<OpResponse xmlns="http://ns/"><requestId>id</requestId>` + tc.want + "</OpResponse>"
			if string(got) != want || err != nil {
				t.Errorf("got %s (%v), want %s", got, err, want)
			}
		})
	}
}

func TestCredentialOf(t *testing.T) {
	const scope = "AKIA/20260102/us-west-2/ec2/aws4_request"
	for _, tc := range []struct {
		name, header, target string
		want                 Credential
		malformed, ok        bool
	}{
		{name: "unsigned", target: "/"},
		{name: "header", target: "/", header: "AWS4-HMAC-SHA256 Credential=" + scope + ", SignedHeaders=host, Signature=x",
			want: Credential{"AKIA", "us-west-2", "ec2"}, ok: true},
		{name: "presigned", target: "/?X-Amz-Credential=" + url.QueryEscape(scope), want: Credential{"AKIA", "us-west-2", "ec2"}, ok: true},
		{name: "another scheme", target: "/", header: "Bearer x", malformed: true},
		{name: "no scope", target: "/", header: "AWS4-HMAC-SHA256 Credential=AKIA", malformed: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, tc.target, nil)
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			got, malformed, ok := CredentialOf(r)
			if got != tc.want || malformed != tc.malformed || ok != tc.ok {
				t.Errorf("got %+v %v %v", got, malformed, ok)
			}
		})
	}
}

func FuzzSignature(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=A/20260102/r/ec2/aws4_request, SignedHeaders=host;x-amz-date, Signature=0",
		"20260102T000000Z", "/?a=b")
	f.Add("", "", "/?X-Amz-Credential=A%2F20260102%2Fr%2Fec2%2Faws4_request&X-Amz-Date=20260102T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=0")
	f.Fuzz(func(t *testing.T, header, date, target string) {
		u, err := url.Parse(target)
		if err != nil {
			t.Skip()
		}
		r := &http.Request{Method: http.MethodPost, URL: u, Host: "h",
			Header: http.Header{"Authorization": {header}, "X-Amz-Date": {date}}}
		if s, ok := SignatureOf(r); ok {
			if verified, err := s.VerifiedBy(r, "secret"); verified || err != nil {
				t.Errorf("an invalid signature was verified (%v)", err)
			}
		}
	})
}
