//! Smoothing of corrections.

use crate::Interpolate;
use std::time::Duration;

/// Fraction of an error below which it is dropped: a thousandth of a small jump is invisible.
const FRACTION_MIN: f32 = 0.001;

/// Displays a corrected value with an offset that decays to zero.
#[derive(Clone, Debug)]
pub struct ErrorSmoothing<S> {
    error: Option<FadingError<S>>,
}

#[derive(Clone, Debug)]
struct FadingError<S> {
    /// Displayed and corrected value at the time of the correction. Their difference is the error.
    displayed: S,
    corrected: S,
    fraction: f32,
}

impl<S> Default for ErrorSmoothing<S> {
    fn default() -> Self {
        ErrorSmoothing { error: None }
    }
}

impl<S: Interpolate> ErrorSmoothing<S> {
    /// Starts to smooth a correction. The displayed value stays and moves to `to` over time. Beyond `snap_distance` it
    /// jumps at once.
    pub fn correct(&mut self, from: &S, to: &S, snap_distance: f32) {
        let displayed = self.smoothed(from);
        let distance = displayed.distance(to);
        let is_smoothed = distance <= snap_distance;
        self.error = is_smoothed.then(|| FadingError { displayed, corrected: to.clone(), fraction: 1.0 });
    }

    /// Lets the error decay, to 1/e within `time`.
    pub fn advance(&mut self, elapsed: Duration, time: Duration) {
        if let Some(error) = &mut self.error {
            error.fraction *= (-elapsed.as_secs_f32() / time.as_secs_f32().max(1e-6)).exp();
            if error.fraction < FRACTION_MIN {
                self.error = None;
            }
        }
    }

    /// Returns the value to display.
    #[must_use]
    pub fn smoothed(&self, value: &S) -> S {
        match &self.error {
            Some(FadingError { displayed, corrected, fraction }) => value.moved(corrected, displayed, *fraction),
            None => value.clone(),
        }
    }

    /// Remaining distance between the displayed and the corrected value.
    #[must_use]
    pub fn distance(&self) -> f32 {
        self.error.as_ref().map_or(0.0, |error| error.displayed.distance(&error.corrected) * error.fraction)
    }

    /// Drops the error.
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
    fn a_correction_is_invisible_at_first_and_then_decays() {
        let mut smoothing = ErrorSmoothing::default();
        smoothing.correct(&[0.0, 0.0], &[10.0, 0.0], 64.0);
        assert_eq!(smoothing.smoothed(&[10.0, 0.0]), [0.0, 0.0]);
        let mut before = 10.0;
        for _ in 0..50 {
            smoothing.advance(FRAME, TIME);
            assert!(smoothing.distance() < before, "the error only shrinks");
            before = smoothing.distance();
            if before == 0.0 {
                break;
            }
        }
        assert!(before < 0.02, "error of {before} after 0.8 seconds");
    }

    #[test]
    fn a_second_correction_starts_at_the_displayed_value() {
        let mut smoothing = ErrorSmoothing::default();
        smoothing.correct(&0.0, &10.0, 64.0);
        smoothing.advance(TIME, TIME);
        let shown = smoothing.smoothed(&10.0);
        smoothing.correct(&10.0, &12.0, 64.0);
        assert!((smoothing.smoothed(&12.0) - shown).abs() < 1e-5);
    }

    #[test]
    fn a_large_correction_is_not_smoothed() {
        let mut smoothing = ErrorSmoothing::default();
        smoothing.correct(&0.0, &100.0, 64.0);
        assert_eq!((smoothing.smoothed(&100.0), smoothing.distance()), (100.0, 0.0));
        smoothing.correct(&0.0, &f32::NAN, 64.0);
        assert_eq!(smoothing.distance(), 0.0, "NaN is not smoothed");
    }
}
