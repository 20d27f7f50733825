// Package table writes tables in the formats that programs for data analysis read. Rows are
// gathered in a batch of columns, and each full batch is encoded and written:
//
//	                 ┌─ Batch ─┐               ┌─ json    rows as arrays
//	producer ─append─▶ columns │──Flush, full─▶├─ csv     RFC 4180
//	                 └─────────┘               ├─ arrow   IPC stream, a record batch each
//	                                           └─ parquet a row group each 131,072 rows or 8 MiB
//
// A Writer holds one batch, and the Parquet writer also one encoded row group, regardless of the
// length of the table. A single value may exceed these bounds.
//
// There are two shapes of tables. A long table has a row for each sample, with the name of the PV:
// Long has its columns. A wide table has a column for each PV; its schema is up to the producer.
package table
