package sim

import (
	"encoding/json"
	"fmt"
)

// Dump adds all objects of a kind to a dump of a simulator: each as JSON, by its kind and key. Tests compare dumps to
// find every object that has changed.
func Dump[T any](dump map[string]string, kind string, objects map[string]T) {
	for key, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			panic(fmt.Errorf("sim: dumping %s %s: %w", kind, key, err))
		}
		dump[kind+" "+key] = string(text)
	}
}
