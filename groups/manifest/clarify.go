package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// clarify returns one error for each wrong value of an object, which says what would be right. The
// validators report a wrong type several times, and a wrong duration by a regular expression.
func clarify(obj map[string]any, errs field.ErrorList) (out field.ErrorList) {
	wrong := map[string]bool{} // fields whose text or type is wrong, so that other rules say nothing new
	for _, err := range errs {
		if !wrong[err.Field] && isMalformed(err) {
			wrong[err.Field] = true
			out = append(out, explain(obj, err))
		}
	}
	for _, err := range errs {
		if isMalformed(err) || wrong[err.Field] || len(wrong) > 0 && strings.Contains(err.Detail, "type conversion error") {
			continue
		}
		out = append(out, err)
	}
	return out
}

// durationPattern is what the schema says about a text that is not a duration.
const durationPattern = "should match '^[0-9]+(ms|s|m|h|d|w|y)$'"

func isMalformed(err *field.Error) bool {
	return err.Type == field.ErrorTypeTypeInvalid || strings.Contains(err.Detail, durationPattern)
}

// explain returns an error that says what would be right.
func explain(obj map[string]any, err *field.Error) *field.Error {
	better := *err
	value := valueAt(obj, err.Field)
	if err.Type != field.ErrorTypeTypeInvalid {
		better.Detail += "; " + adviseDuration(lastStep(err.Field), fmt.Sprint(value))
		return &better
	}
	if value != nil {
		better.BadValue = value
	}
	if m := requiredType.FindStringSubmatch(err.Detail); m != nil {
		better.Detail = "must be of type " + m[1]
	}
	if advice := adviseType(err.Field, better.Detail, value); advice != "" {
		better.Detail += "; " + advice
	}
	return &better
}

var requiredType = regexp.MustCompile(`must be of type (\w+)`)

// units are a usual unit of each field with a duration.
var units = map[string]string{"raw": "d", "keep": "d", "every": "s", "period": "s", "ahead": "s", "behind": "s"}

// adviseType says how to write a value that has the wrong type, or "".
func adviseType(path, problem string, value any) string {
	switch v := value.(type) {
	case string:
		switch inList := strings.HasSuffix(path, "]"); {
		case inList && strings.HasPrefix(path, "spec.channels["):
			return fmt.Sprintf("write {name: %q}", v)
		case inList && strings.HasPrefix(path, "spec.retention.rollups["):
			return fmt.Sprintf("write {every: %s}", v)
		}
	case int64, float64:
		if unit := units[lastStep(path)]; unit != "" {
			return fmt.Sprintf("write a number and a unit, such as %v%s", v, unit)
		}
		if strings.HasSuffix(problem, " string") {
			return fmt.Sprintf(`write it in quotes: "%v"`, v)
		}
	}
	if strings.HasSuffix(problem, " boolean") {
		return "write true or false"
	}
	if example := examples[lastStep(path)]; example != "" {
		return "write it like " + example
	}
	return ""
}

// examples are right values of fields that people often write with a wrong type.
var examples = map[string]string{
	"channels": `[{name: "PV"}]`, "channelsFrom": "[{configMap: {name: pvs}}]", "properties": "[DESC]", "fields": "[value]",
	"events": "[Value, Alarm]", "rollups": "[{every: 10s}]", "sampling": "{mode: Scan, period: 10s}", "retention": "{raw: 90d}",
	"deadband": "{absolute: 0.1}", "archiverRef": "{name: main}", "redundancy": "2", "maxRate": "2", "absolute": "0.1", "relative": "0.01",
}

// months is a number of months, which is not a duration.
var months = regexp.MustCompile(`^([0-9]{1,4}) ?mo[a-z]*$`)

// adviseDuration says how to write a text that is not a duration. name is the name of the field.
func adviseDuration(name, text string) string {
	if (name == "raw" || name == "keep") && (text == "forever" || text == "never" || text == "unlimited") {
		return fmt.Sprintf("leave %s out to keep data forever", name)
	}
	advice := "write a number and one of the units ms, s, m, h, d, w and y, such as 90d"
	if m := months.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			advice = fmt.Sprintf("months differ in length: write %dd", n*30)
		}
	}
	return advice
}

// lastStep returns the name at the end of a path.
func lastStep(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// valueAt returns the value at a path such as spec.channels[3].sampling, or nil if there is none.
func valueAt(obj map[string]any, path string) any {
	var value any = obj
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(strings.Trim(step, "[]"))
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
