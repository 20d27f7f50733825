package loglimit

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestARepeatedWarningPassesOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		plain := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		log := slog.New(New(plain, 10*time.Second))
		for i := range 25 { // one second each
			log.With("shard", i%64).Warn("the store is unreachable")
			if i < 2 {
				log.Error("something else", "i", i)
				log.Info("passed each time")
			}
			time.Sleep(time.Second)
		}
		const want = `level=WARN msg="the store is unreachable" shard=0
level=ERROR msg="something else" i=0
level=INFO msg="passed each time"
level=INFO msg="passed each time"
level=WARN msg="the store is unreachable" shard=10 repeated=9
level=WARN msg="the store is unreachable" shard=20 repeated=9
`
		if got := out.String(); got != want {
			t.Errorf("logged:\n%swant:\n%s", got, want)
		}
	})
}
