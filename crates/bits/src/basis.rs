//! The states that a delta is computed from.

/// The states of the receiver that a delta is computed from.
#[derive(Debug)]
pub struct DeltaBasis<'a, T> {
    /// The state at the baseline.
    pub value: &'a T,
    /// A state shortly before the baseline, if the receiver has one. Fields are expected to continue that motion.
    pub earlier: Option<&'a T>,
    /// The times between these states.
    pub ages: BasisAges,
}

/// The times between the states of a [`DeltaBasis`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BasisAges {
    /// Ticks from the baseline to the state being sent.
    pub elapsed: u32,
    /// Ticks from the earlier state to the baseline; zero if there is no earlier state.
    pub spacing: u32,
    /// Length of a tick.
    pub seconds_per_tick: f32,
}

impl<T> Clone for DeltaBasis<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeltaBasis<'_, T> {}

impl<'a, T> DeltaBasis<'a, T> {
    /// A baseline without an earlier state.
    #[must_use]
    pub fn new(value: &'a T) -> Self {
        DeltaBasis { value, earlier: None, ages: BasisAges::default() }
    }

    /// The basis of one part of the state.
    #[inline]
    #[must_use]
    pub fn field<U>(self, part: impl Fn(&'a T) -> &'a U) -> DeltaBasis<'a, U> {
        DeltaBasis { value: part(self.value), earlier: self.earlier.map(part), ages: self.ages }
    }
}
