// Package snapshot caches the objects of a cloud between reads, shared by all callers.
//
// A Table holds one kind of object. Lists fill it, reads of single objects refine it, and the manager's own
// writes update it. A Store orders the reads and writes of its tables. A snapshot is a cache: before an
// object is created or deleted, callers read it again.
//
// # Rules
//
// Each start of a read and each completed write gets the next generation of the Store. A row of a table has
// the generation of the read or write that it comes from.
//
//  1. Read your writes. A read that started before a write completed never changes the row that was
//     written, regardless of its result and its end.
//  2. A newer read wins. Of two reads that return an object, the one that started later takes effect,
//     even if it ends first.
//  3. A stale list deletes nothing. A list removes a row only if the row is older than the start of
//     the list. A deleted object returns only through a read that started after its deletion.
//     Deletions, and single reads that find nothing, leave tombstones that outlive any read.
//     Where lists lag behind (Kind.ListsLag), an object that a list lacks is unknown, not missing.
//  4. An uncertain outcome forces a read. After a write with an unknown outcome, MarkUncertain
//     marks the owner of the object until a read that started later confirms it, and Invalidate
//     makes a list unusable until it has been read again.
//  5. Settling. For eventually consistent clouds, Kind.Settle bounds how long lists and reads
//     may miss an object that we created, and how long lists may return one that we deleted. Until
//     then our own write takes precedence.
//  6. Single flight. Callers that need a list while another caller reads it wait for that
//     result, each no longer than its own context allows. A failed read is not shared: the next
//     caller reads again.
//
// The test of this package checks the rules against a sequential model, under random interleavings of reads,
// writes, lost replies and time.
package snapshot
