package ui

import (
	"fmt"
	"testing"
)

// TestStatesAreBands checks that the bands behind an enumeration are equal in one state, and differ
// between states.
func TestStatesAreBands(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:MODE"+hour)
	p.ready(1)
	color := func(s int64) (rgba [4]int) {
		p.eval(fmt.Sprintf(`(() => { const { u } = document.querySelector(".lane-plot").plot;
			return [...u.ctx.getImageData(Math.round(u.valToPos(%d, "x", true)), u.bbox.top + u.bbox.height - 12, 1, 1).data] })()`, begin/1e6+s*1000), &rgba)
		return rgba
	}
	beam, injection, later, off := color(450), color(1203), color(3303), color(2403)
	if beam != later || beam == injection || beam == off || injection == off || beam[3] == 0 {
		t.Errorf("the colours are %v, %v, %v, %v", beam, injection, later, off)
	}
	p.shoot("states")
}
