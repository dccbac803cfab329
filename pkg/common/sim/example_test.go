package sim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// volumes is a whole simulated cloud: its state, and a handler that does what requests ask.
type volumes struct {
	mu   sync.Mutex
	list []string
}

func (v *volumes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.Method == http.MethodPost {
		v.list = append(v.list, r.FormValue("name"))
		w.WriteHeader(http.StatusCreated)
	}
	_ = json.NewEncoder(w).Encode(v.list)
}

func describe(r *http.Request) sim.Operation {
	if r.Method == http.MethodPost {
		return sim.Operation{Service: "block", Name: "CreateVolume", Mutating: true}
	}
	return sim.Operation{Service: "block", Name: "ListVolumes"}
}

// A client creates a volume, and the reply is lost. The list shows that it was created
// all the same: a client that simply created it again would have two.
func Example() {
	front := sim.NewFront(sim.FrontOptions{Handler: &volumes{}, Describe: describe})
	client := &http.Client{Transport: front.Transport()}

	front.SetFaults(sim.Fault{Kind: sim.FaultLostReply, Operation: "CreateVolume"})
	_, err := client.Post("http://cloud/volumes?name=data", "", nil)
	fmt.Println(err)

	resp, err := client.Get("http://cloud/volumes")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s %s", resp.Status, body)

	for _, call := range front.Log().Calls() {
		fmt.Println(call.Seq, call.Service, call.Name, call.Status, call.Fault)
	}
	// Output:
	// Post "http://cloud/volumes?name=data": sim: connection broken: read tcp: read: connection reset by peer
	// 200 OK ["data"]
	// 1 block CreateVolume 0 lost-reply
	// 2 block ListVolumes 200
}
