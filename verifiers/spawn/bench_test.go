package spawn_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"plumbline/internal/testwait"
	"plumbline/scorers/entail"
	"plumbline/verifiers/spawn"
)

// BenchmarkRecovery reports the times after a fault, in milliseconds: until
// calls are refused (detect) and until one is answered again (restore). Every
// round has a sidecar of its own, because starts are limited.
func BenchmarkRecovery(b *testing.B) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		b.Run(name, func(b *testing.B) {
			var detect, restore time.Duration
			for range b.N {
				d, r := recovery(b, signal)
				detect, restore = max(detect, d), max(restore, r)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(detect.Microseconds())/1000, "max-detect-ms")
			b.ReportMetric(float64(restore.Microseconds())/1000, "max-restore-ms")
		})
	}
}

func recovery(b *testing.B, signal syscall.Signal) (detect, restore time.Duration) {
	v, err := spawn.Open(b.Context(), as(b, "good"))
	if err != nil {
		b.Fatal(err)
	}
	pid, _ := self(b, v)
	// Somewhere between two health checks.
	time.Sleep(time.Duration(b.N%7) * 40 * time.Millisecond)
	begin := time.Now()
	if err := syscall.Kill(pid, signal); err != nil {
		b.Fatal(err)
	}
	testwait.For(b, "the fault is known", func() bool {
		_, err := v.Verify(b.Context(), pair("x"))
		return errors.Is(err, entail.ErrUnavailable)
	})
	detect = time.Since(begin)
	testwait.For(b, "it answers", func() bool { _, err := v.Verify(b.Context(), pair("x")); return err == nil })
	restore = time.Since(begin)
	if err := v.Close(); err != nil {
		b.Fatal(err)
	}
	return detect, restore
}

// BenchmarkVerify is a call of one pair over the socket.
func BenchmarkVerify(b *testing.B) {
	v := open(b, as(b, "good"))
	for b.Loop() {
		if _, err := v.Verify(b.Context(), pair("The bridge opened.")); err != nil {
			b.Fatal(err)
		}
	}
}
