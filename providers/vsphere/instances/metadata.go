package instances

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// metadataLimit bounds the decompressed metadata and configuration of a guest's network.
const metadataLimit = 1 << 20

// decoder returns how to decode a text with an encoding of cloud-init: whether it is in base64, and whether it is
// compressed.
func decoder(encoding string) (base64, gzip bool) {
	switch encoding {
	case "base64", "b64":
		return true, false
	case "gzip+base64", "gz+b64":
		return true, true
	}
	return false, false
}

// decode decodes a text with an encoding of cloud-init; any other one means that it is not encoded.
func decode(text, encoding string) ([]byte, error) {
	isBase64, isGzip := decoder(encoding)
	if !isBase64 {
		return []byte(text), nil
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !isGzip {
		return content, err
	}
	return decompress(content)
}

// staticAddresses returns the addresses that cloud-init was given in guestinfo.metadata, in the order of the
// document. Metadata without an encoding do not count.
func staticAddresses(m api.Machine) ([]netip.Addr, error) {
	if isEncoded, _ := decoder(m.MetadataEncoding); !isEncoded || m.Metadata == "" {
		return nil, nil
	}
	content, err := decode(m.Metadata, m.MetadataEncoding)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Network  yaml.Node `yaml:"network"`
		Encoding string    `yaml:"network.encoding"`
	}
	if err := yaml.Unmarshal(content, &metadata); err != nil {
		return nil, err
	}
	network, err := decodeNetwork(metadata.Network, metadata.Encoding)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	return parseAddresses(network), nil
}

// decodeNetwork returns the network configuration, which is a document or an encoded text.
func decodeNetwork(node yaml.Node, encoding string) (yaml.Node, error) {
	if node.Kind != yaml.ScalarNode {
		return node, nil
	}
	content, err := decode(node.Value, encoding)
	if err != nil {
		return node, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil || len(document.Content) == 0 {
		return yaml.Node{}, err
	}
	return *document.Content[0], nil
}

func decompress(content []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, metadataLimit+1))
	if err == nil && len(out) > metadataLimit {
		err = errors.New("is too long")
	}
	return out, err
}

// parseAddresses returns the addresses below ethernets.*.addresses, in the order of the document.
func parseAddresses(network yaml.Node) []netip.Addr {
	ethernets := child(&network, "ethernets")
	if ethernets == nil {
		// A document with the key network on its top level, as in netplan.
		if inner := child(&network, "network"); inner != nil {
			ethernets = child(inner, "ethernets")
		}
	}
	var out []netip.Addr
	if ethernets == nil || ethernets.Kind != yaml.MappingNode {
		return nil
	}
	for i := 1; i < len(ethernets.Content); i += 2 {
		list := child(ethernets.Content[i], "addresses")
		if list == nil {
			continue
		}
		for _, item := range list.Content {
			if prefix, err := netip.ParsePrefix(item.Value); err == nil {
				out = append(out, prefix.Addr())
			} else if address, err := netip.ParseAddr(item.Value); err == nil {
				out = append(out, address)
			}
		}
	}
	return out
}

// child returns the value of a key of a map, nil without one.
func child(node *yaml.Node, key string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
