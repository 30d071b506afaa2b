package entail_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"plumbline/scorers/entail"
)

func TestAccountsOfContexts(t *testing.T) {
	ctx := entail.WithAccount(t.Context())
	if entail.AccountOf(ctx) != entail.AccountOf(context.WithoutCancel(ctx)) {
		t.Error("one request has two accounts")
	}
	if one, other := entail.AccountOf(t.Context()), entail.AccountOf(t.Context()); one == other {
		t.Error("contexts without a request share an account")
	}
}

// TestAccountsBeginAnewAfterARest, but not between the parts of a call.
func TestAccountsBeginAnewAfterARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := entail.AccountOf(t.Context())
		call := func(pairs int) {
			a.Enter()
			for range pairs {
				a.Charge()
			}
			a.Leave()
		}
		call(3)
		time.Sleep(10 * time.Millisecond)
		call(4)
		if a.Had() != 7 {
			t.Errorf("%d pairs of one request are counted, want 7", a.Had())
		}
		a.Enter() // as long as a call is inside there is no rest
		time.Sleep(time.Minute)
		call(1)
		a.Leave()
		if a.Had() != 8 {
			t.Errorf("%d pairs are counted beside a call that is inside, want 8", a.Had())
		}
		time.Sleep(time.Second)
		call(2)
		if a.Had() != 2 {
			t.Errorf("%d pairs are counted after a rest, want 2", a.Had())
		}
	})
}
