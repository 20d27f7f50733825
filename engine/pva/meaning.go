package pva

import "varve.dev/varve/engine/pva/proto"

// meaning is the meaning of a field of a normative type.
type meaning uint8

const (
	theValue meaning = iota
	theSeconds
	theNanoseconds
	theSeverity
	theStatus
	theMessage
	theUnits
	thePrecision
	theDescription
	theLabels
	firstLimit // first of the limits, in the order of sample.Metadata.Limits

	numLimits   = 8
	numMeanings = int(firstLimit) + numLimits
)

// meaningOf is the meaning and the role of a field. The field is has a function that reports
// whether a type code is allowed for this meaning.
type meaningOf struct {
	meaning meaning
	is      func(proto.Code) bool
	role    role
}

func isText(c proto.Code) bool    { return c == proto.String }
func isTexts(c proto.Code) bool   { return c == proto.String|proto.Array }
func isNumber(c proto.Code) bool  { return c.Shape() == 0 && c.Width() > 0 }
func isInteger(c proto.Code) bool { return isNumber(c) && c >= proto.Int8 && c <= proto.UInt64 }

// meanings maps the paths of fields to their meanings, except the path of the value.
var meanings = map[string]meaningOf{
	"alarm.severity": {theSeverity, isInteger, roleAlarm},
	"alarm.status":   {theStatus, isInteger, roleAlarm},
	"alarm.message":  {theMessage, isText, roleAlarm},

	"timeStamp.secondsPastEpoch": {theSeconds, isInteger, roleTime},
	"timeStamp.nanoseconds":      {theNanoseconds, isInteger, roleTime},

	"display.units":       {theUnits, isText, roleMeta},
	"display.precision":   {thePrecision, isInteger, roleMeta},
	"display.description": {theDescription, isText, roleMeta},
	"descriptor":          {theDescription, isText, roleMeta},
	"value.choices":       {theLabels, isTexts, roleMeta},

	"display.limitLow":            {firstLimit, isNumber, roleMeta},
	"display.limitHigh":           {firstLimit + 1, isNumber, roleMeta},
	"valueAlarm.lowWarningLimit":  {firstLimit + 2, isNumber, roleMeta},
	"valueAlarm.highWarningLimit": {firstLimit + 3, isNumber, roleMeta},
	"valueAlarm.lowAlarmLimit":    {firstLimit + 4, isNumber, roleMeta},
	"valueAlarm.highAlarmLimit":   {firstLimit + 5, isNumber, roleMeta},
	"control.limitLow":            {firstLimit + 6, isNumber, roleMeta},
	"control.limitHigh":           {firstLimit + 7, isNumber, roleMeta},
}
