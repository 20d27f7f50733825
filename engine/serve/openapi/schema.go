package openapi

import (
	"strings"

	"varve.dev/varve/engine/serve/stream"
)

// Schema is a JSON schema.
type Schema map[string]any

// Ref returns a reference to a named schema of the document.
func Ref(name string) Schema { return Schema{"$ref": "#/components/schemas/" + name} }

// String returns the schema of a text.
func String(description string) Schema { return described("string", description) }

// Number returns the schema of a number.
func Number(description string) Schema { return described("number", description) }

// Whole returns the schema of a whole number.
func Whole(description string) Schema { return described("integer", description) }

// Any returns the schema of a value of any type.
func Any(description string) Schema {
	return Schema{"type": []string{"array", "boolean", "null", "number", "object", "string"}, "description": description}
}

func described(kind, description string) Schema {
	s := Schema{"type": kind}
	if description != "" {
		s["description"] = description
	}
	return s
}

// Timestamp returns the schema of a time: RFC 3339 in UTC, to the nanosecond.
func Timestamp(description string) Schema {
	s := String(description)
	s["format"] = "date-time"
	return s
}

// Until returns the schema of a time up to which an answer is complete: a text of stream.Until.
func Until(description string) Schema {
	u := Either(Timestamp(""), Enum("", stream.NotKnown))
	u["description"] = description + " The text unknown means that this time is not known, and that the newest samples may be missing."
	return u
}

// Enum returns the schema of a text that is one of several.
func Enum(description string, values ...string) Schema {
	s := String(description)
	s["enum"] = values
	return s
}

// List returns the schema of a list.
func List(items Schema) Schema { return Schema{"type": "array", "items": items} }

// Map returns the schema of an object with any names.
func Map(description string, values Schema) Schema {
	s := described("object", description)
	s["additionalProperties"] = values
	return s
}

// Either returns the schema of a value that fits one of several schemas.
func Either(all ...Schema) Schema { return Schema{"anyOf": all} }

// Object returns the schema of an object. A name that ends in ? is optional. The object has no other
// members.
func Object(members map[string]Schema) Schema {
	properties, required := map[string]Schema{}, []string{}
	for name, s := range members {
		short, optional := strings.CutSuffix(name, "?")
		if properties[short] = s; !optional {
			required = append(required, short)
		}
	}
	o := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = sorted(required)
	}
	return o
}
