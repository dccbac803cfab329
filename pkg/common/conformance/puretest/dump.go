package puretest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// project is the prefix of the packages whose state is dumped.
const project = "github.com/unified-ccm/unified-ccm/"

// dataPackages are parts of the paths of other packages whose types are only data.
var dataPackages = []string{"net/netip", "time", "/types", "k8s.io/api/", "k8s.io/apimachinery/", "gophercloud/"}

// machinery are parts of the paths of packages whose state changes with the calls of others: simulators, transports
// and metrics.
var machinery = []string{"/sim", "/client", "/metrics", "/tracing", "/simtest"}

// dump returns the state that can be reached from a value, one line for each scalar, unexported fields included. It
// omits functions, channels, and types of packages that are no data.
func dump(value any) []string {
	d := dumper{seen: map[unsafe.Pointer]bool{}}
	root := reflect.New(reflect.TypeOf(value)).Elem()
	root.Set(reflect.ValueOf(value))
	d.walk(root.Type().String(), root)
	return d.lines
}

type dumper struct {
	lines []string
	seen  map[unsafe.Pointer]bool
}

func (d *dumper) add(path string, value any) {
	d.lines = append(d.lines, fmt.Sprintf("%s = %v", path, value))
}

// walk dumps an addressable value.
func (d *dumper) walk(path string, v reflect.Value) {
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // makes unexported fields readable
	if m, ok := v.Addr().Interface().(*sync.Map); ok {
		d.syncMap(path, m)
		return
	}
	if !followed(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	case reflect.Pointer:
		switch {
		case v.IsNil():
			d.add(path, nil)
		case !d.seen[v.UnsafePointer()]:
			d.seen[v.UnsafePointer()] = true
			d.walk(path, v.Elem())
		}
	case reflect.Interface:
		if v.IsNil() {
			d.add(path, nil)
			return
		}
		d.walk(path+"("+v.Elem().Type().String()+")", addressable(v.Elem()))
	case reflect.Struct:
		for i := range v.NumField() {
			d.walk(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		d.add(path+".len", v.Len())
		for i := range v.Len() {
			d.walk(fmt.Sprintf("%s[%d]", path, i), addressable(v.Index(i)))
		}
	case reflect.Map:
		d.entries(path, v)
	default:
		d.add(path, v.Interface())
	}
}

// entries dumps a map in the order of its keys.
func (d *dumper) entries(path string, v reflect.Value) {
	d.add(path+".len", v.Len())
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, key := range keys {
		d.walk(fmt.Sprintf("%s[%v]", path, key), addressable(v.MapIndex(key)))
	}
}

func (d *dumper) syncMap(path string, m *sync.Map) {
	entries := map[string]any{}
	m.Range(func(key, value any) bool {
		entries[fmt.Sprint(key)] = value
		return true
	})
	d.walk(path, reflect.ValueOf(&entries).Elem())
}

// addressable returns a copy of a value that can be addressed.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// followed reports whether the state of a type is dumped.
func followed(t reflect.Type) bool {
	path := t.PkgPath()
	contains := func(part string) bool { return strings.Contains(path, part) }
	switch {
	case path == "":
		return true // without a name, or predeclared
	case strings.HasPrefix(path, project):
		return !slices.ContainsFunc(machinery, contains)
	default:
		return t.Kind() != reflect.Struct && t.Kind() != reflect.Pointer || slices.ContainsFunc(dataPackages, contains)
	}
}
