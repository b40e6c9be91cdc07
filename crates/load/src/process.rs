//! Limits and CPU time of processes.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit of open files to its maximum and returns it.
pub(crate) fn raise_file_limit() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // On failure the old limit applies.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}

/// CPU time of a process in seconds. `None` if the system has no `/proc`.
#[must_use]
pub fn cpu_seconds(process: u32) -> Option<f64> {
    /// Linux counts in hundredths of a second on every platform.
    const TICKS_PER_SECOND: f64 = 100.0;
    const USER_TIME_AFTER_NAME: usize = 11;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program name may contain any characters, so fields are counted after it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(USER_TIME_AFTER_NAME).map(str::parse::<f64>);
    let (user, system) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((user + system) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn busy_work_takes_cpu_time() {
        let own = std::process::id();
        let before = cpu_seconds(own).expect("the system has /proc");
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 100 {
            std::hint::spin_loop();
        }
        let spent = cpu_seconds(own).expect("the system has /proc") - before;
        assert!(spent >= 0.02, "{spent} s");
    }
}
