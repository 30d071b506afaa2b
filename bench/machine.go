package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
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

// processorSeconds is the processor time of this process and, unless it is 0,
// of another, where the system tells.
func processorSeconds(other int) float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime) + otherSeconds(other)
}

// ticks is how many clock ticks a second /proc counts on Linux.
const ticks = 100

func otherSeconds(process int) float64 {
	if process == 0 {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0
	}
	// The name is in parentheses and may contain anything; user and system
	// time are the 12th and 13th field after it.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, userErr := strconv.ParseFloat(fields[11], 64)
	system, systemErr := strconv.ParseFloat(fields[12], 64)
	if userErr != nil || systemErr != nil {
		return 0
	}
	return (user + system) / ticks
}
