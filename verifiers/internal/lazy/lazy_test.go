package lazy

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneAsksForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, asked := New[int](), 0
		ask := func(context.Context) (int, error) {
			asked++
			time.Sleep(time.Second)
			return 42, nil
		}
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				if got, err := v.Get(t.Context(), ask); got != 42 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
			})
		}
		callers.Wait()
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func TestAFailureIsNotKept(t *testing.T) {
	v, down := New[int](), errors.New("down")
	if _, err := v.Get(t.Context(), func(context.Context) (int, error) { return 0, down }); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
	if got, err := v.Get(t.Context(), func(context.Context) (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestSetAndForget(t *testing.T) {
	v := New[int]()
	two := func(context.Context) (int, error) { return 2, nil }
	v.Set(1)
	if got, _ := v.Get(t.Context(), two); got != 1 {
		t.Errorf("set to 1 and got %d", got)
	}
	v.Forget()
	if got, _ := v.Get(t.Context(), two); got != 2 {
		t.Errorf("forgot 1 and got %d", got)
	}
}

func TestWhoWaitsHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := New[int]()
		var asking sync.WaitGroup
		asking.Go(func() {
			_, _ = v.Get(t.Context(), func(context.Context) (int, error) {
				time.Sleep(time.Minute)
				return 1, nil
			})
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := v.Get(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		asking.Wait()
	})
}
