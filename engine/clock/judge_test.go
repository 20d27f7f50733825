package clock

import (
	"testing"
	"time"
)

const slow = 6 * time.Minute // a clock that is behind by so much needs this offset

func opinion(k Kind, offset time.Duration, sources int) Opinion {
	return Opinion{Kind: k, Offset: offset, Within: 100 * time.Millisecond, Sources: sources}
}

func TestJudge(t *testing.T) {
	nodes := func(d time.Duration) Opinion { return opinion(Servers, d, 3) }
	iocs := func(d time.Duration) Opinion { return opinion(IOCs, d, 12) }
	ioc := func(d time.Duration) Opinion { return opinion(IOCs, d, 1) }
	peers := func(d time.Duration) Opinion { return opinion(Peers, d, 4) }
	before := func(d time.Duration) Opinion { return opinion(Earlier, d, 1) }
	for _, tc := range []struct {
		name string
		says []Opinion
		was  Judgement
		want Judgement
	}{
		{"no evidence", nil, Unknown, Unknown},
		{"the clock itself", []Opinion{before(0)}, Unknown, Unknown},
		{"everything agrees", []Opinion{nodes(0), iocs(time.Second), peers(-time.Second)}, Unknown, Right},
		{"slow by all", []Opinion{nodes(slow), iocs(slow), peers(slow)}, Right, Wrong},
		{"slow by the store alone", []Opinion{nodes(slow)}, Unknown, Wrong},
		{"ahead by the store alone", []Opinion{nodes(-400 * 24 * time.Hour)}, Unknown, Wrong},
		{"slow by most IOCs alone", []Opinion{iocs(slow)}, Unknown, Wrong},
		{"an IOC without a time server", []Opinion{ioc(-20 * 365 * 24 * time.Hour)}, Unknown, Unknown},
		{"an IOC and the clock before a step", []Opinion{ioc(slow), before(slow)}, Right, Wrong},
		{"an IOC confirms a step", []Opinion{ioc(0), before(slow)}, Right, Right},
		{"a step that nothing confirms", []Opinion{before(slow)}, Right, Unknown},
		{"the store confirms a step", []Opinion{nodes(0), before(-slow)}, Unknown, Right},
		{"other engines alone", []Opinion{peers(slow)}, Right, Unknown},
		{"other engines and an IOC", []Opinion{peers(slow), ioc(slow)}, Right, Wrong},
		{"a wrong engine beside a right one", []Opinion{nodes(0), peers(-slow)}, Right, Right},
		{"wrong IOCs", []Opinion{nodes(0), iocs(slow)}, Right, Right},
		{"a wrong store", []Opinion{nodes(slow), iocs(0)}, Right, Right},
		{"the store against an IOC", []Opinion{nodes(slow), ioc(0)}, Right, Unknown},
		{"the store against all others", []Opinion{nodes(0), iocs(slow), peers(slow)}, Right, Unknown},
		{"two wrong clocks", []Opinion{nodes(slow), iocs(0), peers(slow)}, Right, Unknown},
		{"just within the limit", []Opinion{nodes(limit)}, Right, Right},
		{"once wrong, not right at the limit", []Opinion{nodes(limit)}, Wrong, Wrong},
		{"once wrong, right within half of it", []Opinion{nodes(limit / 2)}, Wrong, Right},
	} {
		v := Judge(tc.says, limit, tc.was)
		if v.Judgement != tc.want {
			t.Errorf("%s: %v, want %v: %s", tc.name, v.Judgement, tc.want, v.Because)
		}
		if v.Because == "" || v.Judgement != Wrong && v.Offset != 0 || v.Judgement == Right && v.From != v.To {
			t.Errorf("%s: %+v", tc.name, v)
		}
	}
}

// TestLeastIsTheEarliest checks that nothing can expire before it would by the clock, by the store
// and by the evidence that is not outvoted.
func TestLeastIsTheEarliest(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, tc := range []struct {
		name string
		says []Opinion
		want time.Duration // at most
	}{
		{"ahead by a year", []Opinion{opinion(Servers, -year, 3)}, -year},
		{"behind by a year", []Opinion{opinion(Servers, year, 3)}, 0},
		{"a step of a year that nothing confirms", []Opinion{opinion(Earlier, -year, 1)}, -year},
		{"other engines are a year behind", []Opinion{opinion(Peers, -year, 1)}, -year},
		{"the store's clocks are wrong", []Opinion{opinion(Servers, -slow, 3), opinion(IOCs, 0, 9)}, -slow},
		{"ahead by less than the limit", []Opinion{opinion(Servers, -5*time.Second, 3)}, -5 * time.Second},
	} {
		if v := Judge(tc.says, limit, Right); v.Least > tc.want || v.Least > 0 {
			t.Errorf("%s: %v, want %v or less", tc.name, v.Least, tc.want)
		}
	}
	one := opinion(IOCs, -20*year, 1)
	if v := Judge([]Opinion{one}, limit, Right); v.Least != 0 || v.From != v.To {
		t.Errorf("one IOC that has no time keeps everything from expiring: %+v", v)
	}
}
