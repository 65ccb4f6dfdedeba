package main

import "testing"

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{"statu": "status", "sttaus": "status", "statuss": "status", "stAtus": "status", "log": "log", "lo": "log",
		"satsut": "", "stats": "status", "demolog": "", "": ""} {
		if got := nearest(word, []string{"status", "log", "demo"}); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
