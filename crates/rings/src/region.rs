//! Memory mapping that two processes share.

use crate::error::AttachError;
use crate::layout::{
    GENERATION_WORD, MAGIC, MAGIC_WORD, RING_WORDS_WORD, VERSION, VERSION_WORD, WORD_BYTES, is_ring_words,
    region_words, ring_words,
};
use crate::memory::SharedWords;
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seals of the memory file: nobody can change its size any more, or remove the seals.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Memory that two processes share, with a ring in each direction.
///
/// It is a file without a name, in memory. It vanishes with the last process that has it, however that ends.
#[derive(Debug)]
pub struct Region {
    map: MmapRaw,
    words: usize,
    ring_words: usize,
    file: OwnedFd,
}

impl Region {
    /// Creates a region with rings of about this many bytes each, rounded up to a power of two.
    pub fn create(ring_bytes: usize, generation: u64) -> Result<Region, AttachError> {
        let ring_words = ring_words(ring_bytes).ok_or(AttachError::RingBytes(ring_bytes))?;
        let words = region_words(ring_words);
        let bytes = (words * WORD_BYTES) as u64;
        let file = rustix::fs::memfd_create("aether-rings", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .map_err(|error| AttachError::System("memfd_create", error.into()))?;
        // The memory is reserved now: a write to a page that the system cannot provide later would end the process.
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)
            .map_err(|error| AttachError::System("fallocate", error.into()))?;
        rustix::fs::fcntl_add_seals(&file, SEALS)
            .map_err(|error| AttachError::System("sealing the memory file", error.into()))?;
        let region = Region::map(file, words, ring_words)?;
        let header = [
            (VERSION_WORD, VERSION),
            (RING_WORDS_WORD, ring_words as u64),
            (GENERATION_WORD, generation),
            (MAGIC_WORD, MAGIC),
        ];
        header.into_iter().for_each(|(word, value)| region.store(word, value, Ordering::Release));
        Ok(region)
    }

    /// Maps the region of another process, after checks of its seals, size and header.
    pub fn open(file: OwnedFd) -> Result<Region, AttachError> {
        let seals = rustix::fs::fcntl_get_seals(&file)
            .map_err(|error| AttachError::System("reading the seals of the memory file", error.into()))?;
        if !seals.contains(SEALS) {
            return Err(AttachError::Handshake("the memory file is not sealed"));
        }
        // The size is final because of the seals.
        let stat = rustix::fs::fstat(&file).map_err(|error| AttachError::System("fstat", error.into()))?;
        let ring_words = size_of_rings(stat.st_size).ok_or(AttachError::Handshake("the region has a wrong size"))?;
        let region = Region::map(file, region_words(ring_words), ring_words)?;
        if region.load(MAGIC_WORD, Ordering::Acquire) != MAGIC {
            return Err(AttachError::Handshake("the region has no header"));
        }
        match region.load(VERSION_WORD, Ordering::Relaxed) {
            VERSION => {}
            version => return Err(AttachError::Version(version)),
        }
        if region.load(RING_WORDS_WORD, Ordering::Relaxed) != ring_words as u64 {
            return Err(AttachError::Handshake("the header names another size"));
        }
        Ok(region)
    }

    /// Number by which the creator tells its regions apart.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.load(GENERATION_WORD, Ordering::Relaxed)
    }

    /// Words of each ring.
    pub(crate) fn ring_words(&self) -> usize {
        self.ring_words
    }

    fn map(file: OwnedFd, words: usize, ring_words: usize) -> Result<Region, AttachError> {
        let map = MmapOptions::new().len(words * WORD_BYTES).map_raw(&file);
        let map = map.map_err(|error| AttachError::System("mmap", error))?;
        Ok(Region { map, words, ring_words, file })
    }

    #[expect(unsafe_code, reason = "the words of a mapping are atomics")]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: The pointer is valid for `words` words: the mapping has this length, lives as long as `self`, and is
        // backed by a file whose size is sealed, so that no access can fail. It is aligned, because mappings begin at a
        // page. Every value of a word is a valid `AtomicU64`. This function is the only access of this process to the
        // mapping, so all its accesses are atomic; the other process may change the words at any time, which for atomics
        // is not a data race but another value.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast::<AtomicU64>(), self.words) }
    }
}

impl SharedWords for Region {
    fn load(&self, index: usize, ordering: Ordering) -> u64 {
        self.words()[index].load(ordering)
    }

    fn store(&self, index: usize, value: u64, ordering: Ordering) {
        self.words()[index].store(value, ordering);
    }

    fn swap(&self, index: usize, value: u64, ordering: Ordering) -> u64 {
        self.words()[index].swap(value, ordering)
    }

    fn fence(&self) {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Words of each ring in a region of this many bytes.
fn size_of_rings(bytes: i64) -> Option<usize> {
    let words = usize::try_from(bytes).ok()?.checked_div(WORD_BYTES)?;
    let ring_words = words.checked_sub(region_words(0))? / 2;
    let is_whole = region_words(ring_words).checked_mul(WORD_BYTES) == usize::try_from(bytes).ok();
    (is_whole && is_ring_words(ring_words as u64)).then_some(ring_words)
}

impl From<AttachError> for io::Error {
    fn from(error: AttachError) -> io::Error {
        io::Error::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RING_BYTES_MIN;
    use rustix::fs::ftruncate;

    fn reopened(region: &Region) -> Result<Region, AttachError> {
        Region::open(region.file.try_clone().unwrap())
    }

    #[test]
    fn both_mappings_show_the_same_words() {
        let created = Region::create(RING_BYTES_MIN, 7).unwrap();
        let opened = reopened(&created).unwrap();
        assert_eq!((opened.generation(), opened.ring_words()), (7, created.ring_words()));
        created.store(700, 42, Ordering::Release);
        assert_eq!(opened.load(700, Ordering::Acquire), 42);
    }

    #[test]
    fn nobody_can_truncate_a_region() {
        let region = Region::create(RING_BYTES_MIN, 1).unwrap();
        assert!(ftruncate(&region.file, 0).is_err());
        assert!(ftruncate(&region.file, 1 << 30).is_err());
        assert!(rustix::fs::fcntl_add_seals(&region.file, SealFlags::WRITE).is_err());
    }

    #[test]
    fn a_file_that_is_not_sealed_is_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("test", flags).unwrap();
        ftruncate(&file, (region_words(8_192) * WORD_BYTES) as u64).unwrap();
        assert!(matches!(Region::open(file), Err(AttachError::Handshake("the memory file is not sealed"))));
        // A file on a disk has no seals at all.
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(Region::open(file.into()).is_err());
    }

    #[test]
    fn wrong_sizes_and_headers_are_refused() {
        for bytes in [0, 4_096, 65_536, region_words(8_192) * WORD_BYTES + 8, region_words(4_096) * WORD_BYTES] {
            let file = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
            ftruncate(&file, bytes as u64).unwrap();
            rustix::fs::fcntl_add_seals(&file, SEALS).unwrap();
            let result = Region::open(file);
            assert!(matches!(result, Err(AttachError::Handshake("the region has a wrong size"))), "{bytes}");
        }
        let region = Region::create(RING_BYTES_MIN, 1).unwrap();
        region.store(RING_WORDS_WORD, 1 << 40, Ordering::Relaxed);
        assert!(matches!(reopened(&region), Err(AttachError::Handshake("the header names another size"))));
        region.store(VERSION_WORD, 9, Ordering::Relaxed);
        assert!(matches!(reopened(&region), Err(AttachError::Version(9))));
        region.store(MAGIC_WORD, 0, Ordering::Relaxed);
        assert!(matches!(reopened(&region), Err(AttachError::Handshake("the region has no header"))));
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert!(matches!(Region::create(1_000, 1), Err(AttachError::RingBytes(1_000))));
        assert!(matches!(Region::create(usize::MAX, 1), Err(AttachError::RingBytes(_))));
    }
}
