//! Bounded lists.

use super::{Codec, bits_for};
use crate::{DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};

/// Packs a list of bounded length. Each element is a delta from the one at the same index of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List<C> {
    len_max: u32,
    element: C,
}

impl List<()> {
    /// Upper bound of a list in a component: a full state must fit one packet.
    pub const LEN_MAX: u32 = 64;
}

impl<C> List<C> {
    /// A list of at most `len_max` elements.
    ///
    /// # Panics
    /// If `len_max` is zero or above [`List::LEN_MAX`]. In a constant, this is a compile error.
    #[must_use]
    pub const fn new(len_max: u32, element: C) -> Self {
        assert!(len_max >= 1 && len_max <= List::LEN_MAX, "a list holds 1 to 64 elements");
        List { len_max, element }
    }
}

impl<T, C: Codec<T>> Codec<Vec<T>> for List<C> {
    fn initial(&self) -> Vec<T> {
        Vec::new()
    }

    fn snap(&self, value: &mut Vec<T>) {
        value.truncate(self.len_max as usize);
        for element in value {
            self.element.snap(element);
        }
    }

    fn write(&self, basis: DeltaBasis<'_, Vec<T>>, value: &Vec<T>, fields: &mut FieldWriter<'_>) {
        let len = value.len().min(self.len_max as usize);
        fields.bits(len as u64, bits_for(u64::from(self.len_max)));
        let fresh = self.element.initial();
        for (index, element) in value[..len].iter().enumerate() {
            self.element.write(DeltaBasis::new(basis.value.get(index).unwrap_or(&fresh)), element, fields);
        }
    }

    fn read(&self, basis: DeltaBasis<'_, Vec<T>>, fields: &mut FieldReader<'_, '_>) -> Result<Vec<T>, ReadError> {
        let len = fields.bits(bits_for(u64::from(self.len_max)))? as usize;
        if len > self.len_max as usize {
            return Err(ReadError::TooLong);
        }
        let fresh = self.element.initial();
        (0..len)
            .map(|index| self.element.read(DeltaBasis::new(basis.value.get(index).unwrap_or(&fresh)), fields))
            .collect()
    }

    fn kind(&self) -> FieldKind {
        FieldKind::List { len_max: self.len_max as u8, element: Box::new(self.element.kind()) }
    }
}
