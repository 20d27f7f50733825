// Package capture decides which samples of the sources are archived.
//
//	Assignment ──▶ Manager.Apply ──▶ channel per PV ──▶ Source.Subscribe
//	                                    ▲                     │ Sink
//	                                    │   Connected, Sample, Metadata, Disconnected
//	                                    ▼
//	        clock rule ─▶ scan slots or deadband, rate ─▶ journal.Head
//	            └────────────── dropped, by reason ──────▶ ledger, marks
//
//	PV that enables channels ──▶ watched ──▶ gate per condition ──▶ channels are disabled, enabled
//	interval of MaxPeriod without a sample ──▶ the source reads the value ──▶ Checked ──▶ repeated sample
//
//	property per field of the record ──▶ Source.Subscribe ──▶ Sample ──▶ metadata, marks
//
// If a channel reconnects with another type, its samples go to a new head at once, and a
// mark notes the change. Samples of the old type are stored first.
//
// A channel's filters are pure functions of the settings, the sample, its time of arrival
// and the previously stored sample. So two engines that see the same updates under the
// source's clock keep the same samples.
package capture
