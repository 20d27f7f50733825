// Package capture decides what is archived of what the sources deliver.
//
//	Assignment ──▶ Manager.Apply ──▶ channel per PV ──▶ Source.Subscribe
//	                                    ▲                     │ Sink
//	                                    │   Connected, Sample, Metadata, Disconnected
//	                                    ▼
//	        clock rule ─▶ scan slots or deadband, rate ─▶ journal.Head
//	            └────────────── dropped, by reason ──────▶ ledger, marks
//
//	property per field of the record ──▶ Source.Subscribe ──▶ Sample ──▶ metadata, marks
//
// A channel that comes back with another type goes on at once, in another head
// and with a mark; what was held of the old type is stored first.
//
// A channel's filters are pure: they depend on the settings, the sample, its
// time of arrival and the sample stored before, so two engines that see the
// same updates under the source's clock keep the same samples.
package capture
