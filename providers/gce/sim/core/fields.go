package core

import (
	"encoding/json"
	"strings"
)

// SelectFields returns the parts of a body that the query parameter fields names: kind,items(name,zone/x).
func SelectFields(selector string, body any) (any, error) {
	if selector == "" {
		return body, nil
	}
	content, err := asDocument(body)
	if err != nil {
		return nil, err
	}
	fields := selection{}
	if rest := fields.parse(selector); rest != "" {
		return nil, Invalid("fields", selector, "Invalid field selection %s", rest)
	}
	return fields.apply(content), nil
}

// asDocument returns a value as it is in a response.
func asDocument(x any) (content any, err error) {
	raw, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(raw, &content)
	}
	return content, err
}

// selection has the selected fields with the selections in them; an empty one selects all.
type selection map[string]selection

// parse adds fields up to the end or a closing parenthesis, and returns the rest of the text.
func (f selection) parse(text string) (rest string) {
	for {
		if text = f.parseField(text); !strings.HasPrefix(text, ",") {
			return text
		}
		text = text[1:]
	}
}

// parseField adds one field with what follows it in parentheses or after a slash.
func (f selection) parseField(text string) (rest string) {
	end := strings.IndexAny(text, ",/()")
	if end < 0 {
		end = len(text)
	}
	inner := f[text[:end]]
	if inner == nil {
		inner = selection{}
		f[text[:end]] = inner
	}
	switch rest = text[end:]; {
	case strings.HasPrefix(rest, "/"):
		return inner.parseField(rest[1:])
	case strings.HasPrefix(rest, "("):
		return strings.TrimPrefix(inner.parse(rest[1:]), ")")
	}
	return rest
}

func (f selection) apply(content any) any {
	if len(f) == 0 {
		return content
	}
	switch v := content.(type) {
	case []any:
		for i := range v {
			v[i] = f.apply(v[i])
		}
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			inner, ok := f[name]
			if !ok {
				inner, ok = f["*"]
			}
			if ok {
				out[name] = inner.apply(value)
			}
		}
		return out
	}
	return content
}
