//go:build race

package main

// The race detector multiplies memory and time.
const raceEnabled = true
