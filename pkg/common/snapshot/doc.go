// Package snapshot caches the objects of a cloud between reads, shared by all callers.
//
// A Table holds one kind of object. Lists fill it, reads of single objects refine it, and the
// caller's own writes keep it true. A Store orders the reads and writes of the tables that
// belong to it. A snapshot is never the truth: before an object is created or deleted, callers
// read it again.
//
// # Rules
//
// Each start of a read and each completed write gets the next generation of the Store. A row of a
// table carries the generation of the read or write that it comes from.
//
//  1. Never older than our own write. A read that started before a write completed does not
//     change the row that was written, whatever it says and whenever it ends.
//  2. A newer read wins. Of two reads that show an object, the one that started later counts, even
//     if it ends first.
//  3. Never gone on an old list. A list removes a row only if the row is older than the start of
//     the list. A deleted object returns only through a read that started after its deletion.
//     Deletions, and single reads that find nothing, are remembered for longer than any read takes.
//  4. An uncertain outcome forces a read. After a write whose outcome is unknown, MarkUncertain
//     marks the owner of the object until a read that started later confirms it, and Invalidate
//     makes a list unfit until it has been read again.
//  5. Settling. Where a cloud is eventually consistent, Kind.Settle bounds how long lists and reads
//     may miss an object that we created, and how long lists may show one that we deleted. Until
//     then our own write counts.
//  6. One read in flight. Callers that need a list while another caller reads it wait for that
//     result, each no longer than its own context allows. A failed read is not shared: the next
//     caller tries itself.
//
// The test of this package checks the rules against a sequential model, under random interleavings
// of reads, writes, lost replies and time.
package snapshot
