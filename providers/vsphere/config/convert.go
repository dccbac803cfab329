package config

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// Convert writes a file in the INI form as YAML, with its secrets. Both forms have the same meaning, except that YAML
// needs the server of each vCenter. The cloud controller manager of vSphere reads the result too.
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
	out, err := common.MarshalYAML(f)
	if err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(out, &document); err != nil {
		return err
	}
	setTypes(&document)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(&document), encoder.Close())
}

// setTypes sets the types of the values for which the cloud controller manager of vSphere accepts only one: ports are
// numbers, ranges are a text with commas and no blanks, and tags are a map. Package config accepts others too.
func setTypes(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		for _, child := range node.Content {
			setTypes(child)
		}
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		switch {
		case value.Kind == yaml.SequenceNode && strings.HasSuffix(key, "NetworkSubnetCidr"):
			var ranges []string
			for _, item := range value.Content {
				ranges = append(ranges, item.Value)
			}
			value.SetString(strings.Join(ranges, ","))
		case value.Kind == yaml.ScalarNode && key == "port":
			if _, err := strconv.ParseUint(value.Value, 10, 16); err == nil {
				*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: value.Value}
			}
		case value.Kind == yaml.ScalarNode && key == "tags":
			// JSON is YAML. The validation reports a text that is neither.
			var tags yaml.Node
			if err := yaml.Unmarshal([]byte(value.Value), &tags); err == nil && len(tags.Content) == 1 {
				*value = *tags.Content[0]
			}
		default:
			setTypes(value)
		}
	}
}
