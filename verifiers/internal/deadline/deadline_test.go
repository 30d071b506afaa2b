package deadline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"plumbline/verifiers/internal/deadline"
)

func TestPassing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := deadline.Passing(t.Context()); err != nil {
			t.Errorf("without a deadline: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		if err := deadline.Passing(ctx); err != nil || time.Since(begun) != 0 {
			t.Errorf("10 s before: %v after %v", err, time.Since(begun))
		}
		time.Sleep(9950 * time.Millisecond)
		if err := deadline.Passing(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 10*time.Second {
			t.Errorf("50 ms before: %v after %v", err, time.Since(begun))
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		cancel()
		if err := deadline.Passing(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}
