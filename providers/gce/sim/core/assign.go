package core

import "reflect"

// assign copies the struct that from points to.
func assign[T any](to, from T) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }
