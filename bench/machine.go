package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine names what a reader needs to judge absolute figures.
func machine() string {
	return fmt.Sprintf("%s/%s, %d processors, %s, GOMAXPROCS %d", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), runtime.GOMAXPROCS(0))
}

// processor is the model name where the system tells.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// loadAverage is the one of the last minute: with more than one for each
// processor, only ratios mean anything.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
