package config

import (
	"bytes"
	"errors"
	"io"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// Convert writes a file in the INI form as YAML, with its secrets. Both forms have the same meaning, except that YAML
// needs the server of each vCenter.
func Convert(w io.Writer, file string, content []byte) error {
	var f File
	if err := common.DecodeINIOrYAML(file, content, &f).Err(); err != nil {
		return err
	}
	if !common.IsINI(content) {
		return errors.New("the file is in the YAML form already")
	}
	for name, v := range f.VirtualCenter {
		if v.Server == "" {
			v.Server = name
		}
	}
	out, err := common.YAML(f)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, bytes.NewReader(out))
	return err
}
