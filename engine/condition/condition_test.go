package condition

import (
	"math"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
)

func TestConditions(t *testing.T) {
	float := func(v float64) sample.Sample { return sample.Sample{Word: math.Float64bits(v)} }
	text := func(v string) sample.Sample { return sample.Sample{Bytes: []byte(v)} }
	undefined := sample.Sample{Tag: sample.MakeTag(sample.Invalid, 17)}
	labels := []string{"Closed", "Open"}
	tests := []struct {
		condition string
		typ       sample.Type
		value     sample.Sample
		want      Result
	}{
		{"!= 0", sample.Float64, float(0), False},
		{"!= 0", sample.Float64, float(-1e-9), True},
		{"!= 0", sample.Float64, float(math.NaN()), Unknown},
		{"!= 0", sample.Float64, undefined, Unknown},
		{"!= 0", sample.Enum, sample.Sample{Word: 1}, True},
		{"!= 0", sample.Bool, sample.Sample{Word: 0}, False},
		{"!= 0", sample.String, text("x"), Unknown},
		{"!= 0", sample.Float64.Array(), sample.Sample{}, Unknown},
		{" >=0.5 ", sample.Float64, float(0.5), True},
		{"> 0.5", sample.Float64, float(0.5), False},
		{"<1", sample.Float64, float(0.5), True},
		{"<= 1", sample.Float64, float(1.5), False},
		{"= -2", sample.Int32, sample.Sample{Word: ^uint64(1)}, True},
		{"between 1 and 3", sample.Float64, float(3), True},
		{"BETWEEN 1 AND 3", sample.Float64, float(3.1), False},
		{"== 'Open'", sample.Enum, sample.Sample{Word: 1}, True},
		{"!= 'Open'", sample.Enum, sample.Sample{Word: 7}, True},
		{"== 'Ajar'", sample.Enum, sample.Sample{Word: 1}, Unknown},
		{"== 'Open'", sample.Float64, float(1), Unknown},
		{"== 'it''s on'", sample.String, text("it's on"), True},
		{"!= 'it''s on'", sample.String, text("it's on"), False},
	}
	for _, tt := range tests {
		c, err := Parse(tt.condition)
		if err != nil {
			t.Errorf("%s: %v", tt.condition, err)
			continue
		}
		if got := c.Eval(tt.typ, &tt.value, labels); got != tt.want {
			t.Errorf("%s of %v %v is %d, not %d", tt.condition, tt.typ, tt.value, got, tt.want)
		}
	}
}

func TestInvalidConditions(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "is not a condition; write one like != 0",
		"0":                       "is not a condition",
		"X != 0":                  "is not a condition",
		"== Open":                 "put the name of a state in single quotes",
		"== NaN":                  "is not a number",
		"== 'Open":                "is not a number",
		"< 'Open'":                "compared by == or !=",
		"between 3 and 1":         "must not be below the first",
		"between 1 and x":         "is not a number",
		strings.Repeat("x", 1000): "may have 128",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
