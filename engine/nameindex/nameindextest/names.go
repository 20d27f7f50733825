// Package nameindextest makes names of PVs as a large facility has them, for tests and benchmarks.
package nameindextest

import "fmt"

var (
	rings   = []string{"SR", "BR", "LT", "ID"}
	systems = []string{"PS", "VA", "RF", "DI", "MG"}
	devices = []string{"QF", "QD", "SF", "SD", "BM"}
	signals = []string{
		"Current-I", "Current-SP", "Current-RB", "Voltage-I", "Voltage-SP", "Temp1-I", "Temp2-I", "Temp3-I", "Pressure-I", "Flow-I",
		"Sts:On-Sts", "Sts:Flt-Sts", "Sts:Rem-Sts", "Cmd:On-Cmd", "Cmd:Off-Cmd", "Cmd:Rst-Cmd", "Pos:X-I", "Pos:Y-I", "Pos:Sum-I", "Wf:X-Wf",
		"Wf:Y-Wf", "Freq-I", "Freq-SP", "Phase-I", "Phase-SP", "Amp-I", "Amp-SP", "Gain-RB", "Gain-SP", "Loop:P-SP",
		"Loop:I-SP", "Loop:D-SP", "Lim:Hi-SP", "Lim:Lo-SP", "Cnt-I", "Uptime-I", "Heap-I", "Cpu-I", "Mode-Sel", "Mode-RB",
		"Ramp-SP", "Ramp-RB", "Gap-I", "Gap-SP", "Valve-Sts", "Pump-Sts", "Ilk1-Sts", "Ilk2-Sts", "Dose-I", "Noise-I",
	}
)

// Count is the number of different names.
const Count = 1_000_000

// Name returns the i-th name, such as SR-C12:PS:QF1:Current-I. Names of consecutive numbers are far apart in order.
func Name(i int) string {
	i = i % Count * 7_919 % Count // a prime, so that every number occurs once
	signal, i := signals[i%len(signals)], i/len(signals)
	device, i := devices[i%len(devices)], i/len(devices)
	number, i := i%5+1, i/5
	system, i := systems[i%len(systems)], i/len(systems)
	cell, i := i%40+1, i/40
	return fmt.Sprintf("%s-C%02d:%s:%s%d:%s", rings[i], cell, system, device, number, signal)
}

// Names returns the first n names.
func Names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = Name(i)
	}
	return all
}
