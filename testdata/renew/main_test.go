package main

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	for _, c := range []struct {
		start  string
		months int
		want   string
	}{
		{"2026-03-15", 12, "2027-03-15"},
	} {
		start, _ := time.Parse(time.DateOnly, c.start)
		if got := next(start, c.months).Format(time.DateOnly); got != c.want {
			t.Errorf("%s: %s, want %s", c.start, got, c.want)
		}
	}
}
