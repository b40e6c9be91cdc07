//! A correction that is not seen as a jump.

use crate::Interpolate;
use std::time::Duration;

/// The share of an error below which it is forgotten: nobody sees a thousandth of a jump that was small enough to be faded.
const SHARE_MIN: f32 = 0.001;

/// Shows a value aside from where it is, by an error that fades.
#[derive(Clone, Debug)]
pub struct ErrorSmoothing<S> {
    error: Option<Faded<S>>,
}

#[derive(Clone, Debug)]
struct Faded<S> {
    /// Where it was shown when it was corrected, and where it is. Their difference is the error.
    shown: S,
    right: S,
    share: f32,
}

impl<S> Default for ErrorSmoothing<S> {
    fn default() -> Self {
        ErrorSmoothing { error: None }
    }
}

impl<S: Interpolate> ErrorSmoothing<S> {
    /// The value was corrected from one to another. What is shown stays where it is, and comes over in time; beyond
    /// `snap_distance` it is there at once.
    pub fn corrected(&mut self, from: &S, to: &S, snap_distance: f32) {
        let shown = self.shown(from);
        let distance = shown.distance(to);
        let is_faded = distance <= snap_distance;
        self.error = is_faded.then(|| Faded { shown, right: to.clone(), share: 1.0 });
    }

    /// Lets the error fade, to 1/e within `time`.
    pub fn advance(&mut self, elapsed: Duration, time: Duration) {
        if let Some(error) = &mut self.error {
            error.share *= (-elapsed.as_secs_f32() / time.as_secs_f32().max(1e-6)).exp();
            if error.share < SHARE_MIN {
                self.error = None;
            }
        }
    }

    /// The value as it is shown.
    #[must_use]
    pub fn shown(&self, value: &S) -> S {
        match &self.error {
            Some(Faded { shown, right, share }) => value.moved(right, shown, *share),
            None => value.clone(),
        }
    }

    /// How far what is shown is from where it is.
    #[must_use]
    pub fn distance(&self) -> f32 {
        self.error.as_ref().map_or(0.0, |error| error.shown.distance(&error.right) * error.share)
    }

    /// Forgets the error.
    pub fn clear(&mut self) {
        self.error = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_millis(16);
    const TIME: Duration = Duration::from_millis(100);

    #[test]
    fn a_correction_is_not_seen_at_first_and_then_fades() {
        let mut smoothing = ErrorSmoothing::default();
        smoothing.corrected(&[0.0, 0.0], &[10.0, 0.0], 64.0);
        assert_eq!(smoothing.shown(&[10.0, 0.0]), [0.0, 0.0]);
        let mut before = 10.0;
        for _ in 0..50 {
            smoothing.advance(FRAME, TIME);
            assert!(smoothing.distance() < before, "it only shrinks");
            before = smoothing.distance();
            if before == 0.0 {
                break;
            }
        }
        assert!(before < 0.02, "{before} is left after 0.8 seconds");
    }

    #[test]
    fn a_correction_while_another_fades_begins_where_things_are_shown() {
        let mut smoothing = ErrorSmoothing::default();
        smoothing.corrected(&0.0, &10.0, 64.0);
        smoothing.advance(TIME, TIME);
        let shown = smoothing.shown(&10.0);
        smoothing.corrected(&10.0, &12.0, 64.0);
        assert!((smoothing.shown(&12.0) - shown).abs() < 1e-5);
    }

    #[test]
    fn what_is_far_off_is_there_at_once() {
        let mut smoothing = ErrorSmoothing::default();
        smoothing.corrected(&0.0, &100.0, 64.0);
        assert_eq!((smoothing.shown(&100.0), smoothing.distance()), (100.0, 0.0));
        smoothing.corrected(&0.0, &f32::NAN, 64.0);
        assert_eq!(smoothing.distance(), 0.0, "what is no number is no way to come over");
    }
}
