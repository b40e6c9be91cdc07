//! Limits of storage indexes.

/// Most indexes of a server.
pub const INDEXES_MAX: usize = 64;

/// Longest name of an index, in bytes.
pub const INDEX_NAME_BYTES_MAX: usize = 128;

/// Most fields of an index.
pub const INDEX_FIELDS_MAX: usize = 64;

/// Most sortable fields of an index. The value of each is in memory for every entry.
pub const SORTABLE_FIELDS_MAX: usize = 8;

/// Longest name of a field, in bytes.
pub const INDEX_FIELD_BYTES_MAX: usize = 128;

/// Most entries of an index. They are in memory, with about one kilobyte each for a few short fields.
pub const INDEX_ENTRIES_MAX: usize = 1_000_000;

/// Most bytes of the indexed fields of one object, as JSON. A larger object is not in the index, and is counted.
pub const INDEX_ENTRY_BYTES_MAX: usize = 16_384;

/// Most fields that one list is sorted by.
pub const ORDER_FIELDS_MAX: usize = 4;

/// Bytes of a text by which entries are sorted. The rest does not count, so that a cursor stays short.
pub const SORT_TEXT_BYTES_MAX: usize = 128;

/// Most objects that wait to be read again because the outcome of their write is unknown. Beyond, writes to indexed
/// collections fail until the database answers.
pub const UNCERTAIN_MAX: usize = 10_000;

/// Objects of one page while an index is filled: with values of 256 KiB, 25 MiB.
pub(super) const FILL_PAGE: i64 = 100;
